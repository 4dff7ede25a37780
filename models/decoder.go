package models

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// A Decoder starts translations. Weights must not change while it is in use.
type Decoder interface {
	// Start encodes sources and begins with one hypothesis for each.
	Start(source Tokens) Decoding
	// Longest is the largest number of words of a sentence, its end included.
	Longest() int
	// Free frees what the decoder holds beside the model's parameters.
	Free()
}

// Decoding carries the hypotheses of a batch of sentences, those of a sentence
// side by side, equally many for each. It lives until Free.
type Decoding interface {
	// Step appends one word to each hypothesis and returns the hidden states [R,D] from which the next is predicted;
	// with attention wanted, the last layer's attention over the source too, [R,S], averaged over heads.
	Step(words []int64, wantAttention bool) (hidden, attention torch.Tensor)
	// Reorder makes hypothesis order[i] the new hypothesis i, and keeps only the
	// sentences keep (nil keeps all), in their order.
	Reorder(order, keep []int64)
	// Free frees what the hypotheses hold.
	Free()
}

// Decoder prepares for translation. On float32 CPU tensors all layers of a step
// are one fused operator; anything else, and an activation other than ReLU, takes UnfusedDecoder.
func (m *Transformer) Decoder() Decoder {
	if m.DType != torch.Float32 || m.device != torch.CPU || len(m.decoder) == 0 || !m.relu() {
		return m.UnfusedDecoder()
	}
	return newFusedDecoder(m, torch.Pack)
}

// errNoInt8 says what a decoder with weights of eight bits wants.
var errNoInt8 = errors.New("weights of eight bits want a model in float32 on the CPU, with a layer or more")

// Int8Decoder is Decoder with weights of eight bits, but for those of word vectors and
// normalisations (see torch.PackInt8).
func (m *Transformer) Int8Decoder() (Decoder, error) {
	if m.DType != torch.Float32 || m.device != torch.CPU || len(m.decoder) == 0 {
		return nil, errNoInt8
	}
	if !m.relu() {
		return nil, fmt.Errorf("weights of eight bits want model.activation = \"relu\", and it is %q", m.Activation)
	}
	return newFusedDecoder(m, torch.PackInt8), nil
}

// UnfusedDecoder is Decoder made of plain operators.
func (m *Transformer) UnfusedDecoder() Decoder { return unfusedDecoder{m} }

type unfusedDecoder struct{ *Transformer }

func (d unfusedDecoder) Start(source Tokens) Decoding {
	return unfusedDecoding{d.Transformer, d.Begin(d.Encode(source, nil), 1)}
}

func (d unfusedDecoder) Longest() int { return d.MaxPositions }
func (unfusedDecoder) Free()          {}

type unfusedDecoding struct {
	model *Transformer
	*Cache
}

func (d unfusedDecoding) Step(words []int64, wantAttention bool) (hidden, attention torch.Tensor) {
	return d.model.Step(d.Cache, words, wantAttention)
}

func (d unfusedDecoding) Reorder(order, keep []int64) { d.Cache.Reorder(order, keep, d.model.device) }

// packedLinear is an affine map whose weight is laid out for many products.
type packedLinear struct {
	weight torch.Packed
	bias   torch.Tensor
}

func (l packedLinear) apply(x torch.Tensor) torch.Tensor { return l.weight.Linear(x, l.bias, false) }

// fusedDecoder decodes with weights that were packed once.
type fusedDecoder struct {
	model    *Transformer
	layOut   func(weight torch.Tensor) torch.Packed
	weights  []torch.Tensor // of the decoder's layers, as torch.DecoderStep wants them
	lastNorm []torch.Tensor
	memory   []packedLinear // keys and values of the source, by layer
	encoder  []encoderLayer
	held     []torch.Tensor // what is freed in the end
}

// encoderLayer is a layer of the encoder with packed weights.
type encoderLayer struct{ qkv, out, fc1, fc2 packedLinear }

func newFusedDecoder(m *Transformer, layOut func(weight torch.Tensor) torch.Packed) *fusedDecoder {
	d := &fusedDecoder{model: m, layOut: layOut}
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		for _, l := range m.encoder {
			d.encoder = append(d.encoder, encoderLayer{
				d.pack(l.selfAttn.q, l.selfAttn.k, l.selfAttn.v), d.pack(l.selfAttn.out), d.pack(l.fc1), d.pack(l.fc2),
			})
		}
		for _, l := range m.decoder {
			list := func(p packedLinear) { d.weights = append(d.weights, p.weight.Tensor(), p.bias) }
			list(d.pack(l.selfAttn.q, l.selfAttn.k, l.selfAttn.v))
			list(d.pack(l.selfAttn.out))
			d.weights = append(d.weights, l.selfNorm.gain, l.selfNorm.bias)
			list(d.pack(l.crossAttn.q))
			list(d.pack(l.crossAttn.out))
			d.weights = append(d.weights, l.crossNorm.gain, l.crossNorm.bias)
			list(d.pack(l.fc1))
			list(d.pack(l.fc2))
			d.weights = append(d.weights, l.finalNorm.gain, l.finalNorm.bias)
			d.memory = append(d.memory, d.pack(l.crossAttn.k, l.crossAttn.v))
		}
	})
	torch.Keep(d.held...) // when all are made, since one may fail for want of memory
	if m.PreNorm {
		d.lastNorm = []torch.Tensor{m.decoderNorm.gain, m.decoderNorm.bias}
	}
	return d
}

// pack joins maps of one input, and packs what they make.
func (d *fusedDecoder) pack(maps ...linear) packedLinear {
	weights, biases := make([]torch.Tensor, len(maps)), make([]torch.Tensor, len(maps))
	for i, l := range maps {
		weights[i], biases[i] = l.weight, l.bias
	}
	p := packedLinear{d.layOut(torch.Cat(weights, 0)), torch.Cat(biases, 0)}
	d.held = append(d.held, p.weight.Tensor(), p.bias)
	return p
}

func (d *fusedDecoder) Longest() int { return d.model.MaxPositions }

func (d *fusedDecoder) Free() { torch.Free(d.held...) }

// encode is Transformer.Encode with packed weights, of the real tokens alone: lengths counts those of each sentence.
// Legend as there; M real tokens. Sentences side by side of one length attend in one call, so that no padding is among
// them: what a sentence becomes is the same, to the bit, whatever the lengths of the others.
func (d *fusedDecoder) encode(source Tokens, lengths []int32) (memory_MD torch.Tensor) {
	m, width := d.model, int64(d.model.Width)
	x := m.embed(m.source, m.sourcePlaces, source, nil).Reshape(-1, width)
	if source.padded() {
		real := source.real()
		x = x.IndexSelect(0, torch.FromInt64s(real, m.device, int64(len(real))))
	}
	for i, l := range m.encoder {
		p := d.encoder[i]
		x = m.residual(x, l.selfNorm, nil, func(x_MD torch.Tensor) torch.Tensor {
			qkv_M3D := p.qkv.apply(x_MD)
			var read []torch.Tensor
			for first, row := 0, int64(0); first < len(lengths); {
				next := first + 1
				for next < len(lengths) && lengths[next] == lengths[first] {
					next++
				}
				sentences, n := int64(next-first), int64(lengths[first])
				qkv := qkv_M3D.Narrow(0, row, sentences*n).Reshape(sentences, n, 3*width)
				part := func(i int64) torch.Tensor { return l.selfAttn.split(qkv.Narrow(2, i*width, width)) }
				read = append(read, merge(torch.Attention(part(0), part(1), part(2), torch.Tensor{}, false)).Reshape(-1, width))
				first, row = next, row+sentences*n
			}
			return p.out.apply(torch.Cat(read, 0))
		})
		x = m.residual(x, l.finalNorm, nil, func(x torch.Tensor) torch.Tensor {
			return p.fc2.apply(p.fc1.weight.Linear(x, p.fc1.bias, true))
		})
	}
	if m.PreNorm {
		x = m.encoderNorm.apply(x)
	}
	return x
}

// fusedDecoding keeps the keys and values of each step where they were written;
// a hypothesis names the rows that it continues.
type fusedDecoding struct {
	*fusedDecoder
	history         []torch.Tensor // by step: [L,R,2D]
	sources         []torch.Tensor // by layer: keys and values of the sources' real tokens [M,2D]
	starts, lengths []int32        // by sentence: its rows of sources
	ancestors       [][]int32      // by hypothesis: its row of each step
}

func (d *fusedDecoder) Start(source Tokens) Decoding {
	c := &fusedDecoding{fusedDecoder: d}
	next := int32(0)
	for r := range source.Rows {
		n := int32(0)
		for _, id := range source.IDs[r*source.Width : (r+1)*source.Width] {
			if id != tokenize.Pad {
				n++
			}
		}
		c.starts, c.lengths = append(c.starts, next), append(c.lengths, n)
		next += n
	}
	c.ancestors = make([][]int32, source.Rows)
	memory := d.encode(source, c.lengths)
	for _, keysValues := range d.memory {
		c.sources = append(c.sources, keysValues.apply(memory))
	}
	torch.Keep(c.sources...)
	return c
}

func (c *fusedDecoding) Step(words []int64, wantAttention bool) (hidden, attention torch.Tensor) {
	m, r, t := c.model, int64(len(words)), len(c.history)
	flat := make([]int32, 0, int(r)*t)
	for _, a := range c.ancestors {
		flat = append(flat, a...)
	}
	x := m.stepVectors(words, int64(t), r)
	x = x.Add(m.targetPlaces.lookup([]int64{int64(t) + tokenize.Pad + 1}, m.device, 1))
	hidden, kv, attention := torch.DecoderStep{
		Weights: c.weights, LastNorm: c.lastNorm, Heads: m.Heads, Epsilon: m.decoder[0].selfNorm.epsilon,
		History: c.history, Ancestor: flat, Memory: c.sources, Starts: c.starts, Lengths: c.lengths, Attention: wantAttention,
	}.Run(x)
	torch.Keep(kv)
	c.history = append(c.history, kv)
	for i := range c.ancestors {
		c.ancestors[i] = append(c.ancestors[i], int32(i))
	}
	return hidden, attention
}

func (c *fusedDecoding) Reorder(order, keep []int64) {
	if keep != nil {
		starts, lengths := make([]int32, len(keep)), make([]int32, len(keep))
		for i, k := range keep {
			starts[i], lengths[i] = c.starts[k], c.lengths[k]
		}
		c.starts, c.lengths = starts, lengths
	}
	steps := len(c.history)
	flat := make([]int32, 0, len(order)*(steps+1))
	ancestors := make([][]int32, len(order))
	for i, from := range order {
		begin := len(flat)
		flat = append(append(flat, c.ancestors[from]...), 0)
		ancestors[i] = flat[begin : begin+steps : begin+steps+1] // with room for the next step
	}
	c.ancestors = ancestors
}

func (c *fusedDecoding) Free() {
	torch.Free(c.history...)
	torch.Free(c.sources...)
}
