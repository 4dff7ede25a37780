package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/internal/keys"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// outcome is what a run folder says of its run.
type outcome struct {
	finished bool    // as long as it was asked to train
	tested   bool    // it was asked to score the test texts, and has
	failed   string  // why it will not finish, or empty
	untested string  // why the test texts of a trial could not be scored, or empty; it has its validation scores
	loss     float64 // of the validation text; NaN where there is none
	bleu     float64 // the same; NaN where it was not measured
	steps    int     // that it was asked to train for; 0 is no limit
	passes   int     // the same in epochs
	updates  int64
	epochs   float64
	seconds  float64 // of training
	test     map[string]testScores
}

// testScores are those of one test text in results.json, where null is a score that does not exist.
type testScores struct {
	PPL  *float64 `json:"ppl"`
	BLEU *float64 `json:"bleu"`
}

// failedFile stands in the folder of a run that failed, and holds its last words; untestedFile in that of a trial that
// was chosen and could not be tested, which is none of the search's business.
const (
	failedFile   = "failed.txt"
	untestedFile = "test-failed.txt"
)

// view is what a run folder said.
type view struct {
	of string // which state of its files
	outcome
}

// lookAt says what a run folder holds. Folders alone tell what has run, so that nothing is lost whenever a sweep ends;
// one is read again where its files have changed.
func (w *sweep) lookAt(folder string) (outcome, error) {
	now, _ := os.Readlink(folder) // what was chosen may be another trial now
	for _, name := range []string{failedFile, untestedFile, "results.json", "metrics.jsonl", keys.File} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil {
			now += fmt.Sprintln(name, info.Size(), info.ModTime().UnixNano())
		}
	}
	if v, held := w.seen.Load(folder); held && v.(view).of == now {
		return v.(view).outcome, nil
	}
	o, err := read(folder)
	if err == nil {
		w.seen.Store(folder, view{now, o})
	}
	return o, err
}

func read(folder string) (o outcome, err error) {
	o.loss, o.bleu = math.NaN(), math.NaN()
	if words, err := os.ReadFile(filepath.Join(folder, failedFile)); err == nil {
		o.failed = strings.TrimSpace(string(words))
		return o, nil
	}
	if words, err := os.ReadFile(filepath.Join(folder, untestedFile)); err == nil {
		o.untested = strings.TrimSpace(string(words))
	}
	var results struct {
		Updates int64   `json:"updates"`
		Epochs  float64 `json:"epochs"`
		Seconds float64 `json:"train_seconds"`
		Valid   struct {
			NLL *float64 `json:"nll"`
		} `json:"valid"`
		Test map[string]testScores `json:"test"`
	}
	err = files.ReadJSON(filepath.Join(folder, "results.json"), &results)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	records, err := report.ReadRecords(filepath.Join(folder, "metrics.jsonl"))
	if err != nil {
		return o, err
	}
	config, err := keys.ReadFolder(folder)
	if err != nil {
		return o, err
	}
	o.finished, o.tested = true, config.Section("report")["test"] != false
	o.steps, o.passes = number(config, "train", "steps"), number(config, "train", "epochs")
	o.updates, o.epochs, o.seconds, o.test = results.Updates, results.Epochs, results.Seconds, results.Test
	nats := results.Valid.NLL != nil
	if nats {
		o.loss = *results.Valid.NLL
	}
	for _, r := range records {
		if r.Split != report.SplitValid {
			continue
		}
		// A distance to a vector is no likelihood, which results.json lacks: the smallest in validation stands for it.
		if x := r.Value(report.Loss); !nats && !math.IsNaN(x) && !(o.loss <= x) {
			o.loss = x
		}
		if x := r.Value(report.BLEU); !math.IsNaN(x) && !(o.bleu >= x) {
			o.bleu = x
		}
	}
	return o, nil
}

// ended says whether nothing is left to do for a run that was chosen.
func (o outcome) ended() bool { return o.tested || o.failed != "" || o.untested != "" }

// valid is a validation score.
func (o outcome) valid(kind string) float64 {
	if kind == "bleu" {
		return o.bleu
	}
	return o.loss
}

// score is what chooses, the smaller the better; infinite for a run without one.
func (o outcome) score(kind string) float64 {
	x := o.valid(kind)
	switch {
	case !o.finished || math.IsNaN(x):
		return math.Inf(1)
	case kind == "bleu":
		return -x
	}
	return x
}
