package main

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/report"
)

// outcome is what a run folder says of its run.
type outcome struct {
	finished bool    // as long as it was asked to train
	tested   bool    // it was asked to score the test texts, and has
	failed   string  // why it will not finish, or empty
	loss     float64 // of the validation text; NaN where there is none
	bleu     float64 // likewise; NaN where it was not measured
	asked    experiment.Train
	updates  int64
	epochs   float64
	seconds  float64 // of training
	test     map[string]experiment.TestScores
}

// failedFile stands in the folder of a run that failed, and holds its last words.
const failedFile = "failed.txt"

// lookAt reads a run folder. The folder is all that tells what has run, so that nothing is lost whenever a sweep ends.
func lookAt(folder string) (o outcome, err error) {
	o.loss, o.bleu = math.NaN(), math.NaN()
	if words, err := os.ReadFile(filepath.Join(folder, failedFile)); err == nil {
		o.failed = strings.TrimSpace(string(words))
		return o, nil
	}
	results, err := experiment.ReadResults(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	records, err := report.ReadRecords(filepath.Join(folder, experiment.MetricsFile))
	if err != nil {
		return o, err
	}
	config, err := experiment.ReadConfig(folder)
	if err != nil {
		return o, err
	}
	o.finished, o.tested, o.asked = true, config.Report.Test, config.Train
	o.epochs = results.Epochs.Value()
	o.updates, o.seconds, o.test = results.Updates, results.TrainSeconds.Value(), results.Test
	o.loss = results.Valid.NLL.Value()
	nats := !math.IsNaN(o.loss)
	for _, r := range records {
		if r.Split != report.SplitValid {
			continue
		}
		// A distance to a vector is no likelihood, so that results.json has none; the smallest that validation saw stands for it.
		if x := r.Value(report.Loss); !nats && !math.IsNaN(x) && !(o.loss <= x) {
			o.loss = x
		}
		if x := r.Value(report.BLEU); !math.IsNaN(x) && !(o.bleu >= x) {
			o.bleu = x
		}
	}
	return o, nil
}

// score is what chooses, the smaller the better; infinite for a run without one.
func (o outcome) score(kind string) float64 {
	x := o.loss
	if kind == "bleu" {
		x = -o.bleu
	}
	if !o.finished || math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}
