package train

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startLoss is the validation loss that a run measured before its first update.
func startLoss(t *testing.T, folder ...string) float64 {
	t.Helper()
	for line := range strings.Lines(read(t, append(folder, "metrics.jsonl")...)) {
		var record struct {
			Step  int
			Split string
			Loss  float64
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record.Split == "valid" && record.Step == 0 {
			return record.Loss
		}
	}
	t.Fatalf("%s: no validation before the first update", filepath.Join(folder...))
	return 0
}

func validLoss(t *testing.T, folder ...string) float64 {
	return results(t, folder...)["valid"].(map[string]any)["nll"].(float64)
}

// tokenizer is what the tokenizer folder of a run holds, by name.
func tokenizer(t *testing.T, folder ...string) map[string]string {
	t.Helper()
	root, all := filepath.Join(append(folder, "tokenizer")...), map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		all[strings.TrimPrefix(path, root)] = read(t, path)
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d files, %v", root, len(all), err)
	}
	return all
}

// A run that starts from another one's weights has its tokenizer and vocabulary, whatever its own text, scores these
// weights before its first update as that run did, bit for bit, and says how well the vocabulary suits the text.
func TestWarmStart(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	train(t, folder, "-steps=24", "-out=first", "-set=train.average_last=2")
	first := validLoss(t, folder, "first")
	for name, settings := range map[string][]string{
		"mle":         {"-set=train.learning_rate=1e-3"},
		"smoothed":    {"-method=cosreg+adversarial+zloss"},
		"with a mean": {"-set=train.ema_decay=0.9"},
	} {
		e := mustRun(t, folder, append(settings, "-steps=4", "-out="+name, "-init=first")...)
		if !strings.Contains(e.stderr, "starting from the weights of "+filepath.Join(folder, "first")) ||
			!strings.Contains(e.stderr, "keeping the network, the tokenizer and the vocabulary") {
			t.Errorf("%s: the process says\n%s", name, e.stderr)
		}
		if start := startLoss(t, folder, name); start != first {
			t.Errorf("%s: before its first update its loss is %v, and that of the run that it starts from %v", name, start,
				first)
		}
	}

	// Other text, with a word that the vocabulary lacks and one that it has to split.
	write(t, filepath.Join(folder, "corpus", "train.en"), strings.Repeat("der hund und ΩΩ neundert\n", 200))
	write(t, filepath.Join(folder, "corpus", "train.de"), strings.Repeat("DER HUND UND\n", 200))
	e := mustRun(t, folder, "-steps=2", "-out=other", "-init=first")
	for _, part := range []string{"of 1000 en words 40 % are in pieces, and of 2000 symbols 30 % are <unk>",
		"of 600 de words 0 % are in pieces, and of 600 symbols 0 % are <unk>"} {
		if !strings.Contains(e.stderr, part) {
			t.Errorf("the process does not say %q:\n%s", part, e.stderr)
		}
	}
	if diff := cmp.Diff(tokenizer(t, folder, "first"), tokenizer(t, folder, "other")); diff != "" {
		t.Error("the tokenizer folder is another one (-first +other):", diff)
	}
	mustRun(t, folder, "-plan", "-init=first", "-out=planned")
	// What goes on needs the other run no more, nor does its plan.
	if err := os.Rename(filepath.Join(folder, "first"), filepath.Join(folder, "moved")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, folder, "-plan", "-out=other", "-resume", "-steps=4")
	if err := os.Rename(filepath.Join(folder, "moved"), filepath.Join(folder, "first")); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "-out=fails", "-init=first", "-set=model.ffn_width=64").fails(t, "another shape", 2,
		"model.ffn_width = 64, and the run in first has 32")
}

// A method that parameterises W otherwise starts from the decomposition of W, or from the product, and scores alike.
func TestWarmStartOfAnotherMethod(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	train(t, folder, "-steps=24", "-out=mle")
	before := validLoss(t, folder, "mle")
	for _, step := range []struct{ method, from string }{
		{"spectrum", "mle"}, {"sn-doptimal", "spectrum"}, {"mle", "sn-doptimal"},
	} {
		out := step.method + " from " + step.from
		from := step.from
		if from != "mle" {
			from = "to " + from
		}
		train(t, folder, "-steps=1", "-out=to "+step.method, "-init="+from, "-method="+step.method,
			"-set=train.learning_rate=1e-9")
		if start := startLoss(t, folder, "to "+step.method); math.Abs(start-before) > 1e-5 {
			t.Errorf("%s: before its first update its loss is %v, want %v", out, start, before)
		}
		before = startLoss(t, folder, "to "+step.method)
	}
	train(t, folder, "-steps=4", "-out=words", "-method=vmf", "-set=objective.vectors_width=9")
	train(t, folder, "-steps=2", "-out=more words", "-init=words")
	if a, b := validLoss(t, folder, "words"), startLoss(t, folder, "more words"); a != b {
		t.Errorf("target vectors: before its first update its loss is %v, want %v", b, a)
	}
	run(t, folder, "-out=fails", "-init=mle", "-method=mos").fails(t, "other weights", 2, "cannot start from weights")
}

// The weights of the start stay the best where training finds none better, and early stopping counts from them.
func TestWarmStartStaysTheBest(t *testing.T) {
	t.Parallel()
	folder := workplace(t)
	train(t, folder, "-steps=24", "-out=first")
	train(t, folder, "-out=worse", "-init=first", "-set=train.learning_rate=0.3", "-set=train.patience=2")
	all := results(t, folder, "worse")
	if all["checkpoint"] != "step-0" || all["updates"] != 8.0 || validLoss(t, folder, "worse") != validLoss(t, folder, "first") {
		t.Errorf("after training that destroys the weights: checkpoint %v, %v updates, loss %v", all["checkpoint"],
			all["updates"], validLoss(t, folder, "worse"))
	}
}

// A run that started from another one goes on bit for bit, and no longer needs that run: after a kill before its first
// update, and later.
func TestWarmStartResumes(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"mle":      {"-set=train.ema_decay=0.9"},
		"spectrum": {"-method=spectrum", "-set=train.patience=9"},
	} {
		folder := workplace(t)
		train(t, folder, "-steps=24", "-out=first")
		settings = append(settings, "-init=first")
		train(t, folder, append(settings, "-out=whole", "-steps=12")...)
		for i, point := range []string{"file-written", "BEST-written"} { // of the save before the first update
			args := append(settings, "-out=parts", "-steps=12", "env:APERTURE_FAILPOINT="+point)
			if i > 0 {
				args = append(args, "-resume")
			}
			if killed := run(t, folder, args...); killed.code != -1 {
				t.Fatalf("%s: the process was not killed at %s: %+v", name, point, killed)
			}
		}
		if err := os.Rename(filepath.Join(folder, "first"), filepath.Join(folder, "elsewhere")); err != nil {
			t.Fatal(err)
		}
		train(t, folder, append(settings, "-out=parts", "-steps=6", "-resume")...)
		if n := strings.Count(read(t, folder, "parts", "metrics.jsonl"), `"step":0,`); n != 1 {
			t.Errorf("%s: %d lines of metrics.jsonl are of the start", name, n)
		}
		e := mustRun(t, folder, "-out=parts", "-steps=12", "-resume")
		if !strings.Contains(e.stderr, "continuing from step-6") {
			t.Errorf("%s: the last part says\n%s", name, e.stderr)
		}
		same(t, folder, "whole", "parts")
	}
}
