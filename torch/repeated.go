package torch

// #include "api.h"
import "C"

// Repeated prepares a matrix [O,K], or a batch of them [B,O,K], for the steps of a recurrence: what it returns goes to
// RepeatedLinear, once for each step. The gradient of the matrix is then one product over all steps, where autograd
// alone would add up a matrix for each of them. A matrix that changes is prepared again.
func Repeated(weight Tensor) Tensor {
	const op = "Repeated"
	var out C.ap_tensor
	return made(op, C.ap_repeated(weight.c(op), &out), &out, weight)
}

// RepeatedLinear is a step's product x W^T + addend for what Repeated made of W: with W [O,K], x [R,K] and addend
// [R,O]; with W [B,O,K], x [B,R,K] and addend [B,R,O]. The zero Tensor is no addend.
//
// Steps in float32 on the CPU multiply by a copy of the matrix that is laid out for
// products of few rows, made once for the way forward and once for the way back.
func RepeatedLinear(x, matrix, addend Tensor) Tensor {
	const op = "RepeatedLinear"
	var out C.ap_tensor
	return made(op, C.ap_repeated_linear(x.c(op), matrix.c(op), addend.orNull(op), &out), &out, x, matrix, addend)
}

// RepeatedLinearReference is RepeatedLinear made of plain operators, for any matrix.
func RepeatedLinearReference(x, matrix, addend Tensor) Tensor {
	y := x.MatMul(matrix.Transpose(-2, -1))
	if addend.h == nil {
		return y
	}
	return y.Add(addend)
}
