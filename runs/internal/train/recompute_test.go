package train

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestRecompute: a run that computes its layers once more learns what another one does, in two processes, too, in
// bfloat16 and over several batches, and goes on with or without; a network without layers of attention has none to
// compute.
func TestRecompute(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	started := func(t *testing.T, folder string, arguments ...string) { mustRun(t, folder, arguments...) }
	for name, c := range map[string]struct {
		train    func(*testing.T, string, ...string)
		settings []string
	}{
		"translator": {train, []string{"-set=train.accumulate=2"}},
		"bfloat16":   {train, []string{"-set=train.precision=bfloat16", "-set=model.pre_norm=true"}},
		"processes":  {started, []string{"-processes=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "bfloat16" && !torch.HasBFloat16() {
				t.Skip("this processor has no instructions for bfloat16")
			}
			settings := append(c.settings, "-steps=12", "-set=decode.validation_beam=0", "-set=report.samples=0")
			c.train(t, folder, append(settings, "-out="+name)...)
			c.train(t, folder, append(settings, "-out="+name+"-again", "-set=train.recompute=true")...)
			nearRun(t, folder, name, name+"-again")
		})
	}
	train(t, folder, "-steps=16", "-set=train.accumulate=2", "-set=decode.validation_beam=0", "-set=report.samples=0",
		"-out=translator-again", "-resume", "-set=train.recompute=false")

	texts := textPlace(t)
	for _, kind := range []string{"transformer-xl", "gpt"} {
		settings := []string{"-steps=8", "-set=report.samples=0", "-set=model.kind=" + kind, "-set=model.heads=2",
			"-set=model.ffn_width=16", "-set=model.memory=9", "-set=train.bptt_random=false", "-set=train.optimizer=adam", "-set=train.learning_rate=0.01"}
		trainText(t, texts, append(settings, "-out="+kind)...)
		trainText(t, texts, append(settings, "-out="+kind+"-again", "-set=train.recompute=true")...)
		nearRun(t, texts, kind, kind+"-again")
	}
	runText(t, texts, "-steps=8", "-set=train.recompute=true", "-out=refused").fails(t, "an LSTM", 1, "train.recompute = true",
		`model.kind = "awd-lstm"`)
}
