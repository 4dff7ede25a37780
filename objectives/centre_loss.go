package objectives

import (
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// centreLoss is the method: a penalty.
var centreLoss = Method{
	Name:    "centre-loss",
	Summary: "adds the squared length of the mean word vector as a penalty",
	Paper:   "Stollenwerk et al. 2026",
	Formula: "mle + centre_gamma |mu|^2, mu = 1/V sum_j w_j", Parameters: "none", Cost: "one pass over W per update",
	Settings: []any{CentreLossSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		return Pieces{Regularizers: []Regularizer{&CentreLoss{Gamma: Of[CentreLossSettings](s).CentreGamma}}}
	},
}

// CentreLossSettings are the keys of the penalty on the mean word vector.
type CentreLossSettings struct {
	CentreGamma float64 `toml:"centre_gamma" default:"1e-4" range:"[0,inf)" help:"centre-loss: weight of the squared length of the mean word vector"`
}

// CentreLoss is mu-loss (Stollenwerk, Lokrantz and Hertzberg 2026, "Output embedding centering for stable LLM
// pretraining"), a penalty that does softly what [Centre] does at once:
//
//	gamma |mu|^2,  mu = 1/V sum_j w_j
//
// The authors' program has gamma = 1e-4, the default. All V rows count. A factored W = U diag(s) V^T has the mean V (s
// * mean of U).
type CentreLoss struct {
	Gamma float64

	negligible
	mean func() torch.Tensor // mu, [D]
}

// Init takes the parameters of a dense or factored embedding.
func (r *CentreLoss) Init(e Embedding, _ Config) error {
	switch e := e.(type) {
	case *Dense:
		r.mean = func() torch.Tensor { return e.weight.MeanDim(0, false) }
	case *Factored:
		r.mean = func() torch.Tensor {
			return e.u.MeanDim(0, true).Mul(e.factors()).MatMul(e.v.Transpose(0, 1))
		}
	default:
		return errors.New("the mean word vector is a penalty of matrices that are trained, and there is none")
	}
	return nil
}

// Name is "centre_penalty".
func (r *CentreLoss) Name() string { return "centre_penalty" }

// Penalty is gamma |mu|^2.
func (r *CentreLoss) Penalty() torch.Tensor { return r.mean().Square().Sum().MulScalar(r.Gamma) }
