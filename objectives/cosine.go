package objectives

import (
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// cosreg is the method: a penalty.
var cosreg = Method{
	Name:    "cosreg",
	Summary: "adds the mean cosine of all pairs of word vectors as a penalty",
	Paper:   "Gao et al. 2019",
	Formula: "mle + gamma / V^2 sum_{i != j} cos(w_i, w_j)", Parameters: "none",
	Cost:     "two passes over W per update; with a factored W 3 V D^2 multiplications",
	Settings: []any{CosineSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		if gamma := Of[CosineSettings](s).Gamma; gamma > 0 {
			return Pieces{Regularizers: []Regularizer{&Cosine{Gamma: gamma}}}
		}
		return Pieces{}
	},
}

// CosineSettings are the keys of MLE-CosReg.
type CosineSettings struct {
	Gamma float64 `toml:"gamma" default:"1.0" range:"[0,inf)" help:"cosreg: weight of the mean cosine"`
}

// Cosine is the penalty of MLE-CosReg (Gao, He, Tan, Qin, Wang and Liu 2019, "Representation degeneration problem in
// training natural language generation models"), the mean cosine between word vectors,
//
//	gamma / V^2 sum_{i != j} cos(w_i, w_j) = gamma / V^2 (|sum_i w_i/|w_i||^2 - R)
//
// (equation 6, and the identity of appendix B), where R counts the rows that are not zero. The sum of directions stands
// for all pairs, so it takes one pass over W [V,D] for the value and one for the gradient, which turns rows and leaves
// their lengths alone. For a factored W = U diag(s) V^T the same comes from U and the metric of its coordinates, in
// three products of V D^2 per update; W is not made.
//
// The paper sums over the whole vocabulary and does not say whether special symbols are part of it. Here all rows
// count. The padding's row is zero at the start and pays nothing as long as it is.
type Cosine struct {
	Gamma float64 // 1 in the paper

	penalty  func() torch.Tensor
	factored *Factored // or nil
}

// Init takes the parameters of a dense or factored embedding.
func (r *Cosine) Init(e Embedding, p Config) error {
	switch e := e.(type) {
	case *Dense:
		r.penalty = func() torch.Tensor { return torch.CosinePenalty(e.weight, r.Gamma) }
	case *Factored:
		r.factored = e
		// U is known up to its factor c, which turns no row.
		r.penalty = func() torch.Tensor { return torch.CosinePenaltyFactored(e.u, e.s, e.v, r.Gamma) }
	default:
		return errors.New("the mean cosine is a penalty of matrices that are trained, and there is none")
	}
	return nil
}

// Name is "mean_cosine_penalty".
func (r *Cosine) Name() string { return "mean_cosine_penalty" }

// Penalty is gamma times the mean cosine.
func (r *Cosine) Penalty() torch.Tensor { return r.penalty() }

// Operations are, for a factored W alone, the three products with U.
func (r *Cosine) Operations(Work) torch.Operations {
	if r.factored == nil {
		return torch.Operations{}
	}
	return torch.ProductOperations(r.factored.u.Size(0), r.factored.u.Size(1), r.factored.u.Size(1))
}
