package significance

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/aperture-ml/aperture/tokenize/score"
)

// Contrast is a row's difference to the control.
type Contrast struct {
	Estimate  float64 // the row's mean less the control's
	Error     float64 // standard error
	Freedom   float64 // degrees of freedom of the error
	Low, High float64 // interval at the level asked for
	P         float64 // two-sided: whether the true difference is 0
}

// Fit is a linear model of scores.
type Fit struct {
	Contrasts []Contrast // one a row; the control's has NaN
	Deviation float64    // of the residuals, pooled over rows; NaN without freedom
	Freedom   int
	Seeds     bool    // whether the model has a term for each seed
	ICC       float64 // intraclass correlation of seeds; NaN where fewer than two seeds have all rows
}

// Linear fits score = row + residual, or, where the intraclass correlation of seeds is above 0 beyond chance,
// score = row + seed + residual, by least squares. Chance is an F test at 0.05: with a lower bar, seeds would enter
// where they only seem to help, and few seeds would give too many false alarms. All rows share the residual's variance,
// so that a row whose few seeds happen to lie close together is not taken for a sure one. scores [rows][seeds] has NaN
// where a row lacks a seed; a row without any score has NaN for a contrast, and without the control's all have. The
// intervals have coverage 1 - level.
func Linear(scores [][]float64, control int, level float64) Fit {
	with, rows := scored(scores)
	fit := Fit{Deviation: math.NaN(), ICC: math.NaN()}
	if at := slices.Index(rows, control); at >= 0 {
		fit = linear(with, at, level)
	}
	contrasts := make([]Contrast, len(scores))
	for row := range contrasts {
		contrasts[row] = contrast(math.NaN(), math.NaN(), math.NaN(), level)
	}
	for i, c := range fit.Contrasts {
		contrasts[rows[i]] = c
	}
	fit.Contrasts = contrasts
	return fit
}

// scored leaves out the seeds, and the rows, that have no score at all; rows are the numbers of those that stay.
func scored(scores [][]float64) (with [][]float64, rows []int) {
	seeds := map[int]bool{}
	each(scores, func(row, seed int, _ float64) {
		seeds[seed] = true
		if len(rows) == 0 || rows[len(rows)-1] != row {
			rows = append(rows, row)
		}
	})
	for _, row := range rows {
		var values []float64
		for seed, x := range scores[row] {
			if seeds[seed] {
				values = append(values, x)
			}
		}
		with = append(with, values)
	}
	return with, rows
}

// linear is Linear where each row and each seed has a score.
func linear(scores [][]float64, control int, level float64) Fit {
	icc, p := intraclass(scores)
	fit := Fit{ICC: icc}
	if icc > 0 && p < 0.05 && fit.solve(scores, control, level, true) {
		return fit
	}
	fit.solve(scores, control, level, false)
	return fit
}

// solve fits by the normal equations. It fails where the terms cannot be told apart, as with seeds that no two rows
// share.
func (f *Fit) solve(scores [][]float64, control int, level float64, seeds bool) bool {
	rows, terms := len(scores), len(scores)
	if seeds {
		terms += len(scores[0]) - 1 // the first seed's effect is 0
	}
	products, moments := mat.NewSymDense(terms, nil), mat.NewVecDense(terms, nil)
	count := 0
	each(scores, func(row, seed int, x float64) {
		count++
		of := []int{row}
		if seeds && seed > 0 {
			of = append(of, rows+seed-1)
		}
		for i, a := range of {
			moments.SetVec(a, moments.AtVec(a)+x)
			for _, b := range of[i:] {
				products.SetSym(a, b, products.At(a, b)+1)
			}
		}
	})
	var factor mat.Cholesky
	var effects mat.VecDense
	if !factor.Factorize(products) || factor.Cond() > 1e12 || factor.SolveVecTo(&effects, moments) != nil {
		return false
	}
	f.Seeds, f.Freedom, f.Deviation = seeds, count-terms, math.NaN()
	squares, largest := 0.0, 0.0
	each(scores, func(row, seed int, x float64) {
		largest = max(largest, math.Abs(x))
		x -= effects.AtVec(row)
		if seeds && seed > 0 {
			x -= effects.AtVec(rows + seed - 1)
		}
		squares += x * x
	})
	// What rounding leaves of constants is no difference.
	exact := func(x float64) float64 {
		if math.Abs(x) <= 1e-12*largest {
			return 0
		}
		return x
	}
	if f.Freedom > 0 {
		f.Deviation = exact(math.Sqrt(squares / float64(f.Freedom)))
	}
	f.Contrasts = make([]Contrast, rows)
	for row := range scores {
		if row == control {
			f.Contrasts[row] = contrast(math.NaN(), math.NaN(), math.NaN(), level)
			continue
		}
		weights := mat.NewVecDense(terms, nil)
		weights.SetVec(row, 1)
		weights.SetVec(control, -1)
		var solved mat.VecDense
		if factor.SolveVecTo(&solved, weights) != nil {
			return false
		}
		estimate := exact(effects.AtVec(row) - effects.AtVec(control))
		f.Contrasts[row] = contrast(estimate, f.Deviation*math.Sqrt(mat.Dot(weights, &solved)), float64(f.Freedom),
			level)
	}
	return true
}

// each calls f with each score that is there.
func each(scores [][]float64, f func(row, seed int, score float64)) {
	for row := range scores {
		for seed, x := range scores[row] {
			if !math.IsNaN(x) {
				f(row, seed, x)
			}
		}
	}
}

// contrast is that of an estimate whose error has Student's distribution.
func contrast(estimate, err, freedom, level float64) Contrast {
	c := Contrast{estimate, err, freedom, math.NaN(), math.NaN(), math.NaN()}
	c.Low, c.High = c.Interval(level)
	switch {
	case math.IsNaN(c.Low):
	case err > 0:
		c.P = 2 * c.student().Survival(math.Abs(estimate/err))
	case estimate == 0:
		c.P = 1
	default:
		c.P = 0
	}
	return c
}

// Interval has coverage 1 - level; it is NaN where the error is not known.
func (c Contrast) Interval(level float64) (low, high float64) {
	switch {
	case math.IsNaN(c.Error) || c.Freedom < 1:
		return math.NaN(), math.NaN()
	case c.Error == 0:
		return c.Estimate, c.Estimate
	}
	half := c.student().Quantile(1-level/2) * c.Error
	return c.Estimate - half, c.Estimate + half
}

func (c Contrast) student() distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: c.Freedom} }

// intraclass is the intraclass correlation ICC(3,1) (Shrout and Fleiss 1979) of the seeds that all rows have: the part
// of the variance within rows that the seeds' means explain; p is that of the F test for it being 0.
func intraclass(scores [][]float64) (icc, p float64) {
	rows := float64(len(scores))
	var complete [][]float64 // by seed
	for seed := range scores[0] {
		var column []float64
		for _, row := range scores {
			column = append(column, row[seed])
		}
		if !math.IsNaN(stat.Mean(column, nil)) {
			complete = append(complete, column)
		}
	}
	seeds := float64(len(complete))
	if rows < 2 || seeds < 2 {
		return math.NaN(), math.NaN()
	}
	rowMeans, seedMeans := make([]float64, len(scores)), make([]float64, len(complete))
	for s, column := range complete {
		seedMeans[s] = stat.Mean(column, nil)
		for r, x := range column {
			rowMeans[r] += x / seeds
		}
	}
	mean := stat.Mean(seedMeans, nil)
	residual := 0.0
	for s, column := range complete {
		for r, x := range column {
			d := x - rowMeans[r] - seedMeans[s] + mean
			residual += d * d
		}
	}
	residual /= (rows - 1) * (seeds - 1)
	between := rows * stat.Variance(seedMeans, nil)
	if residual == 0 && between > 0 {
		return 1, 0 // F is infinite, of which gonum makes NaN
	}
	f := distuv.F{D1: seeds - 1, D2: (rows - 1) * (seeds - 1)}
	return (between - residual) / (between + (rows-1)*residual), f.Survival(between / residual)
}

// SeedsAndSentences is the mean difference of runs to those of a control, pair by pair, with an error that counts both
// the seeds and the sentences of the test text as drawn at random: another seed would make another model, and another
// text another score. With d_s the difference of seed s, S seeds, and variances over bootstrapped texts,
//
//	error^2 = Var_s(d_s)/S + S/(S-1) max(0, Var(mean_s d_s) - sum_s Var(d_s)/S^2)
//
// where the second term is what all seeds share of the sentences' part; what each seed has for itself is in the first
// one already. The freedom is Welch and Satterthwaite's. samples and seed: as in Bootstrap.
func SeedsAndSentences(control, system []score.Counted, samples int, seed uint64, level float64) Contrast {
	if samples == 0 {
		samples = score.DefaultSamples
	}
	if seed == 0 {
		seed = score.DefaultSeed
	}
	n := float64(len(control))
	differences, means := make([]float64, len(control)), make([]float64, samples)
	own := 0.0
	for s := range control {
		differences[s] = system[s].Score(nil).Score - control[s].Score(nil).Score
		base, _ := control[s].Resample(samples, seed) // the same texts for all
		other, _ := system[s].Resample(samples, seed)
		for i := range other {
			other[i] -= base[i]
			means[i] += other[i] / n
		}
		own += stat.Variance(other, nil) / (n * n)
	}
	if n < 2 {
		return contrast(stat.Mean(differences, nil), math.NaN(), 0, level)
	}
	seeds := stat.Variance(differences, nil) / n
	sentences := max(0, stat.Variance(means, nil)-own) * n / (n - 1)
	variance := seeds + sentences
	freedom := n - 1
	if variance > 0 {
		freedom = variance * variance / (seeds*seeds/(n-1) + sentences*sentences/float64(len(control[0].Counts)-1))
	}
	return contrast(stat.Mean(differences, nil), math.Sqrt(variance), freedom, level)
}
