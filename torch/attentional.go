package torch

// #include "api.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
)

// Legend: T time steps, B sentences, S words of the longest source, E width of word
// vectors, D width of states, L layers.

// AttentionalDecoder is the loop over time of an LSTM decoder with input feeding and
// general attention (Luong, Pham and Manning 2015). At each step the first layer reads a
// word vector and the attentional state before, and from the last layer's state s_t
//
//	a_t = softmax over the source's words of memory W_a s_t
//	o_t = tanh(W_c [a_t memory; s_t])
//
// where o_t is the attentional state; that before the first step is 0.
type AttentionalDecoder struct {
	// Layers are the LSTM's, from the input up: the first reads [E+D], a word vector
	// and the attentional state before, the others [D].
	Layers []LSTMWeights
	Query  Tensor // W_a [D,D]
	Mix    Tensor // W_c [D,2D], whose first D columns are for the context
	// Between holds for each boundary between layers what a layer's states are multiplied by on their way to the next:
	// a dropout mask, scaled, [T,B,D], or [1,B,D] for all steps. A zero Tensor is none, and so is a nil slice for all.
	Between []Tensor
	// Output is the same for attentional states, before they are returned and fed back.
	Output Tensor
}

// Run takes the words' vectors [T,B,E], the encoder's outputs [B,S,D], which are 0 at padding, how many of them are
// real for each sentence (nil: all S; one without any has the context 0), and the state before the first step by layer
// [B,D], zero Tensors for zeros. It returns the attentional states of all steps, masked, [T,B,D].
//
// On float32 CPU tensors it is fused, and its results and gradients have the same bits for any number of threads, as
// those of LSTM. An accelerator runs the same equations with few launches; elsewhere it is RunReference.
func (d AttentionalDecoder) Run(words, memory Tensor, lengths []int64, h, c []Tensor) Tensor {
	const op = "AttentionalDecoder"
	words, memory = ofType(words, d.Query), ofType(memory, d.Query)
	d.check(words, memory, lengths, h, c)
	d.Output, d.Between = ofType(d.Output, d.Query), slices.Clone(d.Between)
	for i, mask := range d.Between {
		d.Between[i] = ofType(mask, d.Query)
	}
	operands := []Tensor{words, memory, d.Query, d.Mix}
	masks := make([]C.ap_tensor, len(d.Layers))
	for i, w := range d.Layers {
		h_BD, c_BD := startStates(words, h[i], c[i], memory.Size(2))
		operands = append(operands, w.Input, w.Hidden, w.InputBias, w.HiddenBias, h_BD, c_BD)
		mask := d.Output
		if i+1 < len(d.Layers) {
			if mask = (Tensor{}); d.Between != nil {
				mask = d.Between[i]
			}
		}
		if mask.h != nil {
			masks[i] = mask.c(op)
		}
	}
	some := words.Size(0) > 0 && words.Size(1) > 0
	if some && words.Device() != CPU {
		return d.runLaunching(words, memory, lengths, h, c)
	}
	for _, x := range operands {
		if !some || x.DType() != Float32 || x.Device() != CPU {
			return d.RunReference(words, memory, lengths, h, c)
		}
	}
	_, list := raw(op, operands)
	var out C.ap_tensor
	check(op, C.ap_attentional(list, C.int(len(d.Layers)), &masks[0], cInts(lengths), &out), operands...)
	runtime.KeepAlive(d)
	return own(op, out)
}

// RunReference is Run step by step, made of plain operators.
func (d AttentionalDecoder) RunReference(words, memory Tensor, lengths []int64, h, c []Tensor) Tensor {
	d.check(words, memory, lengths, h, c)
	steps, rows, width := words.Size(0), words.Size(1), memory.Size(2)
	positions := memory.Size(1)
	h, c = append([]Tensor(nil), h...), append([]Tensor(nil), c...)
	for i := range d.Layers {
		h[i], c[i] = startStates(words, h[i], c[i], width)
	}
	if steps == 0 || rows == 0 {
		return Zeros(words.DType(), words.Device(), steps, rows, width)
	}
	real_BS, apart_BS := sourceMask(words, rows, positions, lengths)
	out_BD := Zeros(words.DType(), words.Device(), rows, width)
	outs := make([]Tensor, steps)
	for t := range steps {
		x := Cat([]Tensor{words.Narrow(0, t, 1).Reshape(rows, -1), out_BD}, 1)
		for i, w := range d.Layers {
			if i > 0 && d.Between != nil {
				x = maskedStep(x, d.Between[i-1], t)
			}
			gates_B4D := Linear(x, w.Input, w.InputBias).Add(Linear(h[i], w.Hidden, w.HiddenBias))
			gates := gates_B4D.Split(1, width, width, width, width)
			c[i] = gates[1].Sigmoid().Mul(c[i]).Add(gates[0].Sigmoid().Mul(gates[2].Tanh()))
			h[i] = gates[3].Sigmoid().Mul(c[i].Tanh())
			x = h[i]
		}
		query_BD1 := Linear(x, d.Query, Tensor{}).Reshape(rows, width, 1)
		weights_BS := memory.MatMul(query_BD1).Reshape(rows, positions).Add(apart_BS).Softmax(-1).Mul(real_BS)
		context_BD := weights_BS.Reshape(rows, 1, positions).MatMul(memory).Reshape(rows, width)
		out_BD = maskedStep(Linear(Cat([]Tensor{context_BD, x}, 1), d.Mix, Tensor{}).Tanh(), d.Output, t)
		outs[t] = out_BD
	}
	return Stack(outs, 0)
}

// maskedStep multiplies what a step made by its part of a mask.
func maskedStep(x_BD, mask_TBD Tensor, t int64) Tensor {
	if mask_TBD.h == nil {
		return x_BD
	}
	if mask_TBD.Size(0) == 1 {
		t = 0
	}
	return x_BD.Mul(mask_TBD.Narrow(0, t, 1).Reshape(x_BD.Shape()...))
}

// sourceMask tells which positions of the sources hold words: 1 there and 0 elsewhere,
// and 0 there and a number far below all scores elsewhere, both [B,S].
func sourceMask(like Tensor, rows, positions int64, lengths []int64) (real_BS, apart_BS Tensor) {
	real := make([]float64, rows*positions)
	for i := range real {
		if lengths == nil || int64(i)%positions < lengths[int64(i)/positions] {
			real[i] = 1
		}
	}
	real_BS = FromFloat64s(real, CPU, rows, positions).To(like.DType(), like.Device())
	return real_BS, real_BS.AddScalar(-1).MulScalar(1e30)
}

// check panics with a sentence on what does not fit together.
func (d AttentionalDecoder) check(words, memory Tensor, lengths []int64, h, c []Tensor) {
	const op = "AttentionalDecoder"
	layers := len(d.Layers)
	switch {
	case words.Rank() != 3 || memory.Rank() != 3 || words.Size(1) != memory.Size(0):
		fail(op, "words must be [steps, sentences, width], and memory [the same sentences, words, width]", false, words,
			memory)
	case layers == 0 || len(h) != layers || len(c) != layers || d.Between != nil && len(d.Between) != layers-1:
		fail(op, fmt.Sprintf("%d layers do not fit %d and %d states and %d masks between them", layers, len(h), len(c),
			len(d.Between)), false, words, memory)
	case lengths != nil && int64(len(lengths)) != memory.Size(0):
		fail(op, fmt.Sprintf("there are %d lengths for %d sources", len(lengths), memory.Size(0)), false, words, memory)
	}
	for _, length := range lengths {
		if length < 0 || length > memory.Size(1) {
			fail(op, fmt.Sprintf("a source of %d words does not fit %d positions", length, memory.Size(1)), false,
				words, memory)
		}
	}
	steps, rows, width := words.Size(0), words.Size(1), memory.Size(2)
	demand := func(what string, x Tensor, shape ...int64) {
		if fmt.Sprint(x.Shape()) != fmt.Sprint(shape) {
			fail(op, fmt.Sprintf("%s has the shape %v and must have %v", what, x.Shape(), shape), false, words, memory)
		}
	}
	mask := func(what string, x Tensor) {
		if x.h != nil && !(x.Rank() == 3 && x.Size(0) == 1) {
			demand(what, x, steps, rows, width)
		} else if x.h != nil {
			demand(what, x, 1, rows, width)
		}
	}
	demand("the query's matrix", d.Query, width, width)
	demand("the mix's matrix", d.Mix, width, 2*width)
	mask("the mask of attentional states", d.Output)
	for _, x := range d.Between {
		mask("a mask between layers", x)
	}
	in := words.Size(2) + width
	for i, w := range d.Layers {
		layer := fmt.Sprintf("layer %d's ", i)
		demand(layer+"matrix of inputs", w.Input, 4*width, in)
		demand(layer+"matrix of states", w.Hidden, 4*width, width)
		demand(layer+"bias of inputs", w.InputBias, 4*width)
		demand(layer+"bias of states", w.HiddenBias, 4*width)
		for _, x := range []Tensor{h[i], c[i]} {
			if x.h != nil {
				demand(layer+"state", x, rows, width)
			}
		}
		in = width
	}
}
