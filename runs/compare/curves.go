package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/compare/chart"
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
		byUpdate := &chart.Chart{Title: kind.title + " by update", X: chart.Axis{Label: "updates", Zero: true}, Y: chart.Axis{Label: kind.unit, Log: kind.log}}
		if kind.name == report.BLEU {
			byUpdate.Y.Zero, byUpdate.Y.Least = true, score.NearZero // so that a score near zero looks like one
		}
		byTime := &chart.Chart{Title: kind.title + " by time", X: chart.Axis{Label: "seconds of training", Zero: true}, Y: byUpdate.Y}
		for k, r := range c.rows {
			if kind.name == report.Loss && probabilistic(c.control().runs[0].results) != probabilistic(r.runs[0].results) {
				continue // a density's loss is on another scale
			}
			steps, mean, low, high := r.curve(kind.split, kind.name)
			low, high = r.band(low, high)
			byUpdate.Add(chart.Series{Name: r.name, Hue: k, X: steps, Y: mean, Low: low, High: high})
			byTime.Add(chart.Series{Name: r.name, Hue: k, X: r.secondsAt(steps), Y: mean, Low: low, High: high})
		}
		for _, drawn := range []*chart.Chart{byUpdate, byTime} {
			if !drawn.Empty() {
				all = append(all, drawn)
			}
		}
	}
	return all
}

// spectra are the singular values of the output matrices, all of them scaled to one Frobenius norm, and the cosines of their rows.
func (c *comparison) spectra() (all []*chart.Chart) {
	values := &chart.Chart{Title: "Singular values at equal Frobenius norm", X: chart.Axis{Label: "rank"}, Y: chart.Axis{Label: "share of the norm", Log: true}}
	cosines := &chart.Chart{Title: "Cosine between two rows", X: chart.Axis{Label: "cosine"}, Y: chart.Axis{Label: "density", Zero: true}}
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
			values.Add(chart.Series{Name: r.name, Hue: k, X: upTo(len(mean), 1, 1), Y: mean, Low: low, High: high})
		}
		if mean, _, _ := across(densities); mean != nil {
			from, to := shown(mean)
			width := 2 / float64(len(mean))
			cosines.Add(chart.Series{Name: r.name, Hue: k, Kind: chart.Stair, X: upTo(to-from+1, -1+float64(from)*width, width), Y: mean[from:to]})
		}
	}
	for _, drawn := range []*chart.Chart{values, cosines} {
		if !drawn.Empty() {
			all = append(all, drawn)
		}
	}
	return all
}

// pointsOf are what a row's matrix is as a cloud of points: distances to the nearest row, and the variance along principal components.
func (c *comparison) pointsOf() (all []*chart.Chart) {
	nearest := &chart.Chart{Title: "Distance to the nearest row", X: chart.Axis{Label: "distance / root mean square of the norms"}, Y: chart.Axis{Label: "density", Zero: true}}
	variance := &chart.Chart{Title: "Variance along the first principal components", X: chart.Axis{Label: "components"}, Y: chart.Axis{Label: "share", Zero: true}}
	for k, r := range c.rows {
		var step float64
		var densities, shares [][]float64
		for _, t := range r.runs {
			if o := c.opened[t]; o != nil && o.Curves.Nearest != nil {
				step = o.Curves.Step
				densities = append(densities, o.Curves.Nearest)
				shares = append(shares, floats.CumSum(make([]float64, len(o.Curves.Variances)), o.Curves.Variances))
			}
		}
		if mean, _, _ := across(densities); mean != nil {
			nearest.Add(chart.Series{Name: r.name, Hue: k, Kind: chart.Stair, X: upTo(len(mean)+1, 0, step), Y: mean})
		}
		if mean, low, high := across(shares); mean != nil {
			low, high = r.band(low, high)
			variance.Add(chart.Series{Name: r.name, Hue: k, X: upTo(len(mean), 1, 1), Y: mean, Low: low, High: high})
		}
	}
	for _, drawn := range []*chart.Chart{nearest, variance} {
		if !drawn.Empty() {
			all = append(all, drawn)
		}
	}
	return all
}

// lastCosines is the density of cosines at a run's last measure of its matrix.
func lastCosines(records []report.Record) []float64 {
	for i := len(records) - 1; i >= 0; i-- {
		counts := records[i].Lists[report.CosineHistogram]
		if total := floats.Sum(counts); total > 0 {
			density := slices.Clone(counts)
			floats.Scale(float64(len(counts))/2/total, density)
			return density
		}
	}
	return nil
}

// shown are the bins outside which nobody would see a density.
func shown(density []float64) (from, to int) {
	limit := 0.002 * floats.Max(density)
	from, to = 0, len(density)
	for from < to-1 && density[from] < limit {
		from++
	}
	for to-1 > from && density[to-1] < limit {
		to--
	}
	return from, to
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

// upTo are n numbers from start on, step apart.
func upTo(n int, start, step float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = start + float64(i)*step
	}
	return all
}

// byFrequencyOfWords are F1 and loss by training frequency, and norm and mean cosine of rows by frequency rank.
func (c *comparison) byFrequencyOfWords() (all []*chart.Chart) {
	var buckets []string
	for _, b := range score.FrequencyBuckets() {
		buckets = append(buckets, b.Name())
	}
	for _, text := range tests(c.control().runs) {
		drawn := &chart.Chart{Title: "F1 of words by training frequency, " + text, X: chart.Axis{Label: "times in the training text", Names: buckets}, Y: chart.Axis{Label: "F1", Zero: true}}
		c.lines(drawn, func(t *trained) (values []float64) {
			f1 := t.results.Test[text].F1
			for _, b := range buckets {
				if len(f1) > 0 {
					values = append(values, f1[b].Value())
				}
			}
			return values
		})
		if !drawn.Empty() {
			all = append(all, drawn)
		}
		if drawn := c.lossByFrequency(text); !drawn.Empty() {
			all = append(all, drawn)
		}
	}
	rank := chart.Axis{Label: "frequency rank", Log: true}
	norm := &chart.Chart{Title: "Norm of rows by frequency", X: rank, Y: chart.Axis{Label: "mean norm", Zero: true}}
	cosine := &chart.Chart{Title: "Mean cosine with all other rows, by frequency", X: rank, Y: chart.Axis{Label: "mean cosine"}}
	for k, r := range c.rows {
		p := c.picture(r)
		if p == nil {
			continue
		}
		norm.Add(chart.Series{Name: r.name, Hue: k, X: p.Ranks, Y: p.Norms})
		cosine.Add(chart.Series{Name: r.name, Hue: k, X: p.Ranks, Y: p.Cosines})
	}
	for _, drawn := range []*chart.Chart{norm, cosine} {
		if !drawn.Empty() {
			all = append(all, drawn)
		}
	}
	return all
}

// worthDrawing is how many words a mean loss is drawn of at least: chance moves that of fewer further than methods do.
const worthDrawing = 100

// lossByFrequency is how far the loss of a language model lies above that of the control with the same seed, for words of a test text by
// how often training has them.
func (c *comparison) lossByFrequency(text string) *chart.Chart {
	drawn := &chart.Chart{Title: "Loss less that of " + c.control().name + " by training frequency, " + text, X: chart.Axis{Label: "times in the training text"}, Y: chart.Axis{Label: "nats a token"}}
	control := c.opened[c.control().runs[0]]
	if control.byFrequency(text) == nil {
		return drawn
	}
	var there []int
	for i, b := range score.FrequencyBuckets() {
		if control.Buckets[text][i].Tokens >= worthDrawing {
			there, drawn.X.Names = append(there, i), append(drawn.X.Names, b.Name())
		}
	}
	c.lines(drawn, func(t *trained) (values []float64) {
		losses, other := c.opened[t].byFrequency(text), []float64(nil)
		if same := c.control().seed(t.results.Seed); same != nil {
			other = c.opened[same].byFrequency(text)
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
		drawn.Add(chart.Series{Name: r.name, Hue: k, X: upTo(len(mean), 0, 1), Y: mean, Low: low, High: high})
	}
}

// picture is that of a row's first run, whose seed stands for the others; nil where its model was not opened.
func (c *comparison) picture(r *row) *picture {
	if o := c.opened[r.runs[0]]; o != nil {
		return o.Picture
	}
	return nil
}

// classColours go from dark, frequent words to light, rare ones.
var classColours = []string{"#000000", "#5a0f6e", "#bc3754", "#f98e09", "#96cdbe"}

// projections are the words of each row's matrix in the plane of its two leading directions, as they are and centred.
func (c *comparison) projections() (all []*chart.Chart) {
	for _, r := range c.rows {
		p := c.picture(r)
		if p == nil {
			continue
		}
		for _, kind := range []struct {
			name string
			of   projection
		}{{"as it is", p.Plain}, {"centred", p.Centred}} {
			drawn := &chart.Chart{Title: r.name + ", " + kind.name, Width: 320, Height: 300, Square: true,
				X: chart.Axis{Label: fmt.Sprintf("first direction, %.1f %% of the squares", 100*kind.of.Shares[0])},
				Y: chart.Axis{Label: fmt.Sprintf("second, %.1f %%", 100*kind.of.Shares[1])}}
			for class := len(classColours) - 1; class >= 0; class-- {
				dots := chart.Series{Hue: -1, Name: fmt.Sprintf("ranks from 10^%d", class), Kind: chart.Dots, Colour: classColours[class], Size: 1.4}
				for i, member := range kind.of.Class {
					if min(member, len(classColours)-1) == class {
						dots.X, dots.Y = append(dots.X, kind.of.X[i]), append(dots.Y, kind.of.Y[i])
					}
				}
				drawn.Add(dots)
			}
			drawn.Add(chart.Series{Hue: -1, Name: "the zero vector", Kind: chart.Dots, Colour: "#56b4e9", Size: 4, X: []float64{0}, Y: []float64{0}})
			all = append(all, drawn)
		}
	}
	return all
}
