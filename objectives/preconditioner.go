package objectives

import "github.com/aperture-ml/aperture/torch"

// Preconditioner lets plain gradient descent move W through V as far as through U. Where G
// is the gradient of W = U diag(s) V^T, an update at the rate eta changes W by
//
//	-eta c^2 G V diag(s^2) V^T   through the parameter U / c
//	-eta U diag(s^2) U^T G       through V,
//
// where c^2 s^2 is about 1, D times the variance of a dense matrix's elements, so
// that U moves as a dense matrix would, and s^2 is V times that variance, 33 for
// Penn Treebank and 111 for WikiText-2: a rate of 30 becomes one of thousands, and
// V's gradient uses up the norm that clipping leaves to all. So column k of V's
// gradient, penalties included, is divided by the present s_k^2, or by the mean of
// these where that is larger: small singular values would otherwise have V turn
// far. Where W has become larger than a dense matrix at its start, and c^2 s^2 more than 1
// on the mean, U's gradient is divided by that mean, for the same reason. To Adam the
// factors would mean nothing. Cost: nothing that could be measured.
//
// What it is worth stands among the results beside [Retraction].
type Preconditioner struct{ e *Factored }

// Init needs a factored embedding, whose singular values it reads.
func (r *Preconditioner) Init(e Embedding, _ Place) (err error) {
	r.e, err = factored(e, "the preconditioner of plain gradient descent")
	return err
}

// TransformGradients scales those of U and V.
func (r *Preconditioner) TransformGradients() {
	torch.NoGrad(func() {
		ofU, ofV := r.e.divisors()
		if g := r.e.u.Grad(); g.Defined() {
			g.Assign(g.Div(ofU))
		}
		if g := r.e.v.Grad(); g.Defined() {
			g.Assign(g.Div(ofV))
		}
	})
}

// divisors are what plain gradient descent divides U's gradient by, a scalar, and the
// columns of V's, [K].
func (e *Factored) divisors() (ofU, ofV torch.Tensor) {
	square := e.factors().Square() // of c s
	return square.Mean().ClampMin(1), square.Maximum(square.Mean()).MulScalar(1 / (e.c * e.c)).ClampMin(1e-30)
}
