package models

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: B sentences, S words of the longest source, M real words of all sources, G hypotheses of a sentence, R = B G,
// E width of word vectors, D width of states.

// Decoder prepares for translation. On float32 CPU tensors a step is one fused operator; anything else takes
// UnfusedDecoder.
func (m *Attentional) Decoder() Decoder {
	if m.DType != torch.Float32 || m.device != torch.CPU {
		return m.UnfusedDecoder()
	}
	return newFusedAttentional(m, torch.Pack)
}

// Int8Decoder is Decoder with weights of eight bits in the decoder, but for word vectors (see torch.PackInt8).
func (m *Attentional) Int8Decoder() (Decoder, error) {
	if m.DType != torch.Float32 || m.device != torch.CPU {
		return nil, errNoInt8
	}
	return newFusedAttentional(m, torch.PackInt8), nil
}

func newFusedAttentional(m *Attentional, layOut func(weight torch.Tensor) torch.Packed) *fusedAttentional {
	d := &fusedAttentional{model: m}
	scope := torch.OpenScope()
	defer scope.Close()
	d.weights = torch.AttentionalDecoder{Layers: m.decoder, Query: m.query, Mix: m.mix}.Pack(layOut)
	torch.Keep(d.weights.Tensors()...)
	return d
}

// fusedAttentional decodes with weights that were packed once.
type fusedAttentional struct {
	model   *Attentional
	weights torch.PackedAttentional
}

func (d *fusedAttentional) Longest() int { return d.model.MaxPositions }

func (d *fusedAttentional) Free() { torch.Free(d.weights.Tensors()...) }

// fusedAttentionalDecoding is the state of the hypotheses of a batch.
type fusedAttentionalDecoding struct {
	*fusedAttentional
	step  torch.AttentionalStep
	state torch.Tensor // a row for each hypothesis
}

func (d *fusedAttentional) Start(source Tokens) Decoding {
	read := d.model.encode(source, nil)
	positions, width := read.memory_BSD.Size(1), read.memory_BSD.Size(2)
	c := &fusedAttentionalDecoding{fusedAttentional: d, step: torch.AttentionalStep{PackedAttentional: d.weights}}
	var places []int64 // of real words
	for b := range source.Rows {
		length := positions
		if read.lengths != nil {
			length = read.lengths[b]
		}
		c.step.Starts, c.step.Lengths = append(c.step.Starts, int32(len(places))), append(c.step.Lengths, int32(length))
		for s := range length {
			places = append(places, int64(b)*positions+s)
		}
	}
	memory_MD := read.memory_BSD.Reshape(-1, width).IndexSelect(0,
		torch.FromInt64s(places, torch.CPU, int64(len(places))))
	c.step.Keys, c.step.Values = d.weights.Source(memory_MD)
	c.state = d.weights.Start(read.h, read.c)
	torch.Keep(c.step.Keys, c.step.Values, c.state)
	return c
}

func (c *fusedAttentionalDecoding) Step(words []int64, wantAttention bool) (hidden, attention torch.Tensor) {
	c.step.Attention = wantAttention
	hidden, next, attention := c.step.Run(c.model.target.Lookup(torch.FromInt64s(words, torch.CPU, int64(len(words)))),
		c.state)
	replace(&c.state, next)
	return hidden, attention
}

func (c *fusedAttentionalDecoding) Reorder(order, keep []int64) {
	if keep != nil {
		starts, lengths := make([]int32, len(keep)), make([]int32, len(keep))
		for i, k := range keep {
			starts[i], lengths[i] = c.step.Starts[k], c.step.Lengths[k]
		}
		c.step.Starts, c.step.Lengths = starts, lengths
	}
	replace(&c.state, c.state.IndexSelect(0, torch.FromInt64s(order, torch.CPU, int64(len(order)))))
}

func (c *fusedAttentionalDecoding) Free() { torch.Free(c.step.Keys, c.step.Values, c.state) }

// replace keeps x in the place of a tensor.
func replace(old *torch.Tensor, x torch.Tensor) {
	torch.Keep(x)
	torch.Free(*old)
	*old = x
}

// UnfusedDecoder is Decoder made of plain operators.
func (m *Attentional) UnfusedDecoder() Decoder { return unfusedAttentional{m} }

type unfusedAttentional struct{ *Attentional }

func (d unfusedAttentional) Longest() int { return d.MaxPositions }
func (unfusedAttentional) Free()          {}

// attentionalDecoding is the state of the hypotheses of a batch.
type attentionalDecoding struct {
	*Attentional
	h, c       []torch.Tensor // by layer [R,D]
	out_RD     torch.Tensor   // the attentional state before
	keys_BDS   torch.Tensor   // (H W_a)^T
	memory_BSD torch.Tensor   // H
	apart_B1S  torch.Tensor   // added to scores: 0, and at padding minus infinity
}

func (d unfusedAttentional) Start(source Tokens) Decoding {
	read := d.encode(source, nil)
	b, s, width := read.memory_BSD.Size(0), read.memory_BSD.Size(1), read.memory_BSD.Size(2)
	apart := make([]float64, b*s)
	for i, n := range read.lengths {
		for j := max(n, 1); j < s; j++ { // a source without words attends to its first place, which holds nothing
			apart[int64(i)*s+j] = math.Inf(-1)
		}
	}
	c := &attentionalDecoding{
		Attentional: d.Attentional, memory_BSD: read.memory_BSD,
		out_RD:    torch.Zeros(d.DType, d.device, b, width),
		keys_BDS:  read.memory_BSD.MatMul(d.query).Transpose(1, 2),
		apart_B1S: torch.FromFloat64s(apart, torch.CPU, b, 1, s).To(d.DType, d.device),
	}
	for i := range read.h { // layers may begin with one state
		c.h, c.c = append(c.h, read.h[i].Clone()), append(c.c, read.c[i].Clone())
	}
	for _, x := range append(c.ofHypotheses(), c.ofSentences()...) {
		torch.Keep(*x)
	}
	return c
}

// ofHypotheses are the tensors with a row for each hypothesis.
func (c *attentionalDecoding) ofHypotheses() []*torch.Tensor {
	all := []*torch.Tensor{&c.out_RD}
	for i := range c.h {
		all = append(all, &c.h[i], &c.c[i])
	}
	return all
}

// ofSentences are the tensors with a row for each sentence.
func (c *attentionalDecoding) ofSentences() []*torch.Tensor {
	return []*torch.Tensor{&c.keys_BDS, &c.memory_BSD, &c.apart_B1S}
}

func (c *attentionalDecoding) Step(words []int64, wantAttention bool) (hidden, attention torch.Tensor) {
	r, b, width := int64(len(words)), c.memory_BSD.Size(0), c.memory_BSD.Size(2)
	x_RI := torch.Cat([]torch.Tensor{c.target.Lookup(torch.FromInt64s(words, torch.CPU, r)), c.out_RD}, 1)
	for i, w := range c.decoder {
		gates_R4D := torch.Linear(x_RI, w.Input, w.InputBias).Add(torch.Linear(c.h[i], w.Hidden, w.HiddenBias))
		gates := gates_R4D.Split(1, width, width, width, width)
		c_RD := gates[1].Sigmoid().Mul(c.c[i]).Add(gates[0].Sigmoid().Mul(gates[2].Tanh()))
		h_RD := gates[3].Sigmoid().Mul(c_RD.Tanh())
		replace(&c.h[i], h_RD)
		replace(&c.c[i], c_RD)
		x_RI = h_RD
	}
	// Each hypothesis of a sentence is a query to one source.
	weights_BGS := x_RI.Reshape(b, -1, width).MatMul(c.keys_BDS).Add(c.apart_B1S).Softmax(-1)
	context_RD := weights_BGS.MatMul(c.memory_BSD).Reshape(r, width)
	replace(&c.out_RD, torch.Linear(torch.Cat([]torch.Tensor{context_RD, x_RI}, 1), c.mix, torch.Tensor{}).Tanh())
	if wantAttention {
		attention = weights_BGS.Reshape(r, -1)
	}
	return c.out_RD.Detach(), attention
}

func (c *attentionalDecoding) Reorder(order, keep []int64) {
	rows := func(all []*torch.Tensor, places []int64) {
		index := torch.FromInt64s(places, c.device, int64(len(places)))
		for _, x := range all {
			replace(x, x.IndexSelect(0, index))
		}
	}
	rows(c.ofHypotheses(), order)
	if keep != nil {
		rows(c.ofSentences(), keep)
	}
}

func (c *attentionalDecoding) Free() {
	for _, x := range append(c.ofHypotheses(), c.ofSentences()...) {
		torch.Free(*x)
	}
}
