package torch

// #include "api.h"
import "C"

import "slices"

// Legend: T time steps, B sentences, S words of the longest source, E width of word vectors, D width of states.

// runLaunching is Run on an accelerator, where an operator's launch costs more than its work: what does not wait for
// the step before is one product for all steps, a layer's two products are one, and the gradients of all matrices, and
// of the memory, are one product each ([RepeatedLinear]).
func (d AttentionalDecoder) runLaunching(words_TBE, memory_BSD Tensor, lengths []int64, h, c []Tensor) Tensor {
	steps, rows, width := words_TBE.Size(0), words_TBE.Size(1), memory_BSD.Size(2)
	positions, from := memory_BSD.Size(1), words_TBE.Size(2)
	h, c = slices.Clone(h), slices.Clone(c)
	matrices := make([]Tensor, len(d.Layers)) // of what a step made, the state before and, above the first layer, a one
	for i, w := range d.Layers {
		h[i], c[i] = startStates(words_TBE, h[i], c[i], width)
		parts := []Tensor{w.Input, w.Hidden}
		if i == 0 {
			parts[0] = w.Input.Narrow(1, from, width)
		} else {
			parts = append(parts, w.InputBias.Add(w.HiddenBias).Reshape(4*width, 1))
		}
		matrices[i] = Repeated(Cat(parts, 1))
	}
	first := d.Layers[0]
	gates := ofType(Linear(words_TBE, first.Input.Narrow(1, 0, from), first.InputBias.Add(first.HiddenBias)),
		d.Query).Split(0, slices.Repeat([]int64{1}, int(steps))...)
	one_B1, none_B4D := Full(1, words_TBE.DType(), words_TBE.Device(), rows, 1),
		Zeros(words_TBE.DType(), words_TBE.Device(), rows, 4*width)
	keys, values, mix := Repeated(ofType(memory_BSD.MatMul(d.Query), d.Query)), Repeated(memory_BSD.Transpose(1, 2)),
		Repeated(d.Mix)
	real_BS, apart_BS := sourceMask(words_TBE, rows, positions, lengths)
	apart_B1S := apart_BS.Reshape(rows, 1, positions)
	out_BD := Zeros(words_TBE.DType(), words_TBE.Device(), rows, width)
	outs := make([]Tensor, steps)
	for t := range steps {
		x := out_BD
		for i := range d.Layers {
			in, parts := gates[t].Reshape(rows, 4*width), []Tensor{x, h[i]}
			if i > 0 {
				if d.Between != nil {
					parts[0] = maskedStep(x, d.Between[i-1], t)
				}
				in, parts = none_B4D, append(parts, one_B1)
			}
			h[i], c[i] = lstmCell(in, RepeatedLinear(Cat(parts, 1), matrices[i], Tensor{}), c[i])
			x = h[i]
		}
		weights_B1S := RepeatedLinear(x.Reshape(rows, 1, width), keys, apart_B1S).Softmax(-1)
		if slices.Contains(lengths, 0) {
			weights_B1S = weights_B1S.Mul(real_BS.Reshape(rows, 1, positions))
		}
		context_BD := RepeatedLinear(weights_B1S, values, Tensor{}).Reshape(rows, width)
		out_BD = maskedStep(RepeatedLinear(Cat([]Tensor{context_BD, x}, 1), mix, Tensor{}).Tanh(), d.Output, t)
		outs[t] = out_BD
	}
	return Stack(outs, 0)
}

// lstmCell makes a step of an LSTM from its gates [B,4D], the sum of two, and the cells before [B,D]: one operator of
// an accelerator.
func lstmCell(gates_B4D, more_B4D, c_BD Tensor) (h_BD, next_BD Tensor) {
	const op = "LSTM"
	var h, c C.ap_tensor
	return madeTwo(op, C.ap_lstm_cell(gates_B4D.c(op), more_B4D.c(op), c_BD.c(op), &h, &c), &h, &c, gates_B4D, more_B4D,
		c_BD)
}
