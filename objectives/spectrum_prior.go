package objectives

import (
	"math"

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
	// Frobenius norm, in units of the one that a dense matrix is expected to start with, where Scale is 0; 0 is 1
	Norm  float64
	Rate  float64 // c2, exponential only; 0 derives it from Ratio
	Power float64 // gamma; 0 is exponentialPower, and derives that of a polynomial from Ratio
	Ratio float64 // smallest over largest value, where neither Rate nor a polynomial's Power gives it
}

// exponentialPower is gamma of an exponential prior that gives none. Theorem 4.1 of the paper, a bound of the loss on
// new text, holds for both kinds where gamma is above 1/2. That is a condition and no setting: the paper publishes
// none. Over 512 values a polynomial with a power of 1/2 falls to 1/23 of its first value, one with 0.75 to 1/108.
const exponentialPower = 0.75

// Values gives the k prior values. Energy is the sum of their squares where Scale is 0 and Norm 1.
func (p Prior) Values(k int, energy float64) []float64 {
	rate, power := p.Rate, p.Power
	switch {
	case power != 0:
	case p.Kind == Exponential:
		power = exponentialPower
	case k > 1:
		power = -math.Log(p.Ratio) / math.Log(float64(k))
	}
	if p.Kind == Exponential && rate == 0 && k > 1 {
		rate = -math.Log(p.Ratio) / (math.Pow(float64(k), power) - 1)
	}
	logs := make([]float64, k)
	for i := range logs {
		rank := float64(i + 1)
		if p.Kind == Exponential {
			logs[i] = -rate * math.Pow(rank, power)
		} else {
			logs[i] = -power * math.Log(rank)
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

// SpectrumPrior pulls the singular values towards a prior: Weight sum_k (s_k - prior_k)^2, the paper's one-sided
// constraint made a two-sided penalty, as there. Cost: nothing that could be measured.
type SpectrumPrior struct {
	negligible
	Prior
	Weight float64

	s, values torch.Tensor // [K]
}

// Init computes the prior's values.
func (r *SpectrumPrior) Init(e Embedding, p Config) error {
	f, err := factored(e, "a prior of the spectrum")
	if err != nil {
		return err
	}
	k := f.s.Size(0)
	r.s = f.s
	scope := torch.OpenScope()
	defer scope.Close()
	r.values = torch.FromFloat64s(r.Values(int(k), f.energy), torch.CPU, k).To(p.dtype(), p.Device)
	p.keep(r.values)
	return nil
}

// Name is "prior".
func (r *SpectrumPrior) Name() string { return "prior" }

// Penalty is the weighted squared distance.
func (r *SpectrumPrior) Penalty() torch.Tensor {
	return r.s.Sub(r.values).Square().Sum().MulScalar(r.Weight)
}
