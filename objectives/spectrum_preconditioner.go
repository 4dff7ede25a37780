package objectives

import "github.com/aperture-ml/aperture/torch"

// Preconditioner lets SGD move W through V as far as through U. Where G is the gradient of W = U diag(s) V^T, an update
// at the rate eta changes W by
//
//	-eta c^2 G V diag(s^2) V^T   through the parameter U / c
//	-eta U diag(s^2) U^T G       through V,
//
// where c^2 s^2 is about 1, so that U moves as a dense matrix would, and s^2 is about 33 for Penn Treebank and 111 for
// WikiText-2: V's gradient would use up the norm to which all are clipped. So column k of V's gradient, penalties
// included, is divided by s_k^2, or by the mean of all s^2 where that is larger, since a small singular value would
// otherwise turn V far. U's is divided by the mean of c^2 s^2 where that is above 1: where W has grown beyond a dense
// matrix at its start. Rows that are scored beside those of U, an adaptive softmax's clusters, go through s and V as
// these do, and theirs is divided by the same. Under Adam, which scales every element by itself, this would change
// nothing. The cost is too small to measure; docs/results/spectrum.md compares training with it and without.
type Preconditioner struct {
	negligible
	e      *Factored
	beside []torch.Tensor // what is scored as U's rows are
}

// Init needs a factored embedding, whose singular values it reads.
func (r *Preconditioner) Init(e Embedding, p Config) (err error) {
	r.e, err = factored(e, "the preconditioner of SGD")
	r.beside = p.kept.beside(p.Params.Map())
	return err
}

// TransformGradients scales those of U, of rows beside its own, and of V.
func (r *Preconditioner) TransformGradients() {
	torch.NoGrad(func() {
		ofU, ofV := r.e.divisors()
		for _, rows := range append([]torch.Tensor{r.e.u}, r.beside...) {
			if g := rows.Grad(); g.Defined() {
				g.Assign(g.Div(ofU))
			}
		}
		if g := r.e.v.Grad(); g.Defined() {
			g.Assign(g.Div(ofV))
		}
	})
}

// divisors are what SGD divides the gradient of U's rows by, a scalar, and the columns of V's, [K].
func (e *Factored) divisors() (ofU, ofV torch.Tensor) {
	square := e.factors().Square() // of c s
	return square.Mean().ClampMin(1), square.Maximum(square.Mean()).MulScalar(1 / (e.c * e.c)).ClampMin(1e-30)
}
