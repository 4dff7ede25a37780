package torch

import "math"

// Couple has a parameter [V,D], rows of which are words, stepped by Coupled Adam (Stollenwerk and Stollenwerk 2025,
// "Better embeddings with Coupled Adam"): the second moment that a step divides by is its mean over the V rows, so that
// all words have the same effective rate and rare ones do not drift together.
//
//	w_j <- w_j - rate mhat_j / (sqrt(vhat) + eps),  vhat = 1/V sum_k vhat_k
//
// The moment that is kept stays per word, as in the authors' program. Parameters that Adam does not hold stay as they
// are.
func (a *Adam) Couple(matrix Tensor) {
	for i, p := range a.params {
		if p == matrix {
			a.coupled = append(a.coupled, i)
		}
	}
}

// stepCoupled steps parameter i where it has a gradient, by plain operators.
func (a *Adam) stepCoupled(i int, rate, eps, decay float64) {
	w, m, v, g := a.params[i], a.means[i], a.variance[i], a.params[i].Grad()
	if !g.Defined() {
		return
	}
	ScopedNoGrad(func() {
		if a.Decoupled {
			w.Assign(w.MulScalar(1 - rate*decay))
		} else if decay != 0 {
			g = g.Add(w.MulScalar(decay))
		}
		m.Assign(m.MulScalar(a.Beta1).Add(g.MulScalar(1 - a.Beta1)))
		v.Assign(v.MulScalar(a.Beta2).Add(g.Square().MulScalar(1 - a.Beta2)))
		t := float64(a.Steps)
		root := v.MeanDim(0, true).MulScalar(1 / (1 - math.Pow(a.Beta2, t))).Sqrt().AddScalar(eps)
		w.Assign(w.Sub(m.MulScalar(rate / (1 - math.Pow(a.Beta1, t))).Div(root)))
	})
}

// others are those of a list by parameter that are not coupled.
func (a *Adam) others(all []Tensor) (left []Tensor) {
	coupled := make(map[int]bool, len(a.coupled))
	for _, i := range a.coupled {
		coupled[i] = true
	}
	for i, x := range all {
		if !coupled[i] {
			left = append(left, x)
		}
	}
	return left
}
