package train

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// variants are settings whose state a checkpoint must hold.
var variants = map[string][]string{
	"accumulation":   {"-set=train.accumulate=3", "-set=train.optimizer=adamw", "-set=train.weight_decay=0.01"},
	"moving average": {"-set=train.ema_decay=0.9", "-set=train.average_last=3", "-set=train.normalise=sentences"},
	"spectrum": {"-method=spectrum", "-set=objective.lambda_u_spectral=0.1",
		"-set=objective.lambda_v_spectral=0.1", "-set=train.clip_norm=0.5"},
	"everything else": {"-set=train.validate_every=0", "-set=train.average_last=2", "-set=model.attention_dropout=0.1",
		"-set=schedule.plateau_decay=0.5", "-set=train.patience_on=bleu"},
	"latent masks":   {"-method=mos+adversarial", "-set=objective.mixture_components=3"},
	"target vectors": {"-method=vmf", "-set=objective.vectors_width=9", "-set=train.average_last=2"},
	"attentional": {"-set=model.kind=attentional", "-set=train.normalise=sentences",
		"-set=model.layer_dropout=0.1", "-set=model.recurrent_dropout=0.1", "-set=model.word_dropout=0.1",
		"-set=model.decoder_layers=2", "-set=train.clip_norm=5"},
	"attentional vmf": {"-method=vmf", "-set=objective.vectors_width=9", "-set=model.kind=attentional",
		"-set=model.word_width=12"},
	"gradient descent":   {"-set=train.optimizer=sgd", "-set=checkpoint.every=5", "-set=train.patience=4"},
	"terms and centring": {"-method=softcap+sigsoftmax+centre+centre-loss+focal+unlikelihood", "-set=train.accumulate=2"},
	"states":             {"-method=simctg+istar+dispersion", "-set=objective.istar_updates=3", "-set=train.accumulate=2"},
	"coupled Adam":       {"-set=train.optimizer=coupled-adam", "-set=train.weight_decay=0.01"},
	"auto precision":     {"-set=train.precision=auto", "-set=train.accumulate=2"}, // bfloat16 where the processor has it
	"gates and label dropout": {"-method=drill+agg", "-set=objective.drill_dropout=0.3", "-set=objective.agg_alpha=0.5",
		"-set=train.accumulate=2"},
}

// N updates, and N more by a run that resumes, are 2N updates: the tensors are the same bit for bit, and so are the
// results. An epoch of the corpus has 12 to 14 batches, so that the seven updates of the first part end within an
// epoch, or, with three batches to an update, within the second one. All is trained in one process; the whole lies
// between the parts, so that the second finds nothing of the first there, such as the state of a generator. Other tests
// resume in another process.
func TestResumedRunIsTheUndisturbedOne(t *testing.T) {
	for name, settings := range variants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := workplace(t)
			train(t, folder, append(settings, "-out=parts", "-steps=7")...)
			train(t, folder, append(settings, "-out=whole", "-steps=14")...)
			train(t, folder, append(settings, "-out=parts", "-steps=14", "-resume")...)
			if log := read(t, folder, "parts", "train.log"); !strings.Contains(log, "continuing from step-7") {
				t.Errorf("the log of the parts says\n%s", log)
			}
			same(t, folder, "whole", "parts")
		})
	}
}

// The same at the edge of an epoch, where the next process shuffles anew.
func TestResumeAtTheEdgeOfAnEpoch(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	mustRun(t, folder, "-out=whole", "-epochs=2", "-steps=1000")
	mustRun(t, folder, "-out=parts", "-epochs=1", "-steps=1000")
	mustRun(t, folder, "-out=parts", "-epochs=2", "-steps=1000", "-resume")
	same(t, folder, "whole", "parts")
	if epochs := results(t, folder, "parts")["epochs"]; epochs != 2.0 {
		t.Errorf("%v epochs", epochs)
	}
}

// A finished run says so, and which key to raise; a folder that holds a run is left alone.
func TestFoldersThatHoldARun(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	mustRun(t, folder, "-out=done", "-steps=2")
	before := read(t, folder, "done", "results.json") + read(t, folder, "done", "config.toml") +
		read(t, folder, "done", "train.log") + read(t, folder, "done", "command.txt")
	run(t, folder, "-out=done", "-steps=2").fails(t, "a second start", 1, "done already holds a run", "-resume", "-out")
	run(t, folder, "-out=done", "-steps=2", "-resume").fails(t, "a finished run", 1, "is finished (2 updates",
		"raise train.steps (-steps, now 2)")
	run(t, folder, "-out=done", "-resume", "-set=model.width=32").fails(t, "another model", 2,
		"a resumed run cannot change model.width from 16 to 32")
	run(t, folder, "-out=none", "-resume").fails(t, "no run", 1, "there is no folder none to resume the run of")
	if after := read(t, folder, "done", "results.json") + read(t, folder, "done", "config.toml") +
		read(t, folder, "done", "train.log") + read(t, folder, "done", "command.txt"); after != before {
		t.Error("the folder was touched")
	}
	logged := read(t, folder, "done", "train.log")
	write(t, filepath.Join(folder, "corpus", "train.en"), strings.Repeat("ein anderer text\n", 200))
	run(t, folder, "-out=done", "-steps=4", "-resume").fails(t, "another corpus", 1,
		"the texts have changed since the run in done began (train.en)")
	run(t, folder, "-out=done", "-steps=2", "-resume").fails(t, "the run that was to be longer", 1,
		"is finished (2 updates")
	if !strings.Contains(read(t, folder, "done", "train.log"), logged) {
		t.Error("the log was cut")
	}
}

// A configuration that was changed beneath its checkpoints is refused by all that read it, with the key. Keys that a
// resumed run may change may change there too.
func TestConfigChangedUnderItsCheckpoints(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	mustRun(t, folder, "-out=done", "-steps=4")
	config := read(t, folder, "done", "config.toml")
	translate := func() ended {
		c := exec.Command(translateBinary, "-run=done", "-threads=1", "-device=cpu")
		c.Dir, c.Stdin = folder, strings.NewReader("der alte hund\n")
		return finish(t, c)
	}
	for key, change := range map[string][2]string{
		"model.heads is 4, and the run's checkpoints were trained with 2: write model.heads = 2 there " +
			"again": {"\nheads = 2\n", "\nheads = 4\n"},
		"data.merges is 0, and the run's checkpoints were trained with 60: write data.merges = 60 there " +
			"again": {"\nmerges = 60\n", "\nmerges = 0\n"},
	} {
		changed := strings.Replace(config, change[0], change[1], 1)
		if changed == config {
			t.Fatalf("the configuration lacks %q", change[0])
		}
		write(t, filepath.Join(folder, "done", "config.toml"), changed)
		run(t, folder, "-out=done", "-steps=8", "-resume").fails(t, "a resumed run", 1, "done/config.toml: "+key)
		run(t, folder, "-out=next", "-steps=8", "-init=done").fails(t, "a run from these weights", 1,
			"done/config.toml: "+key)
		translate().fails(t, "a translation", 1, "done/config.toml: "+key)
	}
	write(t, filepath.Join(folder, "done", "config.toml"), strings.Replace(config, "\nbeam = 2\n", "\nbeam = 1\n", 1))
	if e := translate(); e.code != 0 {
		t.Errorf("with another beam: %+v", e)
	}
	mustRun(t, folder, "-out=done", "-steps=8", "-resume")
}
