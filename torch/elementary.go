package torch

// #include "api.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/wangkuiyi/gotorch"
)

// The operators of ap_unary, ap_scalar, ap_compare and ap_reduce, in the order
// of their cases in csrc/operators/elementary.cc.
const (
	opNeg = iota
	opExp
	opLog
	opSqrt
	opSquare
	opAbs
	opContiguous
	opClone
	opNot
	opAllFinite
	opNonzero
	opSwish
	opGELU
	opGELUTanh
	opAcos
)

const (
	opAddScalar = iota
	opMulScalar
	opPow
	opClampMin
	opClampMax
	opEqualScalar
)

const (
	opEqual = iota
	opLess
	opOr
	opMaximum
)

const (
	opSumDim = iota
	opMeanDim
	opMaxDim
	opArgMax
	opLogSumExp
	opNorm
)

func (x Tensor) unary(name string, op C.int) Tensor {
	var out C.ap_tensor
	check(name, C.ap_unary(op, x.c(name), &out), x)
	return own(name, out)
}

// scalar joins x and a number. Of integers and a whole number below 9e15 the result is exact, and integers again; of
// integers and another number, or of their power, it is float32.
func (x Tensor) scalar(name string, op C.int, value float64) Tensor {
	var out C.ap_tensor
	check(name, C.ap_scalar(op, x.c(name), C.double(value), &out), x)
	return own(name, out)
}

func (x Tensor) compare(name string, op C.int, y Tensor) Tensor {
	var out C.ap_tensor
	check(name, C.ap_compare(op, x.c(name), y.c(name), &out), x, y)
	return own(name, out)
}

func (x Tensor) reduce(name string, op C.int, dim int, keep bool) Tensor {
	var out C.ap_tensor
	check(name, C.ap_reduce(op, x.c(name), C.int64_t(dim), C.bool(keep), &out), x)
	return own(name, out)
}

func (x Tensor) via(op string, f func(gotorch.Tensor) gotorch.Tensor) Tensor {
	return viaGotorch(op, func() gotorch.Tensor { return f(x.g(op)) }, x)
}

func (x Tensor) viaWith(op string, f func(a, b gotorch.Tensor) gotorch.Tensor, y Tensor) Tensor {
	return viaGotorch(op, func() gotorch.Tensor { return f(x.g(op), y.g(op)) }, x, y)
}

// Add returns x + y, broadcast, of floating-point numbers.
func (x Tensor) Add(y Tensor) Tensor {
	return x.viaWith("Add", func(a, b gotorch.Tensor) gotorch.Tensor { return gotorch.Add(a, b, 1) }, y)
}

// Sub returns x - y, broadcast, of floating-point numbers.
func (x Tensor) Sub(y Tensor) Tensor {
	return x.viaWith("Sub", func(a, b gotorch.Tensor) gotorch.Tensor { return gotorch.Sub(a, b, 1) }, y)
}

// Mul returns the elementwise product, broadcast.
func (x Tensor) Mul(y Tensor) Tensor { return x.viaWith("Mul", gotorch.Mul, y) }

// Div returns the elementwise quotient, broadcast.
func (x Tensor) Div(y Tensor) Tensor { return x.viaWith("Div", gotorch.Div, y) }

// Tanh returns the hyperbolic tangent.
func (x Tensor) Tanh() Tensor { return x.via("Tanh", gotorch.Tanh) }

// Sigmoid returns 1 / (1 + exp(-x)).
func (x Tensor) Sigmoid() Tensor { return x.via("Sigmoid", gotorch.Sigmoid) }

// Relu returns max(x, 0).
func (x Tensor) Relu() Tensor { return x.via("Relu", gotorch.Relu) }

// Swish returns x sigmoid(x) (Ramachandran et al. 2017), which PyTorch calls SiLU.
func (x Tensor) Swish() Tensor { return x.unary("Swish", opSwish) }

// GELU returns x times the normal distribution's probability of less than x (Hendrycks and Gimpel 2016).
func (x Tensor) GELU() Tensor { return x.unary("GELU", opGELU) }

// GELUTanh is GELU by its approximation with a hyperbolic tangent, which GPT-2 has.
func (x Tensor) GELUTanh() Tensor { return x.unary("GELUTanh", opGELUTanh) }

// GELUTanhReference is GELUTanh made of plain operators: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
func (x Tensor) GELUTanhReference() Tensor {
	return x.Mul(x.Add(x.Pow(3).MulScalar(0.044715)).MulScalar(math.Sqrt(2 / math.Pi)).Tanh().AddScalar(1)).MulScalar(0.5)
}

// Acos is the angle in [0, pi] of a cosine, elementwise. Its gradient is infinite at -1 and 1.
func (x Tensor) Acos() Tensor { return x.unary("Acos", opAcos) }

// Sum returns the sum of all elements, a tensor without dimensions.
func (x Tensor) Sum() Tensor {
	return viaGotorch("Sum", func() gotorch.Tensor { return gotorch.Sum(x.g("Sum")) }, x)
}

// Mean returns the mean of all elements, a tensor without dimensions.
func (x Tensor) Mean() Tensor { return x.via("Mean", gotorch.Mean) }

// LogSoftmax returns log softmax along dim.
func (x Tensor) LogSoftmax(dim int) Tensor {
	return viaGotorch("LogSoftmax", func() gotorch.Tensor { return gotorch.LogSoftmax(x.g("LogSoftmax"), int64(dim)) },
		x)
}

// Transpose swaps two dimensions; the result shares x's elements.
func (x Tensor) Transpose(a, b int) Tensor {
	return viaGotorch("Transpose", func() gotorch.Tensor {
		return gotorch.Transpose(x.g("Transpose"), int64(a),
			int64(b))
	}, x)
}

// Permute reorders the dimensions; the result shares x's elements.
func (x Tensor) Permute(dims ...int64) Tensor {
	if len(dims) == 0 { // gotorch takes the address of the first
		return x.Reshape(x.Shape()...)
	}
	return viaGotorch("Permute", func() gotorch.Tensor {
		g := x.g("Permute")
		return g.Permute(dims)
	}, x)
}

// IndexSelect picks the slices of x along dim that the int64 vector index names.
func (x Tensor) IndexSelect(dim int, index Tensor) Tensor {
	return viaGotorch("IndexSelect", func() gotorch.Tensor {
		return gotorch.IndexSelect(x.g("IndexSelect"), int64(dim), index.g("IndexSelect"))
	}, x, index)
}

// TopK returns the k largest values along dim, falling, and their indices.
func (x Tensor) TopK(k int, dim int) (values, indices Tensor) {
	needScope("TopK")
	var i gotorch.Tensor
	v := runGotorch("TopK", func() (v gotorch.Tensor) {
		v, i = gotorch.TopK(x.g("TopK"), int64(k), int64(dim), true, true)
		return v
	}, []Tensor{x})
	both := adopt("TopK", v, i)
	return both[0], both[1]
}

// Stack joins tensors of one shape along a new dimension.
func Stack(xs []Tensor, dim int) Tensor {
	if len(xs) == 0 { // gotorch takes the address of the first
		fail("Stack", "there are no tensors to join", false)
	}
	return viaGotorch("Stack", func() gotorch.Tensor {
		gs := make([]gotorch.Tensor, len(xs))
		for i, x := range xs {
			gs[i] = x.g("Stack")
		}
		return gotorch.Stack(gs, int64(dim))
	}, xs...)
}

// Neg returns -x.
func (x Tensor) Neg() Tensor { return x.unary("Neg", opNeg) }

// Exp returns e to the power of x.
func (x Tensor) Exp() Tensor { return x.unary("Exp", opExp) }

// Log returns the natural logarithm.
func (x Tensor) Log() Tensor { return x.unary("Log", opLog) }

// Sqrt returns the square root.
func (x Tensor) Sqrt() Tensor { return x.unary("Sqrt", opSqrt) }

// Square returns x times x.
func (x Tensor) Square() Tensor { return x.unary("Square", opSquare) }

// Abs returns the absolute value.
func (x Tensor) Abs() Tensor { return x.unary("Abs", opAbs) }

// Contiguous returns x laid out in row-major order.
func (x Tensor) Contiguous() Tensor { return x.unary("Contiguous", opContiguous) }

// Clone returns a copy with elements of its own.
func (x Tensor) Clone() Tensor { return x.unary("Clone", opClone) }

// Not negates a boolean tensor.
func (x Tensor) Not() Tensor { return x.unary("Not", opNot) }

// AllFinite reports whether no element is infinite or not a number.
func (x Tensor) AllFinite() bool { return x.unary("AllFinite", opAllFinite).Bools()[0] }

// Nonzero returns the indices [K, rank] of the elements that are not zero.
func (x Tensor) Nonzero() Tensor { return x.unary("Nonzero", opNonzero) }

// AddScalar returns x + value.
func (x Tensor) AddScalar(value float64) Tensor { return x.scalar("AddScalar", opAddScalar, value) }

// MulScalar returns x * value.
func (x Tensor) MulScalar(value float64) Tensor { return x.scalar("MulScalar", opMulScalar, value) }

// Pow returns x to the power of value.
func (x Tensor) Pow(value float64) Tensor { return x.scalar("Pow", opPow, value) }

// ClampMin returns max(x, value).
func (x Tensor) ClampMin(value float64) Tensor { return x.scalar("ClampMin", opClampMin, value) }

// ClampMax returns min(x, value).
func (x Tensor) ClampMax(value float64) Tensor { return x.scalar("ClampMax", opClampMax, value) }

// EqualScalar compares each element with value.
func (x Tensor) EqualScalar(value float64) Tensor {
	return x.scalar("EqualScalar", opEqualScalar, value)
}

// Equal compares elementwise.
func (x Tensor) Equal(y Tensor) Tensor { return x.compare("Equal", opEqual, y) }

// Less compares elementwise.
func (x Tensor) Less(y Tensor) Tensor { return x.compare("Less", opLess, y) }

// Or joins boolean tensors elementwise.
func (x Tensor) Or(y Tensor) Tensor { return x.compare("Or", opOr, y) }

// Maximum returns the larger element of each pair.
func (x Tensor) Maximum(y Tensor) Tensor { return x.compare("Maximum", opMaximum, y) }

// SumDim sums along dim.
func (x Tensor) SumDim(dim int, keep bool) Tensor { return x.reduce("SumDim", opSumDim, dim, keep) }

// MeanDim averages along dim.
func (x Tensor) MeanDim(dim int, keep bool) Tensor { return x.reduce("MeanDim", opMeanDim, dim, keep) }

// MaxDim takes the largest along dim.
func (x Tensor) MaxDim(dim int, keep bool) Tensor { return x.reduce("MaxDim", opMaxDim, dim, keep) }

// ArgMax gives the index of the largest along dim.
func (x Tensor) ArgMax(dim int) Tensor { return x.reduce("ArgMax", opArgMax, dim, false) }

// LogSumExp returns log(sum(exp(x))) along dim.
func (x Tensor) LogSumExp(dim int, keep bool) Tensor {
	return x.reduce("LogSumExp", opLogSumExp, dim, keep)
}

// Norm returns the Euclidean norm along dim.
func (x Tensor) Norm(dim int, keep bool) Tensor { return x.reduce("Norm", opNorm, dim, keep) }

// MatMul returns the matrix product of the last two dimensions, the others broadcast, as numpy's matmul.
func (x Tensor) MatMul(y Tensor) Tensor {
	var out C.ap_tensor
	return made("MatMul", C.ap_matmul(x.c("MatMul"), y.c("MatMul"), &out), &out, x, y)
}

// Reshape returns x in another shape; one size may be -1.
func (x Tensor) Reshape(shape ...int64) Tensor {
	var out C.ap_tensor
	return made("Reshape", C.ap_reshape(x.c("Reshape"), cInts(shape), C.int(len(shape)), &out), &out, x)
}

// Expand repeats dimensions of size 1 without copying.
func (x Tensor) Expand(shape ...int64) Tensor {
	var out C.ap_tensor
	return made("Expand", C.ap_expand(x.c("Expand"), cInts(shape), C.int(len(shape)), &out), &out, x)
}

// Narrow returns length slices along dim from start on; it shares x's elements.
func (x Tensor) Narrow(dim int, start, length int64) Tensor {
	var out C.ap_tensor
	return made("Narrow", C.ap_narrow(x.c("Narrow"), C.int64_t(dim), C.int64_t(start), C.int64_t(length), &out), &out,
		x)
}

// Cat joins tensors along a dimension they have.
func Cat(xs []Tensor, dim int) Tensor {
	list, first := raw("Cat", xs)
	var out C.ap_tensor
	return made("Cat", C.ap_cat(first, C.int(len(list)), C.int64_t(dim), &out), &out, xs...)
}

// Split cuts dimension dim into parts of those sizes, which add up to its own. The parts share x's memory and, unlike
// parts that Narrow makes one by one, one gradient.
func (x Tensor) Split(dim int, sizes ...int64) []Tensor {
	needScope("Split")
	out := make([]C.ap_tensor, len(sizes))
	check("Split", C.ap_split(x.c("Split"), C.int(dim), cInts(sizes), C.int(len(sizes)), unsafe.SliceData(out)), x)
	parts := make([]Tensor, len(sizes))
	for i, p := range out {
		parts[i] = own("Split", p)
	}
	return parts
}

// Gather picks elements along dim by an int64 index of x's rank.
func (x Tensor) Gather(dim int, index Tensor) Tensor {
	var out C.ap_tensor
	return made("Gather", C.ap_gather(x.c("Gather"), C.int64_t(dim), index.c("Gather"), &out), &out, x, index)
}

// MaskedFill puts value where the boolean mask, broadcast to x, is true.
func (x Tensor) MaskedFill(mask Tensor, value float64) Tensor {
	var out C.ap_tensor
	return made("MaskedFill", C.ap_masked_fill(x.c("MaskedFill"), mask.c("MaskedFill"), C.double(value), &out), &out, x,
		mask)
}

// ScatterRows returns [total, ...] zeros with x's row k at index rows[k]: the
// inverse of IndexSelect(0, rows) for distinct rows.
func (x Tensor) ScatterRows(rows Tensor, total int64) Tensor {
	var out C.ap_tensor
	return made("ScatterRows", C.ap_index_put_rows(x.c("ScatterRows"), rows.c("ScatterRows"), C.int64_t(total), &out),
		&out, x, rows)
}

// Softmax returns softmax along dim.
func (x Tensor) Softmax(dim int) Tensor {
	var out C.ap_tensor
	return made("Softmax", C.ap_softmax(x.c("Softmax"), C.int64_t(dim), &out), &out, x)
}

// CumSum returns running sums along dim.
func (x Tensor) CumSum(dim int) Tensor {
	var out C.ap_tensor
	return made("CumSum", C.ap_cumsum(x.c("CumSum"), C.int64_t(dim), &out), &out, x)
}

// To converts x to an element type and moves it to a device.
func (x Tensor) To(dtype DType, d Device) Tensor {
	var out C.ap_tensor
	withDevice(d, func(device *C.char) { check("To", C.ap_to(x.c("To"), C.int(dtype), device, &out), x) })
	return own("To", out)
}

// SingularValues returns the singular values of a matrix, falling.
func (x Tensor) SingularValues() Tensor {
	var out C.ap_tensor
	return made("SingularValues", C.ap_svd_values(x.c("SingularValues"), &out), &out, x)
}

// SVD returns the reduced singular value decomposition of a matrix [R,C] with k = min(R, C): u [R,k], the values [k],
// falling, and vh [k,C]; x is u diag(values) vh.
func (x Tensor) SVD() (u, values, vh Tensor) {
	const op = "SVD"
	needScope(op)
	var a, b, c C.ap_tensor
	check(op, C.ap_svd(x.c(op), &a, &b, &c), x)
	u, values = ownTwo(op, a, b)
	return u, values, own(op, c)
}

// Eigh returns the eigenvalues, rising, and eigenvectors (columns) of a symmetric matrix.
func (x Tensor) Eigh() (values, vectors Tensor) {
	var w, v C.ap_tensor
	return madeTwo("Eigh", C.ap_eigh(x.c("Eigh"), &w, &v), &w, &v, x)
}

// QR returns the reduced QR decomposition of a matrix.
func (x Tensor) QR() (q, r Tensor) {
	var a, b C.ap_tensor
	return madeTwo("QR", C.ap_qr(x.c("QR"), &a, &b), &a, &b, x)
}
