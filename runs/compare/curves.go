package main

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// course is a number of a split by update.
func (t *trained) course(split, name string) map[float64]float64 {
	at := map[float64]float64{}
	for _, line := range t.records {
		if x := line.Value(name); line.Split == split && !math.IsNaN(x) {
			at[float64(line.Step)] = x
		}
	}
	return at
}

// curve is a number of a split over the updates, where all runs of a row have it; less that of the runs of less with
// the same seed, unless less is nil.
func (r *row) curve(split, name string, less *row) (drawn chart.Series) {
	at, seeds := map[float64][]float64{}, 0
	for _, t := range r.runs {
		var others map[float64]float64
		if less != nil {
			same := less.seed(t.results.Seed)
			if same == nil {
				continue
			}
			others = same.course(split, name)
		}
		seeds++
		for step, x := range t.course(split, name) {
			if other, has := others[step]; has || less == nil {
				at[step] = append(at[step], x-other)
			}
		}
	}
	var columns [][]float64
	for _, step := range slices.Sorted(maps.Keys(at)) {
		if len(at[step]) >= seeds {
			drawn.X, columns = append(drawn.X, step), append(columns, at[step])
		}
	}
	return r.spread(drawn, columns)
}

// spread completes a line by the means of columns, and a band of their range where there are several seeds.
func (r *row) spread(s chart.Series, columns [][]float64) chart.Series {
	s.Name = r.name
	for _, column := range columns {
		s.Y = append(s.Y, stat.Mean(column, nil))
		if len(r.runs) > 1 {
			s.Low, s.High = append(s.Low, floats.Min(column)), append(s.High, floats.Max(column))
		}
	}
	return s.Numbered(r.hue)
}

// newChart is an empty chart of the rows, which says what its bands are.
func newChart(title, x, y string) *chart.Chart {
	c := chart.New(title, x, y)
	c.Bands = "lines: means over seeds; bands: their range"
	return c
}

// secondsAt are the mean seconds of training after numbers of updates.
func (r *row) secondsAt(steps []float64) []float64 {
	each := 0.0
	for _, t := range r.runs {
		each += t.seconds(1) / float64(len(r.runs))
	}
	all := slices.Clone(steps)
	floats.Scale(each, all)
	return all
}

// courses are loss, perplexity and BLEU by update and by time, and how far loss and BLEU of validation differ from the
// control's, whose lines they would cover.
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
		byUpdate := newChart(kind.title+" by update", "updates", kind.unit)
		byUpdate.X.Reach, byUpdate.Y.Log = []float64{0}, kind.log
		if kind.name == report.BLEU {
			byUpdate.Y.Reach = []float64{0, score.NearZero} // so that a score near zero looks like one
		}
		byTime := newChart(kind.title+" by time", "seconds of training", kind.unit)
		byTime.X.Reach, byTime.Y = byUpdate.X.Reach, byUpdate.Y
		less := newChart(kind.title+" less that of "+c.control().name+" with the same seed", "updates", kind.unit)
		for _, r := range c.rows {
			if kind.name == report.Loss && c.control().runs[0].probabilistic() != r.runs[0].probabilistic() {
				continue // a density's loss is on another scale
			}
			curve := r.curve(kind.split, kind.name, nil)
			byUpdate.Add(curve)
			curve.X = r.secondsAt(curve.X)
			byTime.Add(curve)
			if kind.split == report.SplitValid && !kind.log {
				less.Add(r.curve(kind.split, kind.name, c.control()))
			}
		}
		all = append(all, chart.Drawn(byUpdate, less, byTime)...)
	}
	return all
}

// spectra are the singular values of the output matrices, all of them scaled to one Frobenius norm, and the cosines of
// their rows at a run's last measure.
func (c *comparison) spectra() []*chart.Chart {
	values := newChart("Singular values at equal Frobenius norm", "rank", "share of the norm")
	cosines := chart.New("Cosine between two rows", "cosine", "density")
	values.Y.Log, cosines.Y.Reach = true, []float64{0}
	c.lines(values, 1, func(t *trained) (falling []float64) {
		for _, s := range t.results.SingularValues {
			falling = append(falling, s.Value())
		}
		return scaled(falling, floats.Norm(falling, 2))
	})
	c.densities(cosines, -1, 1, func(t *trained) []float64 {
		for _, r := range slices.Backward(t.records) {
			counts := r.Lists[report.CosineHistogram]
			if shares := scaled(counts, floats.Sum(counts)); shares != nil {
				return shares
			}
		}
		return nil
	})
	return chart.Drawn(values, cosines)
}

// scaled are values over their size; nil where that is not above 0.
func scaled(values []float64, size float64) []float64 {
	if !(size > 0) {
		return nil
	}
	return floats.ScaleTo(make([]float64, len(values)), 1/size, values)
}

// pointsOf are what a row's matrix is as a cloud of points: distances to the nearest row, and the variance along
// principal components.
func (c *comparison) pointsOf() []*chart.Chart {
	nearest := chart.New("Distance to the nearest row", "distance / root mean square of the norms", "density")
	variance := newChart("Variance along the first principal components", "components", "share")
	nearest.Y.Reach, variance.Y.Reach = []float64{0}, []float64{0}
	c.densities(nearest, 0, 2, func(t *trained) []float64 {
		if t.model == nil {
			return nil
		}
		return t.model.Curves.Nearest
	})
	c.lines(variance, 1, func(t *trained) []float64 {
		if t.model == nil || t.model.Curves.Nearest == nil {
			return nil
		}
		return floats.CumSum(make([]float64, len(t.model.Curves.Variances)), t.model.Curves.Variances)
	})
	return chart.Drawn(nearest, variance)
}

// columns are what values gives for the runs of a row, place by place; runs that it gives none for are left out, and
// where lists have several lengths, there are no columns.
func (r *row) columns(values func(t *trained) []float64) (columns [][]float64) {
	for _, t := range r.runs {
		list := values(t)
		if list == nil {
			continue
		}
		if columns == nil {
			columns = make([][]float64, len(list))
		}
		if len(list) != len(columns) {
			return nil
		}
		for i, x := range list {
			columns[i] = append(columns[i], x)
		}
	}
	return columns
}

// lines draws a line for each row, from first on.
func (c *comparison) lines(drawn *chart.Chart, first float64, values func(t *trained) []float64) {
	for _, r := range c.rows {
		columns := r.columns(values)
		drawn.Add(r.spread(chart.Series{X: chart.Steps(len(columns), first, 1)}, columns))
	}
}

// densities draws the mean of a density in bins from low to high for each row.
func (c *comparison) densities(drawn *chart.Chart, low, high float64, values func(t *trained) []float64) {
	for _, r := range c.rows {
		mean := r.spread(chart.Series{}, r.columns(values)).Y
		drawn.Add(chart.Density(r.name, mean, low, high).Numbered(r.hue))
	}
}

// byFrequencyOfWords are F1 and loss by training frequency, and norm and mean cosine of rows by frequency rank.
func (c *comparison) byFrequencyOfWords() (all []*chart.Chart) {
	var buckets []string
	for _, b := range score.FrequencyBuckets() {
		buckets = append(buckets, b.Name())
	}
	for _, text := range tests(c.control().runs) {
		drawn := newChart("F1 of words by training frequency, "+text, "times in the training text", "F1")
		drawn.X.Places, drawn.Y.Reach = buckets, []float64{0}
		f1 := func(t *trained) (values []float64) {
			of := t.results.Test[text].F1
			for _, b := range buckets {
				if len(of) > 0 {
					values = append(values, of[b].Value())
				}
			}
			return values
		}
		c.lines(drawn, 0, f1)
		less := newChart("F1 of words less that of "+c.control().name+" by training frequency, "+text,
			drawn.X.Label, drawn.Y.Label)
		less.X.Places = buckets
		c.lines(less, 0, c.lessControl(f1))
		all = append(all, chart.Drawn(drawn, less, c.lossByFrequency(text))...)
	}
	norm := chart.New("Norm of rows by frequency", "frequency rank", "mean norm")
	cosine := chart.New("Mean cosine with all other rows, by frequency", "frequency rank", "mean cosine")
	norm.X.Log, norm.Y.Reach, cosine.X.Log = true, []float64{0}, true
	for _, r := range c.rows {
		if model := r.runs[0].model; model != nil {
			p := model.Picture
			norm.Add(chart.Series{Name: r.name, X: p.Ranks, Y: p.Norms}.Numbered(r.hue))
			cosine.Add(chart.Series{Name: r.name, X: p.Ranks, Y: p.Cosines}.Numbered(r.hue))
		}
	}
	return append(all, chart.Drawn(norm, cosine)...)
}

// worthDrawing is how many words a mean loss is drawn of at least: chance moves that of fewer further than methods do.
const worthDrawing = 100

// lossByFrequency is how far the loss of a language model lies above that of the control with the same seed, for words
// of a test text by how often training has them.
func (c *comparison) lossByFrequency(text string) *chart.Chart {
	drawn := newChart("Loss less that of "+c.control().name+" by training frequency, "+text,
		"times in the training text", "nats a token")
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
	c.lines(drawn, 0, c.lessControl(func(t *trained) (values []float64) {
		if losses := t.lossByFrequency(text); losses != nil {
			for _, i := range there {
				values = append(values, losses[i])
			}
		}
		return values
	}))
	return drawn
}

// lessControl is what values gives for a run less what it gives for the control's with the same seed; nil where one of
// them has none.
func (c *comparison) lessControl(values func(t *trained) []float64) func(t *trained) []float64 {
	return func(t *trained) []float64 {
		same := c.control().seed(t.results.Seed)
		if same == nil {
			return nil
		}
		own, other := values(t), values(same)
		if len(own) != len(other) || own == nil {
			return nil
		}
		return floats.SubTo(make([]float64, len(own)), own, other)
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
