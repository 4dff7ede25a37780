package models

import (
	"fmt"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Legend: T steps, B columns, N = T B rows, D width, H heads, K width of a head, P positions.

// GPT is the decoder of GPT-2 ("Language models are unsupervised multitask learners", Radford et al. 2019): layers of
// causal attention and a feed-forward network that normalise their inputs, with a last normalisation, learned positions
// and no factor on word vectors. Weights start as GPT-2's; model.activation = gelu_tanh and model.positions = learned
// make it that network, whose dropout acts on the input, on attention weights and on what each sub-layer adds.
//
// Each chunk is read by itself, from the first position on: nothing is carried from one to the next. TextCache reads a
// text on, for generation.
type GPT struct {
	Config
	recomputing
	embedding Embedder
	layers    []layer
	norm      norm
	places    torch.Tensor // [P,D]; the zero Tensor with rotary positions
	rotation  rotation
	device    torch.Device
}

// NewGPT adds the network's parameters to p, with fairseq's names of a decoder's layers:
// layers.0.self_attn.q_proj.weight.
func NewGPT(c Config, embedding Embedder, p *torch.Params, s *torch.Stream, device torch.Device) (*GPT, error) {
	if err := c.CheckGPT(); err != nil {
		return nil, err
	}
	// A language model has none of a translating Transformer's keys, and its folder does not keep them.
	c.TransformerSettings = TransformerSettings{PreNorm: true, Sinusoids: "tensor2tensor"}
	in := initialiser{params: p, stream: s, device: device, dtype: c.DType, epsilon: c.NormEpsilon, layers: c.Layers}
	m := &GPT{Config: c, embedding: embedding, device: device}
	whole := false
	defer freeUnless(&whole, m.Free)
	longest, d := int64(c.MaxPositions), int64(c.Width)
	switch c.Positions {
	case "learned":
		m.places = p.Add("embed_positions.weight", s.Normal(0, gpt2Deviation, c.DType, device, longest, d))
	case "rotary":
		m.rotation = newRotation(c, device)
	default:
		all := newPositions(in, "", c).table
		m.places = all.Narrow(0, tokenize.Pad+1, longest)
		torch.Keep(m.places)
		torch.Free(all)
	}
	for i := range c.Layers {
		m.layers = append(m.layers, newLayer(in, fmt.Sprintf("layers.%d", i), &m.Config, false))
	}
	m.norm = in.norm("layer_norm", d)
	whole = true
	return m, nil
}

// CheckGPT says what is wrong with a GPT's sizes, beyond the keys' ranges.
func (s Settings) CheckGPT() error {
	switch {
	case s.Layers < 1 || s.Width < 1 || s.FFNWidth < 1:
		return fmt.Errorf("a GPT needs layers of some width, not model.layers %d, model.width %d and model.ffn_width %d",
			s.Layers, s.Width, s.FFNWidth)
	case s.LastHidden != 0:
		return fmt.Errorf("model.last_hidden = %d: all layers of a gpt are as wide as its embedding; set it to 0",
			s.LastHidden)
	case s.Positions == "sinusoidal" && s.Width%2 != 0:
		return fmt.Errorf("model.width = %d is odd: sinusoidal positions want it even", s.Width)
	case s.Positions == "rotary" && s.Heads > 0 && s.Width/s.Heads%2 != 0:
		return fmt.Errorf("model.width = %d gives each of %d heads a width of %d, which is odd: rotary positions want "+
			"it even", s.Width, s.Heads, s.Width/s.Heads)
	}
	return s.CheckHeads()
}

// Free frees what the model holds beside its parameters.
func (m *GPT) Free() {
	if m.Positions != "learned" {
		torch.Free(m.places)
	}
	torch.Free(m.rotation.cos_PK, m.rotation.sin_PK)
}

// Forward reads a chunk by itself. It carries nothing, and there are no terms beside the loss.
func (m *GPT) Forward(x Chunk, _ Carried, s *torch.Stream) (torch.States, Carried) {
	r := m.recomputation(s)
	h_BTD := r.Leaf(m.embed(x, 0, s))
	for _, l := range m.layers {
		h_BTD = r.Run(s, func(x ...torch.Tensor) torch.Tensor {
			h_BTD := m.residual(x[0], l.selfNorm, s, func(x_BTD torch.Tensor) torch.Tensor {
				q, k, v := l.selfAttn.maps(x_BTD)
				return l.selfAttn.read(m.rotation.turn(q, 0), m.rotation.turn(k, 0), v, torch.Tensor{}, true, s)
			})
			return m.inner(l, h_BTD, s)
		}, h_BTD)
	}
	states := m.states(h_BTD)
	states.Recomputation = r
	return states, nil
}

// embed looks up a chunk [B,T,D] whose first step stands at a position, with the noise of the input side.
func (m *GPT) embed(x Chunk, from int, s *torch.Stream) torch.Tensor {
	if from+x.Time > m.MaxPositions {
		panic(&torch.Error{Op: "positions", Message: fmt.Sprintf("%d steps are more than the model's %d positions: "+
			"raise model.max_positions or lower train.bptt", from+x.Time, m.MaxPositions)})
	}
	ids := make([]int64, len(x.IDs))
	for i, id := range x.IDs {
		ids[i%x.Columns*x.Time+i/x.Columns] = id
	}
	h_BTD := m.embedding.Lookup(torch.FromInt64s(ids, torch.CPU, int64(x.Columns), int64(x.Time)))
	if m.places.Defined() {
		h_BTD = h_BTD.Add(m.places.Narrow(0, int64(from), int64(x.Time)))
	}
	return torch.Dropout(torch.Noise(h_BTD, m.InputNoise, s), m.Dropout, s)
}

// states are those of a chunk, from what the last layer gives.
func (m *GPT) states(h_BTD torch.Tensor) torch.States {
	h_ND := m.norm.apply(h_BTD).Transpose(0, 1).Reshape(-1, int64(m.Width))
	return chunkStates(h_ND, h_ND, h_BTD.Size(0))
}

// TextCache holds the keys and values of the steps that a GPT has read.
type TextCache struct {
	k, v  []torch.Tensor // [B,H,P,K] of each layer; the steps that were read are the first
	steps int
}

// NewTextCache makes an empty one for a number of columns, which lives until Free.
func (m *GPT) NewTextCache(columns int) *TextCache {
	c := &TextCache{}
	for range m.layers {
		for _, list := range []*[]torch.Tensor{&c.k, &c.v} {
			*list = append(*list, torch.Zeros(m.DType, m.device, int64(columns), int64(m.Heads), int64(m.MaxPositions),
				int64(m.Width/m.Heads)))
		}
	}
	torch.Keep(slices.Concat(c.k, c.v)...) // when all are made, since one may fail for want of memory
	return c
}

// Repeated is a copy of a cache of one column with several that have read the same, which lives until Free.
func (c *TextCache) Repeated(columns int) *TextCache {
	first := torch.FromInt64s(make([]int64, columns), c.k[0].Device(), int64(columns))
	out := &TextCache{steps: c.steps}
	for i := range c.k {
		out.k, out.v = append(out.k, c.k[i].IndexSelect(0, first)), append(out.v, c.v[i].IndexSelect(0, first))
	}
	torch.Keep(slices.Concat(out.k, out.v)...)
	return out
}

// Free frees what the cache holds.
func (c *TextCache) Free() {
	torch.Free(c.k...)
	torch.Free(c.v...)
}

// Read is Forward in evaluation of a chunk that follows what the cache has read: the same states, at the cost of the
// new steps alone.
func (m *GPT) Read(x Chunk, c *TextCache) torch.States {
	h_BTD := m.embed(x, c.steps, nil)
	from, steps := int64(c.steps), int64(x.Time)
	var mask_TS torch.Tensor
	if from > 0 && steps > 1 {
		seen := make([]bool, 0, steps*(from+steps))
		for t := range steps {
			for s := range from + steps {
				seen = append(seen, s <= from+t)
			}
		}
		mask_TS = torch.FromBools(seen, m.device, 1, 1, steps, from+steps)
	}
	for i, l := range m.layers {
		h_BTD = m.residual(h_BTD, l.selfNorm, nil, func(x_BTD torch.Tensor) torch.Tensor {
			q, k, v := l.selfAttn.maps(x_BTD)
			c.k[i].Narrow(2, from, steps).Assign(m.rotation.turn(k, c.steps))
			c.v[i].Narrow(2, from, steps).Assign(v)
			return l.selfAttn.read(m.rotation.turn(q, c.steps), c.k[i].Narrow(2, 0, from+steps),
				c.v[i].Narrow(2, 0, from+steps), mask_TS, from == 0, nil)
		})
		h_BTD = m.inner(l, h_BTD, nil)
	}
	c.steps += x.Time
	return m.states(h_BTD)
}

// rotation is that of rotary positions ("RoFormer: enhanced transformer with rotary position embedding", Su et al.
// 2021): at position p, the element pair (i, i + K/2) of a query or key turns by the angle p 10000^(-2i/K), so that
// their product depends on the distance alone. The zero value turns nothing.
type rotation struct{ cos_PK, sin_PK torch.Tensor } // the second half of K repeats the first, with the sine's sign

func newRotation(c Config, device torch.Device) rotation {
	k := c.Width / c.Heads
	// First the tensors: Go ends a program that has no memory, torch gives an error.
	r := rotation{torch.Zeros(c.DType, device, int64(c.MaxPositions), int64(k)),
		torch.Zeros(c.DType, device, int64(c.MaxPositions), int64(k))}
	frequencies := make([]float64, k/2)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -2*float64(i)/float64(k))
	}
	fill := func(table_PK torch.Tensor, of func(angle float64) (first, second float64)) {
		fillRows(table_PK, func(stretch []float64, first int) {
			for at := 0; at < len(stretch); at += k {
				for i, w := range frequencies {
					stretch[at+i], stretch[at+k/2+i] = of(float64(first+at/k) * w)
				}
			}
		})
	}
	fill(r.cos_PK, func(angle float64) (float64, float64) { return math.Cos(angle), math.Cos(angle) })
	fill(r.sin_PK, func(angle float64) (float64, float64) { return -math.Sin(angle), math.Sin(angle) })
	torch.Keep(r.cos_PK, r.sin_PK)
	return r
}

// turn turns queries or keys [B,H,T,K] whose first step stands at a position.
func (r rotation) turn(x_BHTK torch.Tensor, from int) torch.Tensor {
	if !r.cos_PK.Defined() {
		return x_BHTK
	}
	return torch.Scoped(func() torch.Tensor {
		t, half := x_BHTK.Size(2), x_BHTK.Size(3)/2
		swapped := torch.Cat([]torch.Tensor{x_BHTK.Narrow(3, half, half), x_BHTK.Narrow(3, 0, half)}, 3)
		turned := x_BHTK.Mul(r.cos_PK.Narrow(0, int64(from), t)).Add(swapped.Mul(r.sin_PK.Narrow(0, int64(from), t)))
		return turned.To(x_BHTK.DType(), x_BHTK.Device())
	})
}
