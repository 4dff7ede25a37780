package objectives

import (
	"errors"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// Constraints hold U, s and V of a factored embedding where penalties, summed into
// the loss, cannot: the penalties of Wang et al. (2020) have the curvatures 8
// lambda for each direction of U and V and 2 lambda for each s_k, so that plain
// gradient descent at a rate of 30 diverges for every weight that the paper tried
// (with U / c and [Preconditioner], on Penn Treebank, for those of U and V above 0.3), and a
// clipped norm that contains their gradients takes from the loss what they need.
//
// Under Adam penalties are as good: 200 updates at the full learning rate, one seed,
//
//	go run ./runs/multi30k -data DIR -preset=quick -method=spectrum -steps=200 -set=schedule.warmup=100
//	    -set=train.clip_norm=1 -set=objective.spectrum_hold=WAY -set=objective.retract_every=K
//
//	                              |U^T U - I|_F  |V^T V - I|_F  s            perplexity
//	mle                                                         23.6 .. 4.7  142.6
//	penalty                       0.026          0.106          9.7 .. 4.9   141.9 (seed 2: 138.4)
//	proximal                      0.026          0.106          9.7 .. 4.8   140.1
//	group                         0.027          0.113          9.7 .. 4.9   146.4
//	retraction, K = 1             1e-6           4e-6           9.8 .. 5.0   156.0
//	retraction, K = 10            1e-6           4e-6           9.7 .. 4.9   200.8
//	... gradients not projected:  K = 1 201.9, K = 10 412.5
//
// so penalties are the default. The first three ways differ by less than seeds do.
// Retractions pay for exactness: Adam moves each element by the learning rate,
// whatever the gradient's direction, and what no tangent has is undone.
//
// Under plain gradient descent at the rate and the clipping of AWD-LSTM, with V's
// [Preconditioner], 400 updates, one seed (K = 10 with proximal steps),
//
//	go run ./runs/ptb -data DIR -preset=small -method=spectrum -steps=400 -set=train.learning_rate=30
//	    -set=schedule.kind=constant -set=objective.prior_scale=0 -set=objective.prior_ratio=0.5
//	    -set=objective.spectrum_hold=WAY -set=objective.retract_every=K
//	    -set=objective.lambda_u=L -set=objective.lambda_v=L -set=objective.lambda_prior=P
//
//	                               |U^T U - I|_F  |V^T V - I|_F  s            perplexity
//	mle                                                          40.2 .. 5.1  373.1
//	retraction, K = 1, P = 1       2e-6           6e-6           8.2 .. 4.1   495.1
//	retraction, K = 10, P = 1      2e-6           6e-6           8.2 .. 4.1   495.9
//	proximal, L = P = 0.01         2.39           0.62           12.2 .. 4.1  519.7
//	proximal, L = 0.1, P = 1       0.28           0.09           8.4 .. 4.1   547.9
//	proximal, L = 10, P = 100      0.003          0.001          8.2 .. 4.1   517.9
//	penalty, L = 0.1, P = 0.01     0.40           0.41           9.0 .. 4.1   615.0
//	penalty, L = P = 0.01          1.74           0.82           12.0 .. 4.1  505.5
//	penalty, L = 1, P = 0.01       0.02           12.1           22.3 .. 4.1  1030.6 (100 updates)
//	group, L = 0.1, P = 0.01       0.38           0.41           9.0 .. 4.1   681.2
//	V's gradient as it is:
//	retraction, K = 10             2e-6           5e-5           8.2 .. 4.1   857.9
//	... penalty, L = P = 1         0.08           21.5           31.4 .. 4.1  1779.1
//
// in 43 to 45 seconds of a processor each, mle in 39, K = 1 in some 10 more. The
// iterates scatter, and so do these numbers, by some 10%: where the last iterate has
// a perplexity of 459.2, the mean of 12, 10 updates apart, has 376.5. A penalty of
// weight 1 or more shakes at this rate, and one on s above 0.03; proximal steps and
// retractions take every weight. But for proximal steps, all of V's gradient is divided
// by the mean of s^2; dividing column k by s_k^2 where that is larger brings the polynomial prior, whose s
// goes from 51.9 to 1.0, from 622.9 to 501.7 after 300 updates.

// Over longer runs the norm of W and what slack U has matter more. One epoch of
// preset small (its rate held at 20; two epochs in brackets), one seed,
//
//	go run ./runs/ptb -data DIR -preset=small -method=spectrum -epochs=1 -set=schedule.kind=constant -set=KEY=VALUE
//
//	                                                  |W|_F  |U^T U - I|_F  I1     perplexity
//	mle                                               143                   0.856  198.3 (149.9)
//	proximal, K = 10, L = P = 0.01, c1 40, ratio 0.3  320    1.57           0.891  204.2
//	penalty, L = P = 0.01, c1 = 40, ratio 0.3         319    1.22           0.895  203.4 (164.0)
//	... c1 = 50, ratio 0.2                            343    1.13           0.842  207.5 (165.8)
//	... L = 0.03, c1 = 28                             222    0.69           0.960  220.2
//	... started as a dense matrix, P = 0.0001         318    1.23           0.892  207.5
//	no penalty, started as a dense matrix             179    66             0.778  201.2
//	retraction, K = 10, c1 = 40, ratio 0.3            313                          210.1
//	... started as a dense matrix, P = 0.00001        181    0.17           0.980  232.7 (167.6)
//	... P = 0                                         98     0.72           0.993  296.5
//
// so presets that descend plainly take proximal steps at these weights and 4 times the
// norm of a dense matrix at its start; small takes the penalties, at 3.8 times that. With proximal steps and
// the same prior AWD-LSTM (-preset=awd-spectrum -steps=300 -set=objective.prior_scale=40) has training
// perplexities of 2055, 763 and 604 over updates 1 to 100, 200 and 300, mle 1858, 809 and 644.

// Retraction puts U and V back among the matrices with orthonormal columns, onto
// the nearest, after every Every-th update, and keeps out of their gradients what
// only leads away from these: the moments of Adam would otherwise be full of it.
// Cost: two products of V D^2 multiplications per update, two more at each
// retraction, and a decomposition of two D x D matrices.
//
// The moments of Adam are left as they are. The nearest matrix differs from what
// Adam made by a symmetric factor near the identity, (U^T U)^(-1/2): to first
// order only the part of the step is undone that no tangent direction has, columns
// keep their places and signs, and what a moment says of an element stays true. A
// QR decomposition would turn later columns, and second moments, being of
// elements, could not be turned with them.
type Retraction struct {
	Every int

	e     *Factored
	count torch.Tensor // [1]: updates since the last retraction
	name  string
}

// Init needs a factored embedding.
func (r *Retraction) Init(e Embedding, p Place) (err error) {
	if r.e, err = factored(e, "a retraction"); err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	r.count, r.name = torch.Zeros(torch.Float64, torch.CPU, 1), p.Embedding+".retraction_count"
	torch.Keep(r.count)
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

// Buffers gives the number of updates since the last retraction.
func (r *Retraction) Buffers() map[string]torch.Tensor {
	return map[string]torch.Tensor{r.name: r.count}
}

// Free frees the count.
func (r *Retraction) Free() { torch.Free(r.count) }

// ProximalOrthogonality pulls U and V towards the nearest matrices with orthonormal
// columns, after every Every-th update, as the penalties of [Orthogonality] would: near
// these |X^T X - I|_F^2 is 4 |X - Q|_F^2 with Q the polar factor of X, and the proximal step of
// that is
//
//	X <- (X + w Q) / (1 + w),  w = 8 eta Weight,
//
// stable at every rate and weight, from none to a retraction. eta is the sum of the
// rates since the last step, in the units of what [Preconditioner] leaves of U's and
// V's gradients: these steps are for plain gradient descent. The spectral norm's weight
// counts for the singular value that is farthest from 1. Cost: that of retractions,
// without the products at other updates.
type ProximalOrthogonality struct {
	OrthogonalityWeights
	Every int

	e    *Factored
	due  torch.Tensor // [2]: updates since the last step, the sum of their rates
	name string
}

// Init needs a factored embedding.
func (r *ProximalOrthogonality) Init(e Embedding, p Place) (err error) {
	if r.e, err = factored(e, "a proximal step"); err != nil {
		return err
	}
	scope := torch.OpenScope()
	defer scope.Close()
	r.due, r.name = torch.Zeros(torch.Float64, torch.CPU, 2), p.Embedding+".proximal_due"
	torch.Keep(r.due)
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

// Buffers gives what is due.
func (r *ProximalOrthogonality) Buffers() map[string]torch.Tensor {
	return map[string]torch.Tensor{r.name: r.due}
}

// Free frees the count.
func (r *ProximalOrthogonality) Free() { torch.Free(r.due) }

// ProximalPrior pulls the singular values towards a prior by the proximal step of
// the penalty Weight sum_k (s_k - prior_k)^2 after an update of learning rate eta,
//
//	s <- (s + 2 eta Weight prior) / (1 + 2 eta Weight),
//
// which minimises the penalty plus |s' - s|^2 / (2 eta) over s' and so is stable
// at every rate. Cost: nothing that could be measured.
type ProximalPrior struct {
	Prior
	Weight float64

	to SpectrumPrior
}

// Init computes the prior's values.
func (r *ProximalPrior) Init(e Embedding, p Place) error {
	r.to = SpectrumPrior{Prior: r.Prior, Weight: r.Weight}
	return r.to.Init(e, p)
}

// Constrain is the step.
func (r *ProximalPrior) Constrain(rate float64) {
	weight := 2 * rate * r.Weight
	torch.Lerp([]torch.Tensor{r.to.s}, []torch.Tensor{r.to.values}, weight/(1+weight))
}

// Free frees the prior's values.
func (r *ProximalPrior) Free() { r.to.Free() }

// Apart has the gradients of U, s and V clipped each by itself, outside the norm
// of all others: penalties on them then cannot crush what the model learns from
// the loss.
type Apart struct{ e *Factored }

// Init needs a factored embedding.
func (r *Apart) Init(e Embedding, _ Place) (err error) {
	r.e, err = factored(e, "clipping U, s and V apart")
	return err
}

// Groups are U, s and V.
func (r *Apart) Groups() [][]torch.Tensor { return [][]torch.Tensor{{r.e.u}, {r.e.s}, {r.e.v}} }

func factored(e Embedding, what string) (*Factored, error) {
	f, ok := e.(*Factored)
	if !ok {
		return nil, errors.New(what + " needs a factored embedding, which has U, s and V")
	}
	return f, nil
}
