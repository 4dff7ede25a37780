package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// curve is a number of a split over the updates: the mean over a row's seeds, and their range. A point is where all of them have it.
func (r *row) curve(split, name string) (steps, mean, low, high []float64) {
	at := map[float64][]float64{}
	for _, t := range r.runs {
		for i := range t.records {
			if x := t.records[i].Value(name); t.records[i].Split == split && !math.IsNaN(x) {
				step := float64(t.records[i].Step)
				at[step] = append(at[step], x)
			}
		}
	}
	for step, values := range at {
		if len(values) >= len(r.runs) {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	for _, step := range steps {
		mean = append(mean, stat.Mean(at[step], nil))
		low, high = append(low, floats.Min(at[step])), append(high, floats.Max(at[step]))
	}
	return steps, mean, low, high
}

// secondsAt are the mean seconds of training after so many updates.
func (r *row) secondsAt(steps []float64) []float64 {
	each := 0.0
	for _, t := range r.runs {
		each += t.seconds(1) / float64(len(r.runs))
	}
	all := make([]float64, len(steps))
	for i, s := range steps {
		all[i] = s * each
	}
	return all
}

// band leaves a band out where there is but one seed.
func (r *row) band(low, high []float64) (l, h []float64) {
	if len(r.runs) < 2 {
		return nil, nil
	}
	return low, high
}

// courses are loss, perplexity and BLEU by update and by time.
func (c *comparison) courses() (all []*chart.Chart) {
	for _, kind := range []struct {
		title, split, name, unit string
		log                      bool
	}{
		{"Training loss", report.SplitTrain, report.Loss, "nats per token", false},
		{"Validation loss", report.SplitValid, report.Loss, "nats per token", false},
		{"Validation perplexity", report.SplitValid, report.Perplexity, "perplexity", true},
		{"Validation BLEU", report.SplitValid, report.BLEU, "BLEU", false},
	} {
		byUpdate := chart.New(kind.title+" by update", "updates", kind.unit)
		byUpdate.X.Reach, byUpdate.Y.Log = []float64{0}, kind.log
		if kind.name == report.BLEU {
			byUpdate.Y.Reach = []float64{0, score.NearZero} // so that a score near zero looks like one
		}
		byTime := chart.New(kind.title+" by time", "seconds of training", kind.unit)
		byTime.X.Reach, byTime.Y = byUpdate.X.Reach, byUpdate.Y
		for k, r := range c.rows {
			if kind.name == report.Loss && probabilistic(c.control().runs[0].results) != probabilistic(r.runs[0].results) {
				continue // a density's loss is on another scale
			}
			steps, mean, low, high := r.curve(kind.split, kind.name)
			low, high = r.band(low, high)
			byUpdate.Add(chart.Series{Name: r.name, X: steps, Y: mean, Low: low, High: high}.Numbered(k))
			byTime.Add(chart.Series{Name: r.name, X: r.secondsAt(steps), Y: mean, Low: low, High: high}.Numbered(k))
		}
		all = append(all, chart.Drawn(byUpdate, byTime)...)
	}
	return all
}

// spectra are the singular values of the output matrices, all of them scaled to one Frobenius norm, and the cosines of their rows.
func (c *comparison) spectra() (all []*chart.Chart) {
	values := chart.New("Singular values at equal Frobenius norm", "rank", "share of the norm")
	cosines := chart.New("Cosine between two rows", "cosine", "density")
	values.Y.Log, cosines.Y.Reach = true, []float64{0}
	for k, r := range c.rows {
		var spectra, densities [][]float64
		for _, t := range r.runs {
			var falling []float64
			for _, s := range t.results.SingularValues {
				falling = append(falling, s.Value())
			}
			if norm := floats.Norm(falling, 2); norm > 0 {
				floats.Scale(1/norm, falling)
				spectra = append(spectra, falling)
			}
			if d := lastCosines(t.records); d != nil {
				densities = append(densities, d)
			}
		}
		if mean, low, high := across(spectra); mean != nil {
			low, high = r.band(low, high)
			values.Add(chart.Series{Name: r.name, X: chart.Steps(len(mean), 1, 1), Y: mean, Low: low, High: high}.Numbered(k))
		}
		if mean, _, _ := across(densities); mean != nil {
			cosines.Add(chart.Density(r.name, mean, -1, 1).Numbered(k))
		}
	}
	return chart.Drawn(values, cosines)
}

// pointsOf are what a row's matrix is as a cloud of points: distances to the nearest row, and the variance along principal components.
func (c *comparison) pointsOf() (all []*chart.Chart) {
	nearest := chart.New("Distance to the nearest row", "distance / root mean square of the norms", "density")
	variance := chart.New("Variance along the first principal components", "components", "share")
	nearest.Y.Reach, variance.Y.Reach = []float64{0}, []float64{0}
	for k, r := range c.rows {
		var step float64
		var densities, shares [][]float64
		for _, t := range r.runs {
			if t.model != nil && t.model.Curves.Nearest != nil {
				o := t.model
				step = o.Curves.Step
				densities = append(densities, o.Curves.Nearest)
				shares = append(shares, floats.CumSum(make([]float64, len(o.Curves.Variances)), o.Curves.Variances))
			}
		}
		if mean, _, _ := across(densities); mean != nil {
			nearest.Add(chart.Density(r.name, mean, 0, step*float64(len(mean))).Numbered(k))
		}
		if mean, low, high := across(shares); mean != nil {
			low, high = r.band(low, high)
			variance.Add(chart.Series{Name: r.name, X: chart.Steps(len(mean), 1, 1), Y: mean, Low: low, High: high}.Numbered(k))
		}
	}
	return chart.Drawn(nearest, variance)
}

// lastCosines are the shares of cosines, in bins over [-1, 1], at a run's last measure of its matrix.
func lastCosines(records []report.Record) []float64 {
	for _, r := range slices.Backward(records) {
		if counts := r.Lists[report.CosineHistogram]; floats.Sum(counts) > 0 {
			shares := slices.Clone(counts)
			floats.Scale(1/floats.Sum(counts), shares)
			return shares
		}
	}
	return nil
}

// across are mean, smallest and largest of lists of one length, place by place; nil where there are none, or of several lengths.
func across(lists [][]float64) (mean, low, high []float64) {
	for i := range lists {
		if len(lists[i]) != len(lists[0]) {
			return nil, nil, nil
		}
	}
	if len(lists) == 0 {
		return nil, nil, nil
	}
	for place := range lists[0] {
		var column []float64
		for _, l := range lists {
			column = append(column, l[place])
		}
		mean, low, high = append(mean, stat.Mean(column, nil)), append(low, floats.Min(column)), append(high, floats.Max(column))
	}
	return mean, low, high
}

// byFrequencyOfWords are F1 and loss by training frequency, and norm and mean cosine of rows by frequency rank.
func (c *comparison) byFrequencyOfWords() (all []*chart.Chart) {
	var buckets []string
	for _, b := range score.FrequencyBuckets() {
		buckets = append(buckets, b.Name())
	}
	for _, text := range tests(c.control().runs) {
		drawn := chart.New("F1 of words by training frequency, "+text, "times in the training text", "F1")
		drawn.X.Places, drawn.Y.Reach = buckets, []float64{0}
		c.lines(drawn, func(t *trained) (values []float64) {
			f1 := t.results.Test[text].F1
			for _, b := range buckets {
				if len(f1) > 0 {
					values = append(values, f1[b].Value())
				}
			}
			return values
		})
		all = append(all, chart.Drawn(drawn, c.lossByFrequency(text))...)
	}
	norm := chart.New("Norm of rows by frequency", "frequency rank", "mean norm")
	cosine := chart.New("Mean cosine with all other rows, by frequency", "frequency rank", "mean cosine")
	norm.X.Log, norm.Y.Reach, cosine.X.Log = true, []float64{0}, true
	for k, r := range c.rows {
		if model := r.runs[0].model; model != nil {
			p := model.Picture
			norm.Add(chart.Series{Name: r.name, X: p.Ranks, Y: p.Norms}.Numbered(k))
			cosine.Add(chart.Series{Name: r.name, X: p.Ranks, Y: p.Cosines}.Numbered(k))
		}
	}
	return append(all, chart.Drawn(norm, cosine)...)
}

// worthDrawing is how many words a mean loss is drawn of at least: chance moves that of fewer further than methods do.
const worthDrawing = 100

// lossByFrequency is how far the loss of a language model lies above that of the control with the same seed, for words of a test text by
// how often training has them.
func (c *comparison) lossByFrequency(text string) *chart.Chart {
	drawn := chart.New("Loss less that of "+c.control().name+" by training frequency, "+text, "times in the training text", "nats a token")
	first := c.control().runs[0]
	if first.lossByFrequency(text) == nil {
		return drawn
	}
	var there []int
	for i, b := range score.FrequencyBuckets() {
		if first.model.Buckets[text][i].Tokens >= worthDrawing {
			there, drawn.X.Places = append(there, i), append(drawn.X.Places, b.Name())
		}
	}
	c.lines(drawn, func(t *trained) (values []float64) {
		losses, other := t.lossByFrequency(text), []float64(nil)
		if same := c.control().seed(t.results.Seed); same != nil {
			other = same.lossByFrequency(text)
		}
		for _, i := range there {
			if losses != nil && other != nil {
				values = append(values, losses[i]-other[i])
			}
		}
		return values
	})
	return drawn
}

// lines draws for each row the mean over its runs of what values gives, place by place, and the range; runs that it gives none for are left
// out.
func (c *comparison) lines(drawn *chart.Chart, values func(t *trained) []float64) {
	for k, r := range c.rows {
		var lists [][]float64
		for _, t := range r.runs {
			if list := values(t); list != nil {
				lists = append(lists, list)
			}
		}
		mean, low, high := across(lists)
		low, high = r.band(low, high)
		drawn.Add(chart.Series{Name: r.name, X: chart.Steps(len(mean), 0, 1), Y: mean, Low: low, High: high}.Numbered(k))
	}
}

// projections are the words of each row's matrix in the plane of its two leading directions, as they are and centred.
func (c *comparison) projections() (all []*chart.Chart) {
	for _, r := range c.rows {
		if model := r.runs[0].model; model != nil { // the first seed stands for the others
			p := model.Picture
			all = append(all, p.Plain.Chart(r.name+", as it is"), p.Centred.Chart(r.name+", centred"))
		}
	}
	return all
}
