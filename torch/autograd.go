package torch

// #include "api.h"
import "C"

// Parameter makes x a leaf that collects gradients and keeps it beyond its scope. An x that is not laid out in
// row-major order, such as a transposed one, is copied into it; an x with a history is refused.
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

// Backward adds the gradient of x, a tensor of one element, to every leaf it depends on.
func (x Tensor) Backward() { check("Backward", C.ap_backward(x.c("Backward")), x) }

// BackwardWith does the same for a tensor of any shape, whose gradient is given.
func (x Tensor) BackwardWith(gradient Tensor) {
	check("BackwardWith", C.ap_backward_with(x.c("BackwardWith"), gradient.c("BackwardWith")), x, gradient)
}

// Grad returns the gradient that a leaf has collected; it is not Defined where there is none.
func (x Tensor) Grad() Tensor {
	var out C.ap_tensor
	check("Grad", C.ap_grad(x.c("Grad"), &out), x)
	if out == nil {
		return Tensor{}
	}
	return own("Grad", out)
}

// gradients are those of x, a tensor without dimensions, by the operands, whose own are left alone; the zero Tensor
// where x does not depend on one.
func (x Tensor) gradients(operands []Tensor) []Tensor {
	const op = "gradients"
	list, first := raw(op, operands)
	out := make([]Tensor, len(list))
	if len(list) == 0 {
		return out
	}
	results := make([]C.ap_tensor, len(list))
	check(op, C.ap_gradients(x.c(op), first, C.int(len(list)), &results[0]), x)
	for i, p := range results {
		if p != nil {
			out[i] = own(op, p)
		}
	}
	return out
}

// withGradients is the value as a function of the operands, with gradients that are known, each of its operand's shape.
// They are used up.
func (x Tensor) withGradients(operands, gradients []Tensor) Tensor {
	const op = "withGradients"
	list, first := raw(op, operands)
	_, given := raw(op, gradients)
	var out C.ap_tensor
	return made(op, C.ap_with_gradients(x.c(op), first, given, C.int(len(list)), &out), &out, operands...)
}

// ZeroGrad drops the gradients of the parameters.
func ZeroGrad(params []Tensor) {
	list, first := raw("ZeroGrad", params)
	check("ZeroGrad", C.ap_zero_grad(first, C.int(len(list))), params...)
}

// Detach returns x's elements without its history.
func (x Tensor) Detach() Tensor {
	var out C.ap_tensor
	return made("Detach", C.ap_detach(x.c("Detach"), &out), &out, x)
}

// NoGrad runs f without recording gradients.
func NoGrad(f func()) { recording(false, func(bool) { f() }) }

// recording runs f with gradients recorded or not, and says whether they were before.
func recording(on bool, f func(before bool)) {
	before := C.ap_set_grad_enabled(C.bool(on))
	defer C.ap_set_grad_enabled(before)
	f(bool(before))
}

// Autocast runs f with matrix products in bfloat16 when enabled, and in the type of their operands when not; calls may
// be nested. Backward belongs outside, and so does whatever changes a weight.
func Autocast(enabled bool, d Device, f func()) {
	defer setAutocast(setAutocast(enabled, d), d)
	f()
}

// setAutocast switches Autocast, and says what it was before.
func setAutocast(on bool, d Device) (before bool) {
	var was C.bool
	withDevice(d, func(device *C.char) { check("Autocast", C.ap_set_autocast(C.bool(on), device, &was)) })
	return bool(was)
}

func autocasting(d Device) bool {
	on := setAutocast(true, d)
	setAutocast(on, d)
	return on
}
