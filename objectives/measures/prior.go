package measures

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/objectives"
)

// FitPrior is the prior of a kind that is nearest to falling singular values, by least squares of their logarithms, so
// that a trained baseline can say what the spectrum of its like should be; spread is the root mean square of what is
// left. Values that are not positive are left out. Two tell a polynomial prior, which has two constants, and four an
// exponential one, which has three; from fewer none comes, and spread is NaN. The power of an exponential prior is at
// least 0.1: below that the prior is a power law in all but name, and its scale, the value at rank 0, grows without
// limit.
func FitPrior(kind objectives.PriorKind, falling []float64) (p objectives.Prior, spread float64) {
	var ranks, logs []float64
	for i, s := range falling {
		if s > 0 {
			ranks, logs = append(ranks, float64(i+1)), append(logs, math.Log(s))
		}
	}
	if len(logs) < 2 || kind == objectives.Exponential && len(logs) < 4 {
		return objectives.Prior{Kind: kind}, math.NaN()
	}
	// A line over what the kind makes of ranks.
	line := func(of func(rank float64) float64) (start, slope, spread float64) {
		x := make([]float64, len(ranks))
		for i, rank := range ranks {
			x[i] = of(rank)
		}
		start, slope = stat.LinearRegression(x, logs, nil, false)
		for i := range x {
			spread += math.Pow(logs[i]-start-slope*x[i], 2)
		}
		return start, slope, math.Sqrt(spread / float64(len(x)))
	}
	if kind == objectives.Polynomial {
		start, slope, spread := line(math.Log)
		power := max(0, -slope) // values that are all equal may seem to rise by a rounding error
		return objectives.Prior{Kind: kind, Scale: math.Exp(start), Power: power,
			Ratio: math.Pow(float64(len(falling)), -power)}, spread
	}
	spread = math.Inf(1)
	for i := 10; i <= 200; i++ {
		power := 0.01 * float64(i)
		start, slope, left := line(func(rank float64) float64 { return math.Pow(rank, power) })
		if left < spread {
			last := math.Pow(float64(len(falling)), power)
			p, spread = objectives.Prior{Kind: kind, Scale: math.Exp(start), Power: power,
				Ratio: min(1, math.Exp(slope*(last-1)))}, left
		}
	}
	return p, spread
}
