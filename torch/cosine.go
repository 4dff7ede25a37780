package torch

// #include "api.h"
import "C"

// CosinePenalty is what the rows of w [V,D] pay for pointing the same way, a tensor without dimensions: weight/V^2
// times the sum of cos(w_i, w_j) over all pairs i != j. A row of zeros (no longer than 1e-12) has no direction: it pays
// nothing and gets no gradient. It takes one pass over w, and one more for the gradient, with sums in double; the
// result does not depend on the threads.
func CosinePenalty(w Tensor, weight float64) Tensor {
	const op = "CosinePenalty"
	var out C.ap_tensor
	return made(op, C.ap_cosine_penalty(w.c(op), nil, nil, C.double(weight), &out), &out, w)
}

// CosinePenaltyFactored is the CosinePenalty of u diag(s) v^T for u [V,K], s [K]
// and v [D,K], whose product is never made: it takes three products of V K^2.
func CosinePenaltyFactored(u, s, v Tensor, weight float64) Tensor {
	const op = "CosinePenaltyFactored"
	var out C.ap_tensor
	return made(op, C.ap_cosine_penalty(u.c(op), s.c(op), v.c(op), C.double(weight), &out), &out, u, s, v)
}

// CosinePenaltyReference is CosinePenalty made of plain operators.
func CosinePenaltyReference(w Tensor, weight float64) Tensor {
	lengths := w.Norm(1, true)
	zero := lengths.Detach().Less(Full(1e-12, w.DType(), w.Device()))
	directions := w.Div(lengths.MaskedFill(zero, 1)).Mul(zero.Not().To(w.DType(), w.Device()))
	rows := zero.Not().To(w.DType(), w.Device()).Sum()
	v := max(1, float64(w.Size(0)))
	return directions.SumDim(0, false).Square().Sum().Sub(rows).MulScalar(weight / (v * v))
}
