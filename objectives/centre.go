package objectives

import (
	"errors"

	"github.com/aperture-ml/aperture/torch"
)

// centre is the method: a constraint.
var centre = Method{
	Name:    "centre",
	Summary: "subtracts the mean word vector from every word vector after each update",
	Paper:   "Stollenwerk et al. 2026",
	Formula: "mle with w_j <- w_j - mu after each update, mu = 1/V sum_j w_j", Parameters: "none",
	Cost: "two passes over W per update",
	Build: func(Settings, bool) Pieces {
		return Pieces{Regularizers: []Regularizer{&Centre{}}}
	},
}

// Centre is mu-centering (Stollenwerk, Lokrantz and Hertzberg 2026, "Output embedding centering for stable LLM
// pretraining"): after every update
//
//	w_j <- w_j - mu,  mu = 1/V sum_j w_j
//
// A softmax does not change when all scores move by the same mu h, so what the output layer predicts stays the same; it
// keeps scores from drifting. The input of a tied model moves, as in the authors' program. Two passes over W.
//
// A factored W = U diag(s) V^T has the mean V (s * mean of U), so U is centred. Rows that an adaptive softmax scores
// beside those of W, its clusters, move by the same mu, so that its probabilities stay as well. All V rows count, the
// padding's too, since the softmax scores it. A transform of the scores, as softcap, sees the move, and so does
// mixtape: frequent words weigh its states by gates of their own, so that mu adds something else to the score of each.
type Centre struct {
	negligible
	matrix torch.Tensor   // W, or the parameter behind U
	beside []torch.Tensor // what is scored as its rows are
}

// Init takes the parameters of a dense or factored embedding.
func (r *Centre) Init(e Embedding, p Config) error {
	switch e := e.(type) {
	case *Dense:
		r.matrix = e.weight
	case *Factored:
		r.matrix = e.u
	default:
		return errors.New("centring changes a matrix that is trained, and there is none")
	}
	r.beside = p.kept.beside(p.Params.Map())
	return nil
}

// Constrain subtracts the mean.
func (r *Centre) Constrain(float64) {
	torch.ScopedNoGrad(func() {
		mean := r.matrix.MeanDim(0, true)
		for _, x := range append([]torch.Tensor{r.matrix}, r.beside...) {
			x.Assign(x.Sub(mean))
		}
	})
}
