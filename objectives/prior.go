package objectives

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/torch"
)

// PriorKind is a family of falling spectra.
type PriorKind int

// The two families of Wang et al. (2020); k = 1..K numbers the singular values.
const (
	Exponential PriorKind = iota // c1 exp(-c2 k^gamma)
	Polynomial                   // c1 k^-gamma
)

// Prior says how singular values should fall with their rank.
type Prior struct {
	Kind  PriorKind
	Scale float64 // c1; 0 goes by Norm
	Norm  float64 // Frobenius norm, in units of the one that a dense matrix is expected to start with, where Scale is 0; 0 is 1
	Rate  float64 // c2, exponential only; 0 derives it from Ratio
	Power float64 // gamma; the paper's theory wants more than 1/2
	Ratio float64 // smallest over largest value, exponential only, where Rate is 0
}

// Values gives the k prior values. Energy is the sum of their squares where
// Scale is 0 and Norm 1.
func (p Prior) Values(k int, energy float64) []float64 {
	rate := p.Rate
	if p.Kind == Exponential && rate == 0 && k > 1 {
		rate = -math.Log(p.Ratio) / (math.Pow(float64(k), p.Power) - 1)
	}
	logs := make([]float64, k)
	for i := range logs {
		rank := float64(i + 1)
		if p.Kind == Exponential {
			logs[i] = -rate * math.Pow(rank, p.Power)
		} else {
			logs[i] = -p.Power * math.Log(rank)
		}
	}
	// The first value is the largest: sums relative to it neither overflow nor vanish.
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(2 * (l - logs[0]))
	}
	scale := math.Sqrt(energy/sum) * math.Exp(-logs[0])
	switch {
	case p.Scale > 0:
		scale = p.Scale
	case p.Norm > 0:
		scale *= p.Norm
	}
	values := make([]float64, k)
	for i, l := range logs {
		values[i] = scale * math.Exp(l)
	}
	return values
}

// FitPrior is the prior of a kind that is nearest to falling singular values, by least
// squares of their logarithms, so that a trained baseline can say what the spectrum of
// its like should be; spread is the root mean square of what is left. Values that are not
// positive are left out; from fewer than two no prior comes, and spread is NaN.
func FitPrior(kind PriorKind, falling []float64) (p Prior, spread float64) {
	var ranks, logs []float64
	for i, s := range falling {
		if s > 0 {
			ranks, logs = append(ranks, float64(i+1)), append(logs, math.Log(s))
		}
	}
	if len(logs) < 2 {
		return Prior{Kind: kind}, math.NaN()
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
	if kind == Polynomial {
		start, slope, spread := line(math.Log)
		return Prior{Kind: kind, Scale: math.Exp(start), Power: -slope}, spread
	}
	spread = math.Inf(1)
	for i := 1; i <= 200; i++ {
		power := 0.01 * float64(i)
		start, slope, left := line(func(rank float64) float64 { return math.Pow(rank, power) })
		if left < spread {
			last := math.Pow(float64(len(falling)), power)
			p, spread = Prior{Kind: kind, Scale: math.Exp(start), Power: power, Ratio: min(1, math.Exp(slope*(last-1)))}, left
		}
	}
	return p, spread
}

// SpectrumPrior pulls the singular values towards a prior:
// Weight sum_k (s_k - prior_k)^2, the paper's one-sided constraint made a
// two-sided penalty, as there. Cost: nothing that could be measured.
type SpectrumPrior struct {
	Prior
	Weight float64

	s, values torch.Tensor // [K]
}

// Init computes the prior's values.
func (r *SpectrumPrior) Init(e Embedding, p Place) error {
	f, err := factored(e, "a prior of the spectrum")
	if err != nil {
		return err
	}
	k := f.s.Size(0)
	r.s = f.s
	scope := torch.OpenScope()
	defer scope.Close()
	r.values = torch.FromFloat64s(r.Values(int(k), f.energy), torch.CPU, k).To(p.dtype(), p.Device)
	torch.Keep(r.values)
	return nil
}

// Name is "prior".
func (r *SpectrumPrior) Name() string { return "prior" }

// Penalty is the weighted squared distance.
func (r *SpectrumPrior) Penalty() torch.Tensor {
	return r.s.Sub(r.values).Square().Sum().MulScalar(r.Weight)
}

// Free frees the prior's values.
func (r *SpectrumPrior) Free() { torch.Free(r.values) }
