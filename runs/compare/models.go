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

// openModels reads what runs/analyze kept of the models of runs, and has it measure the others. A run whose model cannot be measured still
// has its scores.
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
			fmt.Fprintf(log, "%s: the model cannot be opened, and takes part by its scores only: %v\n", filepath.Clean(r.folder), err)
		}
	}
	return nil
}

// modelMeasures are the numbers that opening a model gives, with their titles and digits.
var modelMeasures = []measure{
	{name: "matrix.iso_score", title: "IsoScore", digits: 4},
	{name: "matrix.positive_cosines", title: "pairs with a positive cosine", digits: 4},
	{name: "matrix.mean_row", title: "mean row / rms of rows", digits: 4},
	{name: "matrix.first_component", title: "variance along component 1", digits: 4},
	{name: "matrix.components_for_90", title: "components for 90 % of the variance", digits: 0},
	{name: "matrix.nearest_distance", title: "nearest row / rms, median", digits: 4},
	{name: "matrix.radius", title: "radius of a word / rms, median", digits: 4},
	{name: "matrix.recognisable", title: "words with a radius above 0", digits: 3},
	{name: "states.hull_distance", title: "hull of the states to the origin / rms", digits: 4},
	{name: "states.bias_over_gain", title: "sum of b/g of their layer norm", digits: 3},
	{name: "states.plane_distance", title: "plane of their layer norm to the origin / rms", digits: 4},
	{name: "states.rare_pull", title: "pull on the rarest fifth", digits: 4},
	{name: "states.frequent_pull", title: "pull on the most frequent fifth", digits: 4},
	{name: "states.recognised", title: "states that recognise their word", digits: 4},
	{name: "states.margin", title: "margin / norm, median", digits: 4},
}

// lossByFrequency is the mean loss in nats of a test text's tokens in each of score.FrequencyBuckets, NaN where there are none; nil where
// none was taken.
func (t *trained) lossByFrequency(text string) []float64 {
	if t.model == nil || t.model.Buckets[text] == nil {
		return nil
	}
	return record.PerToken(t.model.Buckets[text])
}
