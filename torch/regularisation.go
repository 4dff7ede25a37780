package torch

// #include "api.h"
import "C"

// Legend: T time steps, B columns, D width.

// LockedDropout drops elements of x [T,B,D] by one mask for all time steps, drawn for each column: variational dropout
// (Gal and Ghahramani 2016). A nil stream (evaluation) or p = 0 returns x itself.
func LockedDropout(x_TBD Tensor, p float64, s *Stream) Tensor {
	if s == nil || p == 0 {
		return x_TBD
	}
	if x_TBD.Device() == CPU {
		return LockedDropoutReference(x_TBD, p, s)
	}
	const op = "LockedDropout"
	seed, offset := s.next()
	var out C.ap_tensor
	return made(op, C.ap_locked_dropout(x_TBD.c(op), C.double(p), seed, offset, &out), &out, x_TBD)
}

// LockedDropoutReference is LockedDropout made of plain operators.
func LockedDropoutReference(x_TBD Tensor, p float64, s *Stream) Tensor {
	return x_TBD.Mul(DropoutMask(p, s, x_TBD.DType(), x_TBD.Device(), 1, x_TBD.Size(1), x_TBD.Size(2)))
}

// MeanSquare is the mean of the squares of x's elements.
func MeanSquare(x Tensor) Tensor { return meanSquare("MeanSquare", x, false) }

// MeanSquareChange is that of the differences between neighbours along the first dimension, of which there are two at
// least.
func MeanSquareChange(x Tensor) Tensor { return meanSquare("MeanSquareChange", x, true) }

func meanSquare(op string, x Tensor, change bool) Tensor {
	if x.Device() == CPU {
		return meanSquareReference(x, change)
	}
	var out C.ap_tensor
	return made(op, C.ap_mean_square(x.c(op), C.bool(change), &out), &out, x)
}

// meanSquareReference is either made of plain operators.
func meanSquareReference(x Tensor, change bool) Tensor {
	if n := x.Size(0) - 1; change {
		x = x.Narrow(0, 1, n).Sub(x.Narrow(0, 0, n))
	}
	return x.Square().Mean()
}
