package train

import "testing"

// TestRecompute: a run that computes its layers once more learns what another one does, in two processes, too, in
// bfloat16 and over several batches, and goes on with or without; a network without layers of attention has none to
// compute.
func TestRecompute(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	for name, settings := range map[string][]string{
		"translator": {"-set=train.accumulate=2"},
		"bfloat16":   {"-set=train.precision=bfloat16", "-set=model.pre_norm=true"},
		"processes":  {"-processes=2"},
	} {
		settings = append(settings, "-steps=12", "-set=decode.validation_beam=0", "-set=report.samples=0")
		mustRun(t, folder, append(settings, "-out="+name)...)
		mustRun(t, folder, append(settings, "-out="+name+"-again", "-set=train.recompute=true")...)
		nearRun(t, folder, name, name+"-again")
	}
	mustRun(t, folder, "-steps=16", "-set=train.accumulate=2", "-set=decode.validation_beam=0", "-set=report.samples=0",
		"-out=translator-again", "-resume", "-set=train.recompute=false")

	texts := textPlace(t)
	for _, kind := range []string{"transformer-xl", "gpt"} {
		settings := []string{"-steps=8", "-set=report.samples=0", "-set=model.kind=" + kind, "-set=model.heads=2",
			"-set=model.ffn_width=16", "-set=model.memory=9", "-set=train.bptt_random=false", "-set=train.optimizer=adam", "-set=train.learning_rate=0.01"}
		mustRunText(t, texts, append(settings, "-out="+kind)...)
		mustRunText(t, texts, append(settings, "-out="+kind+"-again", "-set=train.recompute=true")...)
		nearRun(t, texts, kind, kind+"-again")
	}
	runText(t, texts, "-steps=8", "-set=train.recompute=true", "-out=refused").fails(t, "an LSTM", 1, "train.recompute = true",
		`model.kind = "awd-lstm"`)
}
