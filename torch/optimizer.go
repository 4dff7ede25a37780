package torch

// #include "api.h"
import "C"

import "math"

// ClipGrad scales the gradients of params down so that their joint Euclidean norm is at most limit (0 or less only
// measures) and returns the norm before, in float64 and without dimensions: on a device nothing waits for it. A norm
// that is not finite scales nothing.
func ClipGrad(params []Tensor, limit float64) Tensor {
	list, first := raw("ClipGrad", params)
	var norm C.ap_tensor
	return made("ClipGrad", C.ap_clip(first, C.int(len(list)), C.double(limit), &norm), &norm, params...)
}

// Lerp moves each average towards its parameter: a += weight (p - a).
func Lerp(averages, params []Tensor, weight float64) {
	if len(averages) != len(params) {
		fail("Lerp", "averages and parameters differ in number", false)
	}
	as, a := raw("Lerp", averages)
	_, p := raw("Lerp", params)
	check("Lerp", C.ap_lerp(a, p, C.int(len(as)), C.double(weight)), params...)
}

// SGD subtracts rate times (gradient + decay times weight) from each parameter.
func SGD(params []Tensor, rate, decay float64) {
	list, first := raw("SGD", params)
	check("SGD", C.ap_sgd(first, C.int(len(list)), C.double(rate), C.double(decay)), params...)
}

// AdamOptions are the settings of Adam (Kingma and Ba 2015).
type AdamOptions struct {
	Beta1, Beta2, Epsilon float64
	WeightDecay           float64
	Decoupled             bool // weight decay of AdamW (Loshchilov and Hutter 2019) instead of an L2 gradient
	FairseqEpsilon        bool // epsilon is added to sqrt(v) before the bias correction, as fairseq does
	// Rectified makes it RAdam (Liu et al. 2020): the step is scaled by how well the second moment is known so far, and
	// while hardly anything is known of it, the first five steps or so, the first moment alone counts. PyTorch's RAdam
	// is that with FairseqEpsilon.
	Rectified bool
}

// rectify gives the factor on the rate and the epsilon at a step that is counted from 1 (Liu et al. 2020, algorithm 2;
// like PyTorch's, and unlike its authors' program, the second moment counts above five degrees of freedom, not from
// five on).
func (o AdamOptions) rectify(step int64, epsilon float64) (factor, eps float64) {
	decay := math.Pow(o.Beta2, float64(step))
	most := 2/(1-o.Beta2) - 1
	freedom := most - 2*float64(step)*decay/(1-decay)
	if freedom > 5 {
		return math.Sqrt((freedom - 4) * (freedom - 2) * most / ((most - 4) * (most - 2) * freedom)), epsilon
	}
	// m / (sqrt(v) + eps) times eps is m itself where eps is beyond any sqrt(v).
	const beyond = 1e20
	return beyond, beyond
}

// Adam holds the moments of a group of parameters and steps them in one call.
type Adam struct {
	AdamOptions
	Steps           int64 // updates done
	params          []Tensor
	means, variance []Tensor
	coupled         []int // of params
}

// NewAdam starts with zero moments.
func NewAdam(params []Tensor, o AdamOptions) *Adam {
	a := &Adam{AdamOptions: o, params: params}
	for _, p := range params {
		m, v := Zeros(p.DType(), p.Device(), p.Shape()...), Zeros(p.DType(), p.Device(), p.Shape()...)
		Keep(m, v)
		a.means, a.variance = append(a.means, m), append(a.variance, v)
	}
	return a
}

// Step updates the parameters that have a gradient.
func (a *Adam) Step(rate float64) {
	a.Steps++
	eps := a.Epsilon
	if a.FairseqEpsilon {
		eps /= math.Sqrt(1 - math.Pow(a.Beta2, float64(a.Steps)))
	}
	decay := a.WeightDecay
	if a.Rectified {
		var factor float64
		factor, eps = a.rectify(a.Steps, eps)
		rate *= factor
		if a.Decoupled {
			decay /= factor // the rectification is not for it
		}
	}
	for _, i := range a.coupled {
		a.stepCoupled(i, rate, eps, decay)
	}
	params := a.others(a.params)
	_, p := raw("Adam", params)
	_, m := raw("Adam", a.others(a.means))
	_, v := raw("Adam", a.others(a.variance))
	check("Adam", C.ap_adam(p, m, v, C.int(len(params)), C.double(rate), C.double(a.Beta1), C.double(a.Beta2),
		C.double(eps),
		C.double(decay), C.bool(a.Decoupled), C.int64_t(a.Steps)), params...)
}

// Moments returns the running mean of the gradient and of its square of parameter i.
func (a *Adam) Moments(i int) (mean, variance Tensor) { return a.means[i], a.variance[i] }

// Free frees the moments.
func (a *Adam) Free() {
	Free(a.means...)
	Free(a.variance...)
}
