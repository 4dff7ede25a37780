package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/torch"
)

// tinyText is a language model that trains in a fraction of a second.
const tinyText = `
[model]
layers = 2
width = 12
hidden = 16
dropout = 0.1
dropout_embedding = 0.1
dropout_input = 0.1
dropout_hidden = 0.1
weight_drop = 0.2
[objective]
bias = true
[train]
columns = 4
bptt = 12
bptt_random = true
valid_columns = 3
test_columns = 2
ar = 2.0
tar = 1.0
asgd = "none"
learning_rate = 5.0
clip_norm = 0.25
weight_decay = 1.2e-6
epochs = 4
log_every = 3
threads = 1
` + sparing

// textPlace is a folder with a configuration tiny.toml and texts in corpus/.
func textPlace(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "tiny.toml"), tinyText)
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("der alte hund schläft unter dem tisch und träumt von einem knochen Äpfel fallen leise " +
		"<unk>")
	for _, split := range []struct {
		name  string
		lines int
	}{{"ptb.train", 60}, {"ptb.valid", 20}, {"ptb.test", 12}} {
		var text strings.Builder
		for range split.lines {
			n := random.IntN(len(words))
			for range 2 + random.IntN(6) {
				text.WriteString(" " + words[n%len(words)])
				n += 1 + random.IntN(2)
			}
			text.WriteString(" \n")
		}
		write(t, filepath.Join(folder, "corpus", split.name+".txt"), text.String())
	}
	return folder
}

// textCommand prepares the language model's binary in folder.
func textCommand(folder string, arguments ...string) *exec.Cmd {
	c := process(folder, arguments...)
	c.Path, c.Args[0] = textBinary, textBinary
	return c
}

func runText(t *testing.T, folder string, arguments ...string) ended {
	t.Helper()
	return finish(t, textCommand(folder, arguments...))
}

func mustRunText(t *testing.T, folder string, arguments ...string) ended {
	t.Helper()
	e := runText(t, folder, arguments...)
	if e.code != 0 {
		t.Fatalf("%q ended with %d:\n%s", arguments, e.code, e.stderr)
	}
	return e
}

// trainText is mustRunText in the process of the test.
func trainText(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	trainBy(t, "ptb", folder, arguments)
}

// textVariants are settings whose state a checkpoint of a language model must hold.
var textVariants = map[string][]string{
	"parts": {"-set=train.accumulate=3", "-set=train.partial_shuffle=true", "-set=model.input_noise=0.1",
		"-set=train.optimizer=adam", "-set=train.learning_rate=0.01", "-set=checkpoint.every=2"},
	"averaged": {"-set=train.asgd=epoch", "-set=train.asgd_epoch=1"},
	"memory": {"-set=model.kind=transformer-xl", "-set=model.heads=2", "-set=model.ffn_width=16",
		"-set=model.memory=9", "-set=train.bptt_random=false", "-method=adaptive",
		"-set=objective.adaptive_cutoffs=5,9", "-set=train.optimizer=adam", "-set=train.learning_rate=0.01"},
	"gpt": {"-set=model.kind=gpt", "-set=model.heads=2", "-set=model.ffn_width=16", "-set=train.bptt_random=false",
		"-set=model.positions=learned", "-set=data.units=bytes-bpe", "-set=data.pieces=280", "-set=train.optimizer=adam",
		"-set=train.learning_rate=0.01", "-set=train.stride=1", "-set=train.accumulate=2"},
	"cosine": {"-set=schedule.kind=cosine", "-method=spectrum", "-set=train.learning_rate=0.5",
		"-set=objective.spectrum_hold=proximal", "-set=objective.retract_every=4"},
	"mixture": {"-method=mos+adversarial", "-set=objective.mixture_components=3", "-set=model.last_hidden=10",
		"-set=train.accumulate=2", "-set=train.asgd=epoch", "-set=train.asgd_epoch=1"},
	"auto precision": {"-set=train.precision=auto", "-set=model.weight_drop=0.3"},
	"finetune": {"-set=train.asgd=finetune", "-set=train.bptt_random=false", "-set=schedule.plateau_decay=0.5",
		"-set=train.asgd_lag=false", "-method=spectrum", "-set=train.learning_rate=0.05"},
}

// N updates, and the rest by a run that resumes, are the whole: the tensors are the same bit for bit, and so are the
// results. An epoch has about 6 updates: the first part ends within the first epoch or, where it ends after the switch
// to averaged gradient descent, within the second. The whole lies between the parts, as in
// TestResumedRunIsTheUndisturbedOne; TestKilledAtTheSwitch and others resume in another process.
func TestResumedTextRunIsTheUndisturbedOne(t *testing.T) {
	for name, settings := range textVariants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := textPlace(t)
			trainText(t, folder, append(settings, "-out=parts", "-epochs=4", "-steps=3")...)
			trainText(t, folder, append(settings, "-out=whole", "-epochs=4")...)
			for _, steps := range []string{"11", "0"} {
				trainText(t, folder, append(settings, "-out=parts", "-epochs=4", "-steps="+steps, "-resume")...)
			}
			same(t, folder, "whole", "parts")
			if log := read(t, folder, "parts", "train.log"); strings.Count(log, "continuing from step-") != 2 {
				t.Errorf("the log of the parts says\n%s", log)
			}
		})
	}
}

// A run that is killed while it saves the checkpoint at which averaging begins, and again later, ends as if nothing had
// happened.
func TestKilledAtTheSwitch(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	settings := []string{"-set=train.asgd=epoch", "-set=train.asgd_epoch=1", "-epochs=3"}
	trainText(t, folder, append(settings, "-out=whole")...)
	settings = append(settings, "-out=killed")
	for i, point := range []string{"renamed", "begin", "LATEST-renamed"} {
		arguments := append(settings, "env:APERTURE_FAILPOINT="+point)
		if i > 0 {
			arguments = append(arguments, "-resume")
		}
		if e := runText(t, folder, arguments...); e.code != -1 {
			t.Fatalf("%s: the process ended with %d\n%s", point, e.code, e.stderr)
		}
	}
	mustRunText(t, folder, append(settings, "-resume")...)
	same(t, folder, "whole", "killed")
	if _, err := os.Stat(filepath.Join(folder, "killed", "checkpoints", "BEST")); err != nil {
		t.Error(err)
	}
}

// What a run on the built-in sample says and writes.
func TestTextResults(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	c := textCommand(folder, "-set=data.sample_size=100", "-steps=4", "-set=report.plots=true",
		"-set=report.tensorboard=true")
	for i, a := range c.Args {
		if a == "-data=corpus" {
			c.Args = append(c.Args[:i], c.Args[i+1:]...)
			break
		}
	}
	e := finish(t, c)
	if e.code != 0 || !strings.Contains(e.stderr, "training on the built-in sample, an artificial corpus") ||
		e.stdout != "" {
		t.Fatalf("%+v", e)
	}
	out := filepath.Join(folder, "experiments", "ptb", "mle-sample-seed1")
	var all struct {
		Run, Preset string
		Data        struct {
			Synthetic bool
			SHA256    map[string]string
		}
		Epochs *float64
		Valid  struct{ NLL, PPL *float64 }
		Test   map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(read(t, out, "results.json")), &all); err != nil {
		t.Fatal(err)
	}
	test := all.Test["test"]
	if all.Run != "ptb" || !all.Data.Synthetic || len(all.Data.SHA256) != 3 || all.Data.SHA256["valid.txt"] == "" ||
		all.Epochs == nil || all.Valid.PPL == nil || test["ppl"] == nil || test["nll"] == nil {
		t.Errorf("%+v", all)
	}
	for _, undefined := range []string{"bleu", "bleu_signature", "bleu_tok", "chrf", "f1"} {
		if value, there := test[undefined]; !there || value != nil {
			t.Errorf("%s is %v, want null", undefined, value)
		}
	}
	for _, pattern := range []string{"config.toml", "train.log", "metrics.jsonl", "report.html",
		"tokenizer/vocabulary.txt", "tb/events*", "samples/step-4.txt", "plots/*.png",
		"checkpoints/step-4/model.safetensors"} {
		if found, _ := filepath.Glob(filepath.Join(out, pattern)); len(found) == 0 {
			t.Errorf("the run folder lacks %s", pattern)
		}
	}
	if config := read(t, out, "config.toml"); strings.Contains(config, "beam") ||
		!strings.Contains(config, "bptt = 12") {
		t.Errorf("config.toml has keys that a language model does not read, or lacks its own:\n%s", config)
	}
	again := exec.Command(textBinary, "-config", filepath.Join(out, "config.toml"), "-out=again")
	again.Dir = folder
	if e := finish(t, again); e.code != 0 {
		t.Fatalf("%+v", e)
	}
	same(t, folder, filepath.Join("experiments", "ptb", "mle-sample-seed1"), "again")
}

// Bad input is answered with one sentence that says where and what to do.
func TestTextInput(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	runText(t, folder, "-train=nowhere").fails(t, "no text", 1, "nowhere.txt: there is no such file; -train names it")
	runText(t, folder, "-set=train.columns=1000").fails(t, "many columns", 1, "the training text has", "train.columns")
	runText(t, folder, "-set=train.accumulate=5").fails(t, "many parts", 2, "train.accumulate = 5", "train.columns = 4")
	runText(t, folder, "-set=model.kind=transformer").fails(t, "a translator", 2, "runs/ptb trains a language model",
		"translator")
	runText(t, folder, "-set=train.asgd=trigger", "-set=train.optimizer=adam").fails(t, "averaging Adam", 2,
		`train.optimizer = "sgd"`)
	run(t, workplace(t), "-set=model.kind=awd-lstm").fails(t, "a language model", 2, "runs/wmt14 trains a translator")
	e := mustRunText(t, folder, "-set=decode.beam=1", "-steps=1", "-out=beam")
	if !strings.Contains(e.stderr, "a language model has no use for decode.beam") {
		t.Errorf("the process says\n%s", e.stderr)
	}
	write(t, filepath.Join(folder, "corpus", "other.txt"), "der hund und ein neues wort\nund\n")
	mustRunText(t, folder, "-resume", "-steps=2", "-out=beam", "-test=other")
	adaptive := mustRunText(t, folder, "-method=adaptive", "-steps=1", "-out=adaptive")
	if !strings.Contains(adaptive.stderr, `data.vocabulary_order = "frequency"`) {
		t.Errorf("the process says\n%s", adaptive.stderr)
	}
	e = mustRunText(t, folder, "-plan", "-test=other")
	if !strings.Contains(e.stdout, "training text ") || !strings.Contains(e.stdout, "steps in all ") {
		t.Errorf("the plan is\n%s", e.stdout)
	}
}

// A finetuning starts from the weights of another run, with averaging at once, and keeps them where it finds none
// better.
func TestFinetuning(t *testing.T) {
	t.Parallel()
	folder := textPlace(t)
	trainText(t, folder, "-out=first")
	trainText(t, folder, "-out=second", "-init=first", "-set=train.asgd=finetune", "-set=train.learning_rate=1e-9",
		"-epochs=2")
	first, second := results(t, folder, "first")["valid"].(map[string]any)["nll"].(float64),
		results(t, folder, "second")["valid"].(map[string]any)["nll"].(float64)
	if math.Abs(first-second) > 1e-5 {
		t.Errorf("the finetuned run has validation loss %v, the first %v", second, first)
	}
	trainText(t, folder, "-out=third", "-init=first", "-set=train.asgd=finetune", "-set=train.learning_rate=100",
		"-set=train.clip_norm=10", "-set=train.asgd_patience=1", "-epochs=9")
	if best := results(t, folder, "third")["checkpoint"]; best != "step-0" {
		t.Errorf("after a finetuning that destroys the weights the best is %v", best)
	}
	// A run that was killed while it read other texts than the first's has no vocabulary of its own yet.
	for _, name := range []string{"train", "valid", "test"} {
		text := strings.Split(read(t, folder, "corpus", "ptb."+name+".txt"), "\n")
		slices.Reverse(text)
		write(t, filepath.Join(folder, "turned", "ptb."+name+".txt"), strings.Join(text[1:], "\n")+"\n")
	}
	late := []string{"-out=late", "-data=turned", "-init=first", "-epochs=1", "-resume=auto"}
	mustRunText(t, folder, late...)
	for _, name := range []string{"tokenizer", "checkpoints", "results.json", "metrics.jsonl"} {
		if err := os.RemoveAll(filepath.Join(folder, "late", name)); err != nil {
			t.Fatal(err)
		}
	}
	mustRunText(t, folder, late...)
	const vocabulary = "tokenizer/vocabulary.txt"
	if read(t, folder, "late", vocabulary) != read(t, folder, "first", vocabulary) {
		t.Error("the resumed run has another vocabulary than the run that it started from")
	}
	runText(t, folder, "-out=fourth", "-init=first", "-set=model.hidden=20").fails(t, "another shape", 2, "-set",
		"model.hidden = 20")
}

// The rule by which averaging begins, on the losses that the fact sheet of AWD-LSTM gives.
func TestStalls(t *testing.T) {
	var history []float64
	for epoch, loss := range []float64{10, 9, 8, 7, 6, 5.5, 5.4, 5.6, 5.7, 5.8, 5.45, 5.9} {
		if got, want := stalls(history, loss, 5), epoch+1 == 12; got != want {
			t.Errorf("epoch %d: %v", epoch+1, got)
		}
		history = append(history, loss)
	}
	if stalls([]float64{1, 2, 3, 4, 5}, 9, 5) || !stalls([]float64{1, 2, 3, 4, 5, 6}, 9, 5) {
		t.Error("the earliest epoch is not the seventh")
	}
}

// The rate of an update follows the length that was drawn for it, and averaging begins when the rule says.
func TestAveragingBegins(t *testing.T) {
	folder := textPlace(t)
	settings := parseText(t, folder, "-set=train.asgd=trigger", "-set=train.asgd_patience=1",
		"-set=train.learning_rate=0.5")
	withTrainer(t, settings, func(r *trainer) {
		begin := func(losses ...float64) bool {
			for _, loss := range losses {
				r.considerAveraging(loss)
			}
			return r.asgd != nil
		}
		if begin(3, 2, 2.5) {
			t.Error("averaging begins too early")
		}
		r.state.Factor = 0.25
		if !begin(2.6) || r.state.Optimizer != "asgd" || r.state.Factor != 1 {
			t.Errorf("averaging does not begin: %+v", r.state.Progress)
		}
		u, err := r.updates.Next()
		if err != nil || u.Rate != float64(u.Tokens)/float64(r.config.Train.Columns)/12 {
			t.Errorf("the update has the rate %v, %v", u.Rate, err)
		}
		if r.average() != nil {
			t.Error("there is an average before a step")
		}
	})
}

// parseText is parse for language models.
func parseText(t *testing.T, folder string, arguments ...string) *experiment.Settings {
	t.Helper()
	spec := experiment.SpecOf("ptb")
	spec.DefaultPreset = "small"
	return parseFor(t, spec, folder, arguments...)
}

// A task that must be learnt: a text in which every word follows from the two before it, and so does the end of a line.
func TestTextIsLearnt(t *testing.T) {
	folder := textPlace(t)
	for _, split := range []struct {
		name  string
		words int
	}{{"ptb.train", 4000}, {"ptb.valid", 1000}, {"ptb.test", 2000}} {
		var text strings.Builder
		a, b := 1, 2
		for range split.words {
			a, b = b, (a+2*b)%7
			fmt.Fprintf(&text, "w%d ", b)
			if b == 0 {
				text.WriteByte('\n')
			}
		}
		write(t, filepath.Join(folder, "digits", split.name+".txt"), text.String())
	}
	settings := parseText(t, folder, "-data", filepath.Join(folder, "digits"), "-epochs=8", "-set=train.test_columns=1",
		"-set=schedule.plateau_decay=1", "-set=model.layers=1", "-set=model.width=24", "-set=model.hidden=24",
		"-set=model.dropout=0", "-set=model.dropout_input=0", "-set=model.dropout_hidden=0",
		"-set=model.dropout_embedding=0", "-set=model.weight_drop=0",
		"-set=train.ar=0", "-set=train.tar=0", "-set=train.bptt=20", "-set=train.columns=10",
		"-set=train.optimizer=adam", "-set=train.learning_rate=0.02", "-set=train.log_every=100",
		"-set=report.samples=0")
	var err error
	torch.Test(t, func() { err = Run(context.Background(), settings) })
	if err != nil {
		t.Fatal(err)
	}
	found, err := record.Read(filepath.Join(folder, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if ppl := found.Test["ptb.test"].PPL.Value(); !(ppl <= 1.02) {
		t.Errorf("perplexity %.3f", ppl)
	}
}
