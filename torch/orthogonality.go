package torch

// #include "api.h"
import "C"

// OrthogonalityOptions are the settings of Orthogonality.
type OrthogonalityOptions struct {
	Frobenius  float64 // weight of the squared Frobenius norm
	Spectral   float64 // weight of the squared spectral norm
	Iterations int     // steps of power iteration in this call
	Scale      float64 // the matrix is Scale times x; 0 stands for 1
}

// Orthogonality is what the matrix Scale times x [R,K] pays for columns that are
// not orthonormal, a tensor without dimensions: with E = Scale^2 x^T x - I,
//
//	Frobenius |E|_F^2 + Spectral |E v|^2.
//
// v is the unit vector [K] that power iteration turns, in place, towards the direction in which E is largest; |E v|
// tends to E's spectral norm from below, and v counts as a constant in the gradient. The zero Tensor stands for no v:
// the spectral term is then left out.
func Orthogonality(x, v Tensor, o OrthogonalityOptions) Tensor {
	const op = "Orthogonality"
	var out C.ap_tensor
	return made(op, C.ap_orthogonality(x.c(op), v.orNull(op), C.double(o.scale()), C.double(o.Frobenius),
		C.double(o.Spectral), C.int64_t(o.Iterations), &out), &out, x, v)
}

func (o OrthogonalityOptions) scale() float64 {
	if o.Scale == 0 {
		return 1
	}
	return o.Scale
}

// OrthogonalityReference is Orthogonality made of plain operators, with v as it is given: it is not turned.
func OrthogonalityReference(x, v Tensor, o OrthogonalityOptions) Tensor {
	k := x.Size(1)
	index := Arange(k, x.Device())
	identity := index.Reshape(k, 1).Equal(index.Reshape(1, k)).To(x.DType(), x.Device())
	x = x.MulScalar(o.scale())
	e := x.Transpose(0, 1).MatMul(x).Sub(identity)
	value := e.Square().Sum().MulScalar(o.Frobenius)
	if v.h == nil {
		return value
	}
	return value.Add(e.MatMul(v).Square().Sum().MulScalar(o.Spectral))
}

// Gram is x^T x [K,K] of a matrix x [R,K], without a gradient. It takes up to
// half the multiplications of a product that knows nothing of the symmetry.
func (x Tensor) Gram() Tensor {
	const op = "Gram"
	var out C.ap_tensor
	return made(op, C.ap_gram(x.c(op), &out), &out, x)
}
