package torch

// #include "api.h"
import "C"

// Parameter makes x a leaf that collects gradients and keeps it beyond its scope.
// An x that is not laid out in row-major order, such as a transposed one, is
// copied into it; an x with a history is refused.
func Parameter(x Tensor) Tensor {
	check("Parameter", C.ap_parameter(x.c("Parameter")), x)
	Keep(x)
	return x
}

// SetRequiresGrad makes a leaf collect gradients, or no longer.
func (x Tensor) SetRequiresGrad(value bool) {
	check("SetRequiresGrad", C.ap_set_requires_grad(x.c("SetRequiresGrad"), C.bool(value)), x)
}

// RequiresGrad reports whether gradients flow to x.
func (x Tensor) RequiresGrad() bool { return bool(C.ap_requires_grad(x.c("RequiresGrad"))) }

// Backward adds the gradient of x, a tensor of one element, to every leaf it
// depends on.
func (x Tensor) Backward() { check("Backward", C.ap_backward(x.c("Backward")), x) }

// BackwardWith does the same for a tensor of any shape, whose gradient is given.
func (x Tensor) BackwardWith(gradient Tensor) {
	check("BackwardWith", C.ap_backward_with(x.c("BackwardWith"), gradient.c("BackwardWith")), x, gradient)
}

// Grad returns the gradient that a leaf has collected; it is not Defined where
// there is none.
func (x Tensor) Grad() Tensor {
	var out C.ap_tensor
	check("Grad", C.ap_grad(x.c("Grad"), &out), x)
	if out == nil {
		return Tensor{}
	}
	return own("Grad", out)
}

// ZeroGrad drops the gradients of the parameters.
func ZeroGrad(params []Tensor) {
	list, first := raw("ZeroGrad", params)
	check("ZeroGrad", C.ap_zero_grad(first, C.int(len(list))), params...)
}

// Detach returns x's elements without its history.
func (x Tensor) Detach() Tensor {
	var out C.ap_tensor
	check("Detach", C.ap_detach(x.c("Detach"), &out), x)
	return own("Detach", out)
}

// NoGrad runs f without recording gradients.
func NoGrad(f func()) {
	before := C.ap_set_grad_enabled(false)
	defer C.ap_set_grad_enabled(before)
	f()
}

// Autocast runs f with matrix products in bfloat16 when enabled, and in the type
// of their operands when not; calls may be nested. Backward belongs outside, and
// so does whatever changes a weight.
func Autocast(enabled bool, d Device, f func()) {
	set := func(on C.bool) (before C.bool) {
		withDevice(d, func(device *C.char) { check("Autocast", C.ap_set_autocast(on, device, &before)) })
		return before
	}
	defer set(set(C.bool(enabled)))
	f()
}
