package torch

// #include "api.h"
import "C"

// GRU runs a layer of gated recurrent units (Cho et al. 2014), as PyTorch has them, over all steps of x [T,B,I], of
// which there is one at least, from the state h [B,H]: libtorch's layer, for an accelerator, where it is few operators.
// The rows of weights [3H,I] and [3H,H] and biases [3H] stand for the reset gate, the update gate and the candidate. It
// returns the output of each step [T,B,H] and the state after the last one. Under Autocast it stays in the type of its
// weights.
func GRU(x_TBI, h_BH, input, hidden, inputBias, hiddenBias Tensor) (out_TBH, last_BH Tensor) {
	const op = "GRU"
	operands := []Tensor{ofType(x_TBI, hidden), ofType(h_BH, hidden), input, hidden, inputBias, hiddenBias}
	list, _ := raw(op, operands)
	var out, last C.ap_tensor
	return madeTwo(op, C.ap_gru(list[0], list[1], list[2], list[3], list[4], list[5], &out, &last), &out, &last,
		operands...)
}
