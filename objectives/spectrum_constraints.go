package objectives

import (
	"errors"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// Constraints hold U, s and V of a factored embedding where penalties, which are summed into the loss, cannot. Those of
// Wang et al. (2020) have the curvature 8 lambda for each direction of U and V and 2 lambda for each s_k; plain SGD is
// stable below 2 over the learning rate. At a rate of 30 that is no published weight of the prior, and none of the
// others before [Preconditioner] scales the gradients of U and V. Where gradients are clipped, the penalties' take up
// the norm that the loss needs. Under Adam penalties serve as well as anything, and are the default; presets that train with SGD take
// proximal steps and 4 times the norm of an untrained dense matrix (docs/results/spectrum.md).

// Retraction puts U and V onto the nearest matrices with orthonormal columns after every Every-th update, and keeps out
// of their gradients what only leads away from these, which Adam's moments would accumulate. Cost: two products of V
// D^2 multiplications per update, two more at each retraction, and a decomposition of two D x D matrices.
//
// Adam's moments stay as they are: the nearest matrix differs from what Adam made by a symmetric factor near the
// identity, (U^T U)^(-1/2), so that columns keep their places and signs. A QR decomposition would turn later columns,
// and second moments, being of elements, could not be turned with them.
type Retraction struct {
	Every int

	e     *Factored
	count torch.Tensor // [1]: updates since the last retraction
}

// Init needs a factored embedding.
func (r *Retraction) Init(e Embedding, p Config) (err error) {
	if r.e, err = factored(e, "a retraction"); err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	r.count = torch.Zeros(torch.Float64, torch.CPU, 1)
	p.buffer(p.Embedding+".retraction_count", r.count)
	return nil
}

// TransformGradients takes from the gradients of U and V what would only lead away from the
// orthonormal matrices: with G that of X = c x, G - X (X^T G + G^T X) / 2 is left.
func (r *Retraction) TransformGradients() {
	projectGradient(r.e.u, r.e.c)
	projectGradient(r.e.v, 1)
}

func projectGradient(x torch.Tensor, c float64) {
	g := x.Grad()
	if !g.Defined() {
		return
	}
	torch.NoGrad(func() {
		product := x.Transpose(0, 1).MatMul(g)
		symmetric := product.Add(product.Transpose(0, 1)).MulScalar(c * c / 2)
		g.Assign(g.Sub(x.MatMul(symmetric)))
	})
}

// Constrain retracts where it is due.
func (r *Retraction) Constrain(float64) {
	count := int(r.count.Item()) + 1
	if count >= r.Every {
		retract(r.e.u, r.e.c)
		retract(r.e.v, 1)
		count = 0
	}
	r.count.Assign(torch.Full(float64(count), torch.Float64, torch.CPU, 1))
}

// Operations are two products for gradients, and two more for each retraction, on the mean.
func (r *Retraction) Operations(Work) torch.Operations {
	one := r.e.products()
	return torch.Operations{Forward: 2 * one / float64(r.Every), Backward: 2 * one}
}

// ProximalOrthogonality pulls U and V towards the nearest matrices with orthonormal columns, after every Every-th
// update, as the penalties of [Orthogonality] would: near these |X^T X - I|_F^2 is 4 |X - Q|_F^2 with Q the polar
// factor of X, and the proximal step of that is
//
//	X <- (X + w Q) / (1 + w),  w = 8 eta Weight,
//
// stable at every rate and weight, from none to a retraction. eta is the sum of the rates since the last step, in the
// units of what [Preconditioner] leaves of U's and V's gradients: these steps are for SGD. The spectral norm's weight
// counts for the singular value that is farthest from 1. Cost: that of retractions, without the products at other
// updates.
type ProximalOrthogonality struct {
	OrthogonalityWeights
	Every int

	e   *Factored
	due torch.Tensor // [2]: updates since the last step, the sum of their rates
}

// Init needs a factored embedding.
func (r *ProximalOrthogonality) Init(e Embedding, p Config) (err error) {
	if r.e, err = factored(e, "a proximal step"); err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	r.due = torch.Zeros(torch.Float64, torch.CPU, 2)
	p.buffer(p.Embedding+".proximal_due", r.due)
	return nil
}

// Constrain makes the steps where they are due.
func (r *ProximalOrthogonality) Constrain(rate float64) {
	due := r.due.Float64s()
	due[0]++
	due[1] += rate
	if due[0] >= float64(r.Every) {
		var ofU, ofV torch.Tensor
		torch.NoGrad(func() { ofU, ofV = r.e.divisors() })
		u, v := 8*due[1]*r.e.c*r.e.c/ofU.Item(), 8*due[1]/slices.Min(ofV.Float64s())
		proximalToPolar(r.e.u, r.e.c, u*r.U, u*r.USpectral)
		proximalToPolar(r.e.v, 1, v*r.V, v*r.VSpectral)
		due[0], due[1] = 0, 0
	}
	r.due.Assign(torch.FromFloat64s(due, torch.CPU, 2))
}

// Operations are two products for each step, on the mean.
func (r *ProximalOrthogonality) Operations(Work) torch.Operations {
	return torch.Operations{Forward: 2 * r.e.products() / float64(r.Every)}
}

// ProximalPrior pulls the singular values towards a prior by the proximal step of
// the penalty Weight sum_k (s_k - prior_k)^2 after an update of learning rate eta,
//
//	s <- (s + 2 eta Weight prior) / (1 + 2 eta Weight),
//
// which minimises the penalty plus |s' - s|^2 / (2 eta) over s' and so is stable
// at every rate. Cost: nothing that could be measured.
type ProximalPrior struct {
	negligible
	Prior
	Weight float64

	to SpectrumPrior
}

// Init computes the prior's values.
func (r *ProximalPrior) Init(e Embedding, p Config) error {
	r.to = SpectrumPrior{Prior: r.Prior, Weight: r.Weight}
	return r.to.Init(e, p)
}

// Constrain is the step.
func (r *ProximalPrior) Constrain(rate float64) {
	weight := 2 * rate * r.Weight
	torch.Lerp([]torch.Tensor{r.to.s}, []torch.Tensor{r.to.values}, weight/(1+weight))
}

func factored(e Embedding, what string) (*Factored, error) {
	f, ok := e.(*Factored)
	if !ok {
		return nil, errors.New(what + " needs a factored embedding, which has U, s and V")
	}
	return f, nil
}
