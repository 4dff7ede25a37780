package objectives

import "github.com/aperture-ml/aperture/torch"

// sn is spectral normalisation: the factors of spectrum control, held by other constraints.
var sn = Method{
	Name:       "sn",
	Summary:    "the factors of `spectrum`, with s divided by its largest value",
	Paper:      "Jiang et al. 2019",
	Formula:    "mle with W = U diag(s) V^T + lambda |U^T U - I|^2 + lambda |V^T V - I|^2, s <- s / max |s|",
	Parameters: "D^2 + D", Cost: "as spectrum",
	Settings: []any{FactorSettings{}, NormalisationSettings{}},
	Build:    spectralNormalisation,
}

// snDOptimal adds the penalty.
var snDOptimal = Method{
	Name:    "sn-doptimal",
	Summary: "`sn` with a penalty on small singular values",
	Paper:   "Jiang et al. 2019",
	Formula: "sn - rho mean_k log |s_k|", Parameters: "D^2 + D", Cost: "as spectrum",
	Settings: []any{FactorSettings{}, NormalisationSettings{}, DOptimalSettings{}},
	Build: func(s Settings, sgd bool) Pieces {
		p := spectralNormalisation(s, sgd)
		p.Regularizers = append(p.Regularizers, &DOptimal{Weight: Of[DOptimalSettings](s).LambdaDOptimal})
		return p
	},
}

// spectralNormalisation starts flat, as its authors do, whatever the start of spectrum control.
func spectralNormalisation(s Settings, sgd bool) Pieces {
	p := Pieces{Embedding: &Factored{Start: StartFlat, Gain: Of[NormalisationSettings](s).SNGain}}
	p.hold(Of[FactorSettings](s), sgd)
	p.Regularizers = append(p.Regularizers, &SpectralNormalisation{})
	return p
}

// NormalisationSettings are the keys of spectral normalisation, which reads those of the factors too.
type NormalisationSettings struct {
	SNGain bool `toml:"sn_gain" init:"keep" default:"true" help:"sn: multiply the output matrix, whose largest singular value is 1, by a trained number"`
}

// DOptimalSettings are the keys of the penalty on small singular values.
type DOptimalSettings struct {
	LambdaDOptimal float64 `toml:"lambda_d_optimal" default:"0.1" range:"[0,inf)" help:"sn-doptimal: weight of minus the mean logarithm of the singular values"`
}

// Spectral normalisation with or without D-optimal regularization (Jiang, Chen, Chen, Liu, Wang and Zhao 2019, "On
// computation and generalization of generative adversarial networks under spectrum control"), which Wang et al. (2020)
// compare spectrum control with: W = U diag(s) V^T starts with orthonormal U and V and every s_k = 1, the columns of U
// and V are held orthonormal, and
//
//	before every use of W      s <- s / max_k |s_k|
//	D-optimal, beside the loss rho (-mean_k log |s_k|)
//
// The normalisation is not differentiated. Stored values change at updates only, so it comes after each of them. The
// second line is, but for its factor, the logarithm of the determinant of W^T W; its least value under the first is at
// all s_k = 1. Rows of W then have a length of about sqrt(D/V), much less than those of a dense matrix; a trained gain,
// an option of [Factored], gives it back. Without it a Transformer learns next to nothing (docs/results/defaults.md).
//
// Departure: the authors take log s_k, which does not exist where an update made s_k negative. W has the singular value
// |s_k|, and values below dOptimalFloor count as that floor, without a gradient.

// SpectralNormalisation keeps the largest |s_k| at 1.
type SpectralNormalisation struct {
	negligible
	e *Factored
}

// Init needs a factored embedding.
func (r *SpectralNormalisation) Init(e Embedding, _ Config) (err error) {
	if r.e, err = factored(e, "spectral normalisation"); err != nil {
		return err
	}
	r.Constrain(0)
	return nil
}

// Constrain divides s by its largest size.
func (r *SpectralNormalisation) Constrain(float64) { normaliseLargest(r.e.s, torch.Tensor{}) }

// FixAverage does the same to averaged weights. Their gain, where there is one, takes what s loses, so that W stays.
func (r *SpectralNormalisation) FixAverage(weights map[string]torch.Tensor) {
	normaliseLargest(weights[r.e.name+".s"], weights[r.e.name+".gain"])
}

// normaliseLargest divides s by its largest size, and multiplies a gain, or the zero Tensor, by it.
func normaliseLargest(s, gain torch.Tensor) {
	torch.ScopedNoGrad(func() {
		largest := s.Abs().MaxDim(0, true).ClampMin(dOptimalFloor)
		if gain.Defined() {
			gain.Assign(gain.Mul(largest))
		}
		s.Assign(s.Div(largest))
	})
}

// DOptimal pays for small singular values: Weight (-mean_k log |s_k|). Cost: D logarithms per update.
type DOptimal struct {
	negligible
	Weight float64 // rho

	s torch.Tensor // [K]
}

// The smallest |s_k| that counts as more than 0.
const dOptimalFloor = 1e-6

// Init needs a factored embedding.
func (r *DOptimal) Init(e Embedding, _ Config) error {
	f, err := factored(e, "the D-optimal penalty")
	if err != nil {
		return err
	}
	r.s = f.s
	return nil
}

// Name is "d_optimal".
func (r *DOptimal) Name() string { return "d_optimal" }

// Penalty is the weighted mean; its gradient is -Weight / (K s_k).
func (r *DOptimal) Penalty() torch.Tensor {
	return r.s.Abs().ClampMin(dOptimalFloor).Log().Mean().MulScalar(-r.Weight)
}
