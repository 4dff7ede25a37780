package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// openModels reads what runs/analyze kept of the models of runs, and has it measure the others. A run whose model
// cannot be measured still has its scores.
func openModels(runs []*trained, threads int, log io.Writer) error {
	folder, err := os.MkdirTemp("", "aperture-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program := ""
	for _, r := range runs {
		if r.model, err = record.ReadModel(r.folder); err == nil && r.model == nil {
			fmt.Fprintf(log, "opening %s\n", r.folder)
			if program == "" {
				if program, err = command.Program("analyze", folder); err != nil {
					return fmt.Errorf("%w; -quick opens no model", err)
				}
			}
			c := exec.Command(program, "-run", r.folder, "-save", "-json", fmt.Sprintf("-threads=%d", threads))
			c.Stderr = log
			if err = c.Run(); err == nil {
				r.model, err = record.ReadModel(r.folder)
			}
		}
		if err != nil {
			fmt.Fprintf(log, "%s: the model cannot be opened, and takes part by its scores only: %v\n",
				filepath.Clean(r.folder), err)
		}
	}
	return nil
}

// modelMeasures are the numbers that opening a model gives, with their titles and digits.
var modelMeasures = []measure{
	{"matrix.iso_score", "IsoScore", 4, 0},
	{"matrix.positive_cosines", "pairs with a positive cosine", 4, 0},
	{"matrix.mean_row", "mean row / rms of rows", 4, 0},
	{"matrix.mu_norm", "length of the mean row", 4, 0},
	{"matrix.rare_separation", "rare from frequent fifth / spread", 4, 0},
	{"matrix.first_component", "variance along component 1", 4, 0},
	{"matrix.components_for_90", "components for 90 % of the variance", 0, 0},
	{"matrix.nearest_distance", "nearest row / rms, median", 4, 0},
	{"matrix.radius", "radius of a word / rms, median", 4, 0},
	{"matrix.recognisable", "words with a radius above 0", 3, 0},
	{"states.hull_distance", "hull of the states to the origin / rms", 4, 0},
	{"states.bias_over_gain", "sum of b/g of their layer norm", 3, 0},
	{"states.plane_distance", "plane of their layer norm to the origin / rms", 4, 0},
	{"states.rare_pull", "pull on the rarest fifth", 4, 0},
	{"states.frequent_pull", "pull on the most frequent fifth", 4, 0},
	{"states.recognised", "states that recognise their word", 4, 0},
	{"states.margin", "margin / norm, median", 4, 0},
	{"states.iso_score", "IsoScore of the states", 4, 0},
	{"states.logit_range", "range of scores", 3, 0},
	{"states.softmax_rank", "rank of log-probabilities", 0, 0},
}

// lossByFrequency is the mean loss in nats of a test text's tokens in each of score.FrequencyBuckets, NaN where there
// are none; nil where none was taken.
func (t *trained) lossByFrequency(text string) []float64 {
	if t.model == nil || t.model.Buckets[text] == nil {
		return nil
	}
	return record.PerToken(t.model.Buckets[text])
}
