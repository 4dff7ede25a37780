package torch

// #include "api.h"
import "C"

import "fmt"

// Legend: T time steps, B batch columns, I input width, H width of the layer.

// LSTMWeights are one direction of one layer. The rows of each stand for the
// input, forget, cell and output gate, in this order.
type LSTMWeights struct {
	Input      Tensor // [4H,I]
	Hidden     Tensor // [4H,H]
	InputBias  Tensor // [4H]
	HiddenBias Tensor // [4H]
}

// LSTMOptions are the settings of LSTM.
type LSTMOptions struct {
	// WeightDrop zeroes elements of Weights.Hidden with this probability and scales the others by 1/(1-p): one mask for
	// all steps and columns (Merity, Keskar and Socher 2018). A nil stream keeps the matrix as it is.
	WeightDrop float64
	Stream     *Stream
	// Lengths holds the steps that each column has, [B], nil where all have T.
	// The output is 0 beyond them, and the state stays what it was.
	Lengths []int64
	// Reverse reads from the last step of each column to its first.
	Reverse bool
}

// LSTM runs a layer (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000) over all steps of x
// [T,B,I] from the state h, c [B,H]; zero Tensors are a state of zeros. It returns the output of each step [T,B,H] and
// the state after the last one.
//
// On float32 CPU tensors it is fused, and results and gradients have the same bits for any number of threads, with
// either instruction set. The products for all steps at once are MKL's, which keep that promise as long as neither
// MKL_CBWR nor APERTURE_MKL_BY_MAKER tells MKL otherwise. Under Autocast the operands of products are rounded to
// bfloat16, in the steps' own only where HasBFloat16; sums, gates and states stay float32, as does all of a layer that
// is not fused. There a processor with AMX cuts a long product by the number of threads. Elsewhere the layer is
// libtorch's, and where that does not serve, without steps or on the CPU with Lengths, LSTMReference.
func LSTM(x, h, c Tensor, w LSTMWeights, o LSTMOptions) (out_TBH, h_BH, c_BH Tensor) {
	const op = "LSTM"
	checkLengths(o.Lengths, x)
	width := w.Hidden.Size(-1)
	x = ofType(x, w.Hidden)
	h, c = startStates(x, h, c, width)
	fused := x.DType() == Float32 && w.Hidden.DType() == Float32 && x.Device() == CPU
	if !fused && (o.Lengths != nil && x.Device() == CPU || x.Size(0) == 0) {
		return LSTMReference(x, h, c, w, o)
	}
	var drop C.double
	var seed, offset C.uint64_t
	hidden := w.Hidden
	switch {
	case o.Stream == nil || o.WeightDrop == 0:
	case fused:
		drop = C.double(o.WeightDrop)
		seed, offset = o.Stream.next()
	default:
		hidden = Dropout(hidden, o.WeightDrop, o.Stream)
	}
	operands := []Tensor{x, h, c, w.Input, hidden, w.InputBias, w.HiddenBias}
	list, _ := raw(op, operands)
	var out, hn, cn C.ap_tensor
	check(op, C.ap_lstm(list[0], list[1], list[2], list[3], list[4], list[5], list[6], cInts(o.Lengths),
		C.int(len(o.Lengths)), C.bool(o.Reverse),
		drop, seed, offset, &out, &hn, &cn), operands...)
	if current == nil {
		C.ap_free(&cn, 1)
	}
	out_TBH, h_BH = ownTwo(op, out, hn)
	return out_TBH, h_BH, own(op, cn)
}

// LSTMPath names how the steps of LSTM multiply by the recurrent matrix in float32 on the CPU: with "panels" of it that
// are packed once, with it as it lies ("thin"), or by the matrix "library".
func LSTMPath(steps, columns int64) string {
	return C.GoString(C.ap_lstm_path(C.int64_t(steps), C.int64_t(columns)))
}

// LSTMReference is LSTM step by step, made of plain operators.
func LSTMReference(x, h, c Tensor, w LSTMWeights, o LSTMOptions) (out_TBH, h_BH, c_BH Tensor) {
	checkLengths(o.Lengths, x)
	steps, columns, width := x.Size(0), x.Size(1), w.Hidden.Size(1)
	h, c = startStates(x, h, c, width)
	hidden := Dropout(w.Hidden, o.WeightDrop, o.Stream)
	gates_TB4H := Linear(x, w.Input, w.InputBias.Add(w.HiddenBias))
	out := make([]Tensor, steps)
	for k := range steps {
		t := k
		if o.Reverse {
			t = steps - 1 - k
		}
		gates_B4H := gates_TB4H.Narrow(0, t, 1).Reshape(columns, 4*width).Add(h.MatMul(hidden.Transpose(0, 1)))
		gate := func(i int64) Tensor { return gates_B4H.Narrow(1, i*width, width) }
		newC := gate(1).Sigmoid().Mul(c).Add(gate(0).Sigmoid().Mul(gate(2).Tanh()))
		newH := gate(3).Sigmoid().Mul(newC.Tanh())
		out[t] = newH
		if o.Lengths != nil {
			real_B1 := columnsWithStep(o.Lengths, t, x)
			out[t] = newH.Mul(real_B1)
			newH, newC = h.Add(newH.Sub(h).Mul(real_B1)), c.Add(newC.Sub(c).Mul(real_B1))
		}
		h, c = newH, newC
	}
	if steps == 0 {
		return Zeros(x.DType(), x.Device(), 0, columns, width), h, c
	}
	return Stack(out, 0), h, c
}

// ofType is x in the type of the weights that it meets, which autocasting may have taken from it: the steps of a
// recurrence are computed in that type. A zero Tensor stays one.
func ofType(x, weights Tensor) Tensor {
	if x.h == nil || x.DType() == weights.DType() {
		return x
	}
	return x.To(weights.DType(), x.Device())
}

// startStates are a layer's states [B,width] in the type of x, where those that are not given are one tensor of zeros.
func startStates(x, h, c Tensor, width int64) (h_BH, c_BH Tensor) {
	h, c = ofType(h, x), ofType(c, x)
	if h.h != nil && c.h != nil {
		return h, c
	}
	zeros_BH := Zeros(x.DType(), x.Device(), x.Size(1), width)
	if h.h == nil {
		h = zeros_BH
	}
	if c.h == nil {
		c = zeros_BH
	}
	return h, c
}

// checkLengths refuses lengths that are not one for each column of x [T,B,I].
func checkLengths(lengths []int64, x Tensor) {
	if lengths != nil && int64(len(lengths)) != x.Size(1) {
		fail("LSTM", fmt.Sprintf("there are %d lengths for %d columns", len(lengths), x.Size(1)), false, x)
	}
}

// columnsWithStep is 1 for the columns that have step t, [B,1].
func columnsWithStep(lengths []int64, t int64, x Tensor) Tensor {
	real := make([]float64, len(lengths))
	for b, length := range lengths {
		if t < length {
			real[b] = 1
		}
	}
	return FromFloat64s(real, CPU, int64(len(real)), 1).To(x.DType(), x.Device())
}
