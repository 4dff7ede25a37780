package report

import (
	"fmt"
	"image/color"
	"math"
)

// TrainingCurves draws loss, perplexity and BLEU over the updates, a panel each where records have the numbers, as PNG; nil
// without any.
func TrainingCurves(records []Record) ([]byte, error) {
	var panels []*panel
	for _, kind := range []struct {
		title, value, unit string
		log                bool
	}{
		{"Loss", Loss, "nats per target token", false},
		{"Perplexity", Perplexity, "perplexity (log scale)", true},
		{"BLEU on the validation text", BLEU, "BLEU", false},
	} {
		p := newPanel(kind.title, "updates", kind.unit, kind.log)
		any := false
		for _, line := range []struct {
			split, name string
			color       color.Color
		}{{SplitTrain, "training", blue}, {SplitValid, "validation", orange}} {
			xs, ys := series(records, line.split, kind.value)
			drawn, err := p.addLine(line.name, xs, ys, line.color, line.split == SplitValid)
			if err != nil {
				return nil, err
			}
			any = any || drawn != nil
		}
		if !any {
			continue
		}
		if kind.value == BLEU {
			p.Y.Min, p.Y.Max = 0, max(1, p.Y.Max) // so that a score near zero looks like one
		}
		panels = append(panels, p)
	}
	if len(panels) == 0 {
		return nil, nil
	}
	last := 0.0
	for _, p := range panels {
		last = max(last, p.X.Max)
	}
	for _, p := range panels { // one time axis for all, from the start of training
		p.X.Min, p.X.Max = 0, last
	}
	return render(panels, 640, 250)
}

// series returns a number of a split over the updates.
func series(records []Record, split, name string) (xs, ys []float64) {
	for i := range records {
		if records[i].Split == split {
			xs = append(xs, float64(records[i].Step))
			ys = append(ys, records[i].Value(name))
		}
	}
	return xs, ys
}

// SingularValuePlot draws the singular values of the output matrix by rank, from the first measure to the last, as PNG; nil
// without any.
func SingularValuePlot(records []Record) ([]byte, error) {
	chosen := spread(withList(records, SingularValues), 6)
	p := newPanel("Singular values of the output matrix", "rank k", "singular value (log scale)", true)
	any := false
	for i, r := range chosen {
		values := r.Lists[SingularValues]
		drawn, err := p.addLine(fmt.Sprintf("update %d", r.Step), firstRanks(len(values)), values, shade(i, len(chosen)), false)
		if err != nil {
			return nil, err
		}
		any = any || drawn != nil
	}
	if !any {
		return nil, nil
	}
	return render([]*panel{p}, 640, 360)
}

// CosinePlot draws the distribution of the cosine between two rows of the output matrix, at the first measure, halfway and at
// the last, as PNG; nil without any.
func CosinePlot(records []Record) ([]byte, error) {
	chosen := spread(withList(records, CosineHistogram), 3)
	p := newPanel("Cosine between two rows of the output matrix", "cosine", "density", false)
	any := false
	low, high := 1.0, -1.0
	for i, r := range chosen {
		line, from, to, err := p.addDensity(fmt.Sprintf("update %d", r.Step), HistogramOfCounts(r.Lists[CosineHistogram], -1, 1), shade(i, len(chosen)))
		if err != nil {
			return nil, err
		}
		low, high = min(low, from), max(high, to)
		any = any || line != nil
	}
	if !any {
		return nil, nil
	}
	p.showCosines(low, high)
	return render([]*panel{p}, 640, 320)
}

// firstRanks are 1 to n.
func firstRanks(n int) []float64 {
	ranks := make([]float64, n)
	for k := range ranks {
		ranks[k] = float64(k + 1)
	}
	return ranks
}

// withList returns the records that hold a list of that name.
func withList(records []Record, name string) []Record {
	var found []Record
	for _, r := range records {
		if len(r.Lists[name]) > 0 {
			found = append(found, r)
		}
	}
	return found
}

// spread returns at most n records, evenly from the first to the last.
func spread(records []Record, n int) []Record {
	if len(records) <= n {
		return records
	}
	chosen := make([]Record, n)
	for i := range chosen {
		chosen[i] = records[i*(len(records)-1)/(n-1)]
	}
	return chosen
}

// shade returns the colour of the i-th of n moments in time, from light blue to dark, the last one orange.
func shade(i, n int) color.Color {
	if i == n-1 {
		return orange
	}
	t := float64(i) / math.Max(1, float64(n-2))
	mix := func(light, dark float64) uint8 { return uint8(light + t*(dark-light)) }
	return color.RGBA{mix(160, 0), mix(205, 60), mix(235, 120), 255}
}
