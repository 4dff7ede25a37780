package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/aperture-ml/aperture/runs/internal/chart"
)

// CurvesFile is the picture of the training curves.
const CurvesFile = "training.png"

// Draw draws every picture that records have data for: loss, perplexity and BLEU over the updates, and the singular
// values and cosines of the output matrix at several updates.
func Draw(records []Record) []chart.Plot {
	return slices.Concat(trainingCurves(records), singularValues(records), cosines(records))
}

func trainingCurves(records []Record) []chart.Plot {
	var all []*chart.Chart
	last := 0.0
	for _, r := range records {
		last = max(last, float64(r.Step))
	}
	for _, kind := range []struct {
		title, value, unit string
	}{
		{"Loss", Loss, "nats per target token"},
		{"Perplexity", Perplexity, "perplexity"},
		{"BLEU on the validation text", BLEU, "BLEU"},
	} {
		c := chart.New(kind.title, "updates", kind.unit)
		c.Width, c.Height, c.X.Reach = 560, 250, []float64{0, last} // one time axis for all
		c.Y.Log = kind.value == Perplexity
		if kind.value == BLEU {
			c.Y.Reach = []float64{0, 1} // so that a score near zero looks like one
		}
		for i, split := range []string{SplitTrain, SplitValid} {
			s := chart.Series{Name: []string{"training", "validation"}[i], Colour: chart.Hue(i)}
			for _, r := range records {
				if r.Split == split {
					s.X, s.Y = append(s.X, float64(r.Step)), append(s.Y, r.Value(kind.value))
				}
			}
			c.Add(s)
		}
		all = append(all, c)
	}
	return chart.Draw(CurvesFile, "Training", 1, all...)
}

// singularValues are by rank, from the first measure to the last.
func singularValues(records []Record) []chart.Plot {
	c := chart.New("Singular values of the output matrix", "rank k", "singular value")
	c.Width, c.Height, c.Y.Log = 540, 360, true
	chosen := spread(records, SingularValues, 6)
	for i, r := range chosen {
		values := r.Lists[SingularValues]
		c.Add(chart.Series{Name: fmt.Sprintf("update %d", r.Step), Colour: shade(i, len(chosen)),
			X: chart.Steps(len(values), 1, 1), Y: values})
	}
	return chart.Draw("singular_values.png", c.Title, 1, c)
}

// cosines are the distribution between two rows, at the first measure, halfway and at the last.
func cosines(records []Record) []chart.Plot {
	c := chart.New("Cosine between two rows of the output matrix", "cosine", "density")
	c.Width, c.Height, c.Y.Reach = 460, 320, []float64{0}
	chosen := spread(records, CosineHistogram, 3)
	for i, r := range chosen {
		s := CosineDensity(fmt.Sprintf("update %d", r.Step), r.Lists[CosineHistogram])
		s.Colour = shade(i, len(chosen))
		c.Add(s)
	}
	return chart.Draw("cosine_histogram.png", "Cosine between rows of the output matrix", 1, c)
}

// CosineDensity is the distribution of cosines that were counted in bins of equal width over [-1, 1]; its name tells
// the mean.
func CosineDensity(name string, counts []float64) chart.Series {
	width := 2 / float64(len(counts))
	mean := floats.Dot(counts, chart.Steps(len(counts), -1+width/2, width)) / floats.Sum(counts)
	return chart.Density(fmt.Sprintf("%s, mean %.3f", name, mean), counts, -1, 1)
}

// spread returns at most n of the records that have a list, evenly from the first to the last.
func spread(records []Record, list string, n int) (chosen []Record) {
	with := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return len(r.Lists[list]) == 0 })
	n = min(n, len(with))
	for i := range n {
		chosen = append(chosen, with[i*(len(with)-1)/max(1, n-1)])
	}
	return chosen
}

// shade returns the colour of the i-th of n moments in time, from light blue to dark, the last one orange.
func shade(i, n int) color.RGBA {
	if i == n-1 {
		return chart.Hue(1)
	}
	t := float64(i) / math.Max(1, float64(n-2))
	mix := func(light, dark float64) uint8 { return uint8(light + t*(dark-light)) }
	return color.RGBA{mix(160, 0), mix(205, 60), mix(235, 120), 255}
}
