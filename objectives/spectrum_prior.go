package objectives

import (
	"cmp"
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
	first, values := p.shape(k)
	for i, fall := range values {
		values[i] = math.Exp(fall)
	}
	scale := p.Scale * math.Exp(first)
	if p.Scale == 0 {
		// Over the first value, which is the largest, the sum neither overflows nor vanishes, whatever c2 is.
		sum := 0.0
		for _, v := range values {
			sum += v * v
		}
		scale = math.Sqrt(energy/sum) * cmp.Or(p.Norm, 1)
	}
	for i := range values {
		values[i] *= scale
	}
	return values
}

// shape gives the logarithms of the first of k values over c1, and of each over the first.
func (p Prior) shape(k int) (first float64, falls []float64) {
	power := p.Power
	if p.Kind == Exponential {
		power = cmp.Or(power, exponentialPower)
	} else if power == 0 && k > 1 {
		power = -math.Log(p.Ratio) / math.Log(float64(k))
	}
	rise := func(rank int) float64 { return math.Expm1(power * math.Log(float64(rank))) } // rank^gamma - 1
	falls = make([]float64, k)
	for i := range falls {
		switch {
		case p.Kind == Polynomial:
			falls[i] = -power * math.Log(float64(i+1))
		case p.Rate != 0:
			falls[i] = -p.Rate * rise(i+1)
		case k > 1:
			falls[i] = math.Log(p.Ratio) * (rise(i+1) / rise(k)) // c2 itself overflows where gamma is near 0
		}
	}
	if p.Kind == Exponential {
		first = -p.Rate
		if p.Rate == 0 && k > 1 {
			first = math.Log(p.Ratio) / rise(k)
		}
	}
	return first, falls
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
