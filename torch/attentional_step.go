package torch

// #include "api.h"
import "C"

// Legend: R hypotheses, E width of word vectors, D width of states, L layers, M real
// words of all sources, S words of the longest one.

// PackedAttentional is an AttentionalDecoder whose weights are laid out for the many steps of a search. It does not
// follow later changes of the weights, has no dropout, and records no gradient.
type PackedAttentional struct {
	layers, width int64
	weights       []Tensor // for each layer a packed matrix and a bias, then the state's half of W_c, packed
	query         Packed   // W_a transposed
	context       Packed   // the context's half of W_c
}

// Pack lays out the weights of a decoder in float32 on the CPU (see CanPack), by Pack or
// PackInt8. They belong to the scope; Keep and Free take Tensors().
func (d AttentionalDecoder) Pack(layOut func(weight Tensor) Packed) PackedAttentional {
	width := d.Query.Size(0)
	p := PackedAttentional{layers: int64(len(d.Layers)), width: width}
	NoGrad(func() {
		for _, w := range d.Layers {
			bias := w.InputBias.Add(w.HiddenBias)
			p.weights = append(p.weights, layOut(Cat([]Tensor{w.Input, w.Hidden}, 1)).Tensor(), bias)
		}
		halves := d.Mix.Split(1, width, width)
		p.weights = append(p.weights, layOut(halves[1]).Tensor())
		p.context, p.query = layOut(halves[0]), layOut(d.Query.Transpose(0, 1))
	})
	return p
}

// Tensors are all that p holds, for Keep and Free.
func (p PackedAttentional) Tensors() []Tensor {
	return append(append([]Tensor(nil), p.weights...), p.query.Tensor(), p.context.Tensor())
}

// Source prepares the encoder's outputs for real words [M,D]: what attention compares a
// state with, memory W_a, and what it takes the mean of, memory W_c(:, :D)^T, both [M,D].
func (p PackedAttentional) Source(memory Tensor) (keys, values Tensor) {
	return p.query.Linear(memory, Tensor{}, false), p.context.Linear(memory, Tensor{}, false)
}

// Start is the state of R hypotheses before their first step, from the layers' h and c [R,D]. A row of it [R,(2L+1)D]
// is all that a hypothesis carries, so that IndexSelect on dimension 0 reorders hypotheses.
func (p PackedAttentional) Start(h, c []Tensor) Tensor {
	out := Zeros(Float32, CPU, h[0].Size(0), p.width)
	return Cat(append(append([]Tensor{out}, h...), c...), 1)
}

// AttentionalStep is one step of a PackedAttentional in search, for R hypotheses, those
// of a sentence side by side, equally many for each.
type AttentionalStep struct {
	PackedAttentional
	Keys, Values Tensor  // of the sources, as Source makes them [M,D]
	Starts       []int32 // by sentence: its first row there
	Lengths      []int32 // and how many it has; one without any has the context 0
	Attention    bool    // whether attention is wanted
}

// Run takes the words' vectors [R,E] and the state. It returns the attentional states [R,D], the state after them, and
// where it is wanted attention over the sources' words [R,S], 0 beyond a source.
func (s AttentionalStep) Run(words, state Tensor) (out, next, attention Tensor) {
	const op = "AttentionalStep"
	needScope(op)
	if len(s.Starts) != len(s.Lengths) || len(s.Starts) == 0 {
		fail(op, "there must be a first row and a length for each sentence", false, words, state)
	}
	longest := int32(0)
	for _, n := range s.Lengths {
		longest = max(longest, n)
	}
	_, weights := raw(op, s.weights)
	var o, n, a C.ap_tensor
	check(op, C.ap_attentional_step(words.c(op), state.c(op), weights, C.int(s.layers), s.Keys.c(op), s.Values.c(op),
		cInt32s(s.Starts),
		cInt32s(s.Lengths), C.int(len(s.Starts)), C.int(longest), C.bool(s.Attention), &o, &n, &a),
		append([]Tensor{words, state, s.Keys, s.Values}, s.weights...)...)
	if s.Attention {
		attention = own(op, a)
	}
	return own(op, o), own(op, n), attention
}
