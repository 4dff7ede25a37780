package train

import (
	"os/exec"
	"testing"
)

// TestModelThatIsTooLarge: memory that is not there ends a run, or its plan, with a sentence and exit code 1. A limit
// on the process stands for the machine's, so that nothing is filled on a large one.
func TestModelThatIsTooLarge(t *testing.T) {
	folder := workplace(t)
	for what, arguments := range map[string][]string{
		"learned positions": {"-set", "model.positions=learned", "-set", "model.width=4096", "-set",
			"model.max_positions=1048576"},
		"a plan with sinusoids": {"-plan", "-set", "model.width=4096", "-set", "model.max_positions=1048576"},
	} {
		c := process(folder, append(arguments, "-out="+what)...)
		limited := exec.Command("sh", append([]string{"-c", `ulimit -v 8000000; exec "$0" "$@"`, c.Path},
			c.Args[1:]...)...)
		limited.Dir, limited.Env = c.Dir, c.Env
		finish(t, limited).fails(t, what, 1, "out of memory", "make the model smaller")
	}
}
