package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checked"
)

// binary is the command that the tests of translation drive, textBinary that of language models, namelessBinary the
// program that both are by name, and translateBinary runs/translate; they are built once.
var binary, textBinary, namelessBinary, translateBinary string

func TestMain(m *testing.M) {
	// Where the tests themselves run under nohup, the processes that they start must not inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "aperture-train-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		binary = filepath.Join(folder, "wmt14")
		textBinary = filepath.Join(folder, "ptb")
		translateBinary = filepath.Join(folder, "translate")
		namelessBinary = filepath.Join(folder, "training")
		build := exec.Command("go", "build", "-o", folder, "../training", "../../translate")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "the command under test cannot be built:", err)
			return 1
		}
		for _, name := range []string{binary, textBinary} {
			if err := os.Link(namelessBinary, name); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		// Programs leave the user's own cache alone; Go's stays where it is.
		cache, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		os.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
		os.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache"))
		checked.Load() // libtorch knows only the devices that are there at the process's first backward pass
		return m.Run()
	}())
}

// tiny is a configuration that trains in a fraction of a second.
const tiny = `
[data]
tokenize = "none"
merges = 60
max_ratio = 0.0
[model]
encoder_layers = 1
decoder_layers = 1
width = 16
ffn_width = 32
heads = 2
max_positions = 64
dropout = 0.1
[train]
max_tokens = 150
accumulate = 1
learning_rate = 0.01
steps = 24
validate_every = 4
average_last = 0
log_every = 3
threads = 1
[schedule]
warmup = 4
warmup_init = 0.0
[decode]
beam = 2
max_length_a = 1.0
max_length_b = 3
validation_beam = 1
` + sparing

// sparing are the settings of every test's run that keep it short.
const sparing = `[checkpoint]
keep = 2
[report]
plots = false
tensorboard = false
samples = 2
`

// workplace is a folder with a configuration tiny.toml and parallel text in corpus/.
func workplace(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "tiny.toml"), tiny)
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("der alte hund schläft unter dem tisch und träumt von einem knochen Äpfel fallen leise")
	for _, split := range []struct {
		name  string
		lines int
	}{{"train", 200}, {"valid", 12}, {"test", 8}} {
		var source, target strings.Builder
		for range split.lines {
			n := 2 + random.IntN(6)
			line := make([]string, n)
			back := make([]string, n)
			for i := range line {
				word := words[random.IntN(len(words))]
				line[i], back[n-1-i] = word, strings.ToUpper(word)
			}
			source.WriteString(strings.Join(line, " ") + "\n")
			target.WriteString(strings.Join(back, " ") + "\n")
		}
		write(t, filepath.Join(folder, "corpus", split.name+".en"), source.String())
		write(t, filepath.Join(folder, "corpus", split.name+".de"), target.String())
	}
	return folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ended is what became of a process.
type ended struct {
	code           int // -1: killed by a signal
	stdout, stderr string
}

// process prepares the binary in folder, with tiny.toml and the corpus; arguments that begin with "env:" are its
// environment.
func process(folder string, arguments ...string) *exec.Cmd {
	c := exec.Command(binary, "-config=tiny.toml", "-data=corpus")
	c.Dir, c.Env = folder, os.Environ()
	for _, a := range arguments {
		if setting, found := strings.CutPrefix(a, "env:"); found {
			c.Env = append(c.Env, setting)
			continue
		}
		c.Args = append(c.Args, a)
	}
	return c
}

// finish runs a prepared command to its end.
func finish(t *testing.T, c *exec.Cmd) ended {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("%q shows its user a stack:\n%s", c.Args[1:], &stderr)
	}
	return ended{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func run(t *testing.T, folder string, arguments ...string) ended {
	t.Helper()
	return finish(t, process(folder, arguments...))
}

// mustRun runs the command, which must succeed.
func mustRun(t *testing.T, folder string, arguments ...string) ended {
	t.Helper()
	e := run(t, folder, arguments...)
	if e.code != 0 {
		t.Fatalf("%q ended with %d:\n%s", arguments, e.code, e.stderr)
	}
	return e
}

// train is mustRun in the process of the test, which spares starting a program: for what does not depend on a process.
func train(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	trainBy(t, "wmt14", folder, arguments)
}

func trainBy(t *testing.T, run, folder string, arguments []string) {
	t.Helper()
	arguments = slices.Clone(arguments)
	for i, a := range arguments {
		for _, name := range []string{"-out=", "-data=", "-init=", "-vectors="} {
			if file, found := strings.CutPrefix(a, name); found {
				arguments[i] = name + filepath.Join(folder, file)
			}
		}
	}
	settings := parseFor(t, experiment.SpecOf(run), folder, arguments...)
	var err error
	torch.Test(t, func() { err = Run(context.Background(), settings) })
	if err != nil {
		t.Fatalf("%q ended with %v", arguments, err)
	}
}

// fails proves that a process ended with a code and one sentence, its last line, that holds all parts.
func (e ended) fails(t *testing.T, what string, code int, parts ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(e.stderr), "\n")
	sentence := lines[len(lines)-1]
	if e.code != code || !strings.HasPrefix(sentence, "aperture: ") {
		t.Errorf("%s: exit code %d, want %d; it says\n%s", what, e.code, code, e.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(sentence, part) {
			t.Errorf("%s: %q does not say %q", what, sentence, part)
		}
	}
}

// results are the results of a run, without what may differ between two runs of one experiment.
func results(t *testing.T, folder ...string) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(read(t, append(folder, "results.json")...)), &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train_seconds", "tokens_per_s", "peak_rss_bytes", "peak_device_bytes"} {
		delete(all, name)
	}
	delete(all["best"].(map[string]any), "seconds")
	return all
}

// same proves that two runs gave the same results and the same tensors at their last step, bit for bit.
func same(t *testing.T, folder, want, got string) {
	t.Helper()
	sameTensors(t, folder, want, got)
	outputs := filepath.Join("samples", "test.de")
	if _, err := os.Stat(filepath.Join(folder, want, outputs)); err != nil {
		step := strings.TrimSpace(read(t, folder, want, "checkpoints", "LATEST"))
		outputs = filepath.Join("samples", step+".txt")
	}
	if read(t, folder, want, outputs) != read(t, folder, got, outputs) {
		t.Errorf("%s of %s and %s differ", outputs, want, got)
	}
}

// sameTensors is same without what was translated.
func sameTensors(t *testing.T, folder, want, got string) {
	t.Helper()
	if diff := cmp.Diff(results(t, folder, want), results(t, folder, got)); diff != "" {
		t.Errorf("the results of %s (-) and %s (+) differ:\n%s", want, got, diff)
	}
	step := strings.TrimSpace(read(t, folder, want, "checkpoints", "LATEST"))
	for _, file := range []string{modelFile, averageFile, optimizerFile} {
		one, err := os.ReadFile(filepath.Join(folder, want, "checkpoints", step, file))
		other, otherErr := os.ReadFile(filepath.Join(folder, got, "checkpoints", step, file))
		if (err == nil) != (otherErr == nil) || !bytes.Equal(one, other) {
			t.Errorf("%s of %s differs between %s and %s (%v, %v)", file, step, want, got, err, otherErr)
		}
	}
}
