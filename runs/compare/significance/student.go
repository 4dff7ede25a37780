package significance

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// T is a paired test of Student's: whether the mean of differences is 0.
type T struct {
	N         int     // differences
	Mean      float64 // of the differences; NaN without any
	Deviation float64 // of the sample of differences; NaN with fewer than two
	Low, High float64 // 95 % interval of the mean; NaN with fewer than two
	P         float64 // two-sided; NaN with fewer than two
}

// PairedT tests differences that are independent of each other, one for each seed or for each block of a text. Where
// all are the same, p is 0, or 1 if they are 0.
func PairedT(differences []float64) T {
	t := T{N: len(differences), Mean: math.NaN(), Deviation: math.NaN(), Low: math.NaN(), High: math.NaN(),
		P: math.NaN()}
	if t.N == 0 {
		return t
	}
	mean, deviation := stat.MeanStdDev(differences, nil)
	t.Mean = mean
	if t.N < 2 {
		return t
	}
	t.Deviation = deviation
	c := contrast(mean, stat.StdErr(deviation, float64(t.N)), float64(t.N-1), 0.05)
	t.Low, t.High, t.P = c.Low, c.High, c.P
	return t
}

// Detectable is the true difference for which a t test gives a p below level in the share power of all experiments,
// where the difference's standard error, which the test estimates with freedom degrees of freedom, is err; NaN without
// freedom.
func Detectable(err, freedom, level, power float64) float64 {
	if !(freedom >= 1) || math.IsNaN(err) {
		return math.NaN()
	}
	return found(freedom, level, power) * err
}

// Seeds is the number of seeds that each of a number of rows needs for Linear to find a true difference of two rows in
// the share power of all experiments, where residuals lie as those of a fit, with terms for seeds if it has them; 0 where
// more than 100,000 are needed.
func Seeds(difference float64, fit Fit, rows int, level, power float64) int {
	free := rows
	if fit.Seeds {
		free--
	}
	detects := func(n int) bool {
		return found(float64(free*(n-1)), level, power)*fit.Deviation*math.Sqrt(2/float64(n)) <= math.Abs(difference)
	}
	const most = 100_000
	n := 2 + sort.Search(most-1, func(i int) bool { return detects(i + 2) })
	if n > most {
		return 0
	}
	return n
}

// found is the mean, in standard errors, that a two-sided t test at the given level finds in the share power of all
// experiments. The power of the test is that of the noncentral t distribution, here averaged over the chi-squared
// distribution of the sample's variance.
func found(freedom, level, power float64) float64 {
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(1 - level/2)
	const points = 2000 // equally probable sample variances: the result is right to four digits
	thresholds := make([]float64, points)
	for i := range thresholds {
		variance := distuv.ChiSquared{K: freedom}.Quantile((float64(i)+0.5)/points) / freedom
		thresholds[i] = critical * math.Sqrt(variance)
	}
	share := func(shift float64) (share float64) {
		for _, x := range thresholds {
			share += (distuv.UnitNormal.CDF(shift-x) + distuv.UnitNormal.CDF(-shift-x)) / points
		}
		return share
	}
	low, high := 0.0, 1.0
	for share(high) < power {
		low, high = high, 2*high
	}
	for high-low > 1e-6*high {
		if middle := (low + high) / 2; share(middle) < power {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// Holm corrects p values for there being several (Holm, 1979): each is the smallest level of the whole family at which
// its difference is significant. NaN stays, and does not count.
func Holm(ps []float64) []float64 {
	corrected, largest := slices.Clone(ps), 0.0
	for k, order := 0, rising(ps); k < len(order); k++ {
		largest = max(largest, min(1, ps[order[k]]*float64(len(order)-k)))
		corrected[order[k]] = largest
	}
	return corrected
}

// HolmLevels are the levels at which Holm's procedure tests each difference for a level of the whole family; from where
// it stops they stay the same. An interval of that level excludes 0 where Holm's p is at most the family's level, and
// nowhere else. NaN stays, and does not count.
func HolmLevels(ps []float64, level float64) []float64 {
	levels, left := slices.Clone(ps), 0
	order := rising(ps)
	for k, i := range order {
		if k == 0 || ps[order[k-1]] <= level/float64(left) {
			left = len(order) - k
		}
		levels[i] = level / float64(left)
	}
	return levels
}

// rising are the places of the numbers, the smallest first, without those of NaN.
func rising(xs []float64) (order []int) {
	for i, x := range xs {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	return order
}
