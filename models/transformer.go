package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Legend: B batch, S source length, T target length, D width, N real target tokens.

// TransformerSettings are the keys of the Transformer alone.
type TransformerSettings struct {
	PreNorm        bool   `toml:"pre_norm" default:"false" help:"normalise the input of each sub-layer instead of its output"`
	PositionOffset int    `toml:"position_offset" default:"0" range:"[-2,1048576]" help:"what sinusoidal positions are shifted by: the first is 2 as in fairseq, and -2 begins at 0 as Marian does"`
	Sinusoids      string `toml:"sinusoids" default:"tensor2tensor" choice:"tensor2tensor paper" help:"frequencies of sinusoidal positions, 10000^(-i/(h-1)) or, as in Vaswani et al. (2017), 10000^(-i/h), with h = width/2"`

	ZeroStart bool `toml:"zero_start" default:"false" help:"the decoder's first input is its position alone, as in Marian, without the vector of </s>"`

	Initialisation string `toml:"initialisation" default:"fairseq" choice:"fairseq glorot" help:"how weights start: fairseq's mixture, or Glorot uniform throughout"`
}

// Transformer is the encoder-decoder of "Attention is all you need" (Vaswani et al. 2017) with the details of fairseq:
// separate q, k, v and output maps with biases, concatenated sinusoids, ReLU, post-norm without a last normalisation.
// Its settings can make it the network of Marian, or that of transformers' MarianMTModel.
type Transformer struct {
	Config
	recomputing
	source, target           Embedder
	encoder, decoder         []layer
	encoderNorm, decoderNorm norm // of the pre-norm form
	sourcePlaces             positions
	targetPlaces             positions
	device                   torch.Device
}

// NewTransformer adds the network's parameters, named as in fairseq, to p. The
// embeddings are given: they may share the output layer's matrix.
func NewTransformer(c Config, source, target Embedder, p *torch.Params, s *torch.Stream,
	device torch.Device) (*Transformer, error) {
	if c.Heads < 1 || c.Width%c.Heads != 0 {
		return nil, fmt.Errorf("model.width %d is not a multiple of model.heads %d", c.Width, c.Heads)
	}
	in := initialiser{params: p, stream: s, device: device, dtype: c.DType, glorot: c.Initialisation == "glorot",
		epsilon: c.NormEpsilon}
	m := &Transformer{Config: c, source: source, target: target, device: device}
	whole := false
	defer freeUnless(&whole, m.Free)
	m.sourcePlaces = newPositions(in, "encoder.embed_positions", c)
	for i := range c.EncoderLayers {
		m.encoder = append(m.encoder, newLayer(in, fmt.Sprintf("encoder.layers.%d", i), &m.Config, false))
	}
	if m.targetPlaces = m.sourcePlaces; m.sourcePlaces.learned { // one table of sinusoids serves both
		m.targetPlaces = newPositions(in, "decoder.embed_positions", c)
	}
	for i := range c.DecoderLayers {
		m.decoder = append(m.decoder, newLayer(in, fmt.Sprintf("decoder.layers.%d", i), &m.Config, true))
	}
	if c.PreNorm {
		m.encoderNorm = in.norm("encoder.layer_norm", int64(c.Width))
		m.decoderNorm = in.norm("decoder.layer_norm", int64(c.Width))
	}
	whole = true
	return m, nil
}

// Free frees what the model holds beside its parameters.
func (m *Transformer) Free() {
	if !m.sourcePlaces.learned {
		torch.Free(m.sourcePlaces.table)
	}
}

// Encoded is a batch of sources as the decoder reads it.
type Encoded struct {
	Memory    torch.Tensor // [B,S,D]
	mask_B11S torch.Tensor // true at real tokens; the zero Tensor without padding
	seen_B11S torch.Tensor // what attention takes for it
}

// Encode reads sources. A nil stream is evaluation.
func (m *Transformer) Encode(source Tokens, s *torch.Stream) Encoded { return m.encode(source, s, nil) }

func (m *Transformer) encode(source Tokens, s *torch.Stream, r *torch.Recomputation) Encoded {
	x_BSD := r.Leaf(m.embed(m.source, m.sourcePlaces, source, s))
	var mask_B11S, seen_B11S torch.Tensor
	if source.padded() {
		mask_B11S = torch.FromBools(source.mask(), m.device, int64(source.Rows), 1, 1, int64(source.Width))
		seen_B11S = mask_B11S
		if s == nil || m.AttentionDropout == 0 {
			seen_B11S = torch.AttentionMask(mask_B11S, x_BSD.DType())
		}
	}
	for _, l := range m.encoder {
		x_BSD = r.Run(s, func(x ...torch.Tensor) torch.Tensor {
			x_BSD := m.residual(x[0], l.selfNorm, s, func(x_BSD torch.Tensor) torch.Tensor {
				return l.selfAttn.attendItself(x_BSD, seen_B11S, false, s)
			})
			return m.inner(l, x_BSD, s)
		}, x_BSD)
	}
	if m.PreNorm {
		x_BSD = r.Leaf(m.encoderNorm.apply(x_BSD))
	}
	return Encoded{x_BSD, mask_B11S, seen_B11S}
}

// Forward returns the hidden states from which the tokens after prev are predicted. A nil stream is evaluation.
func (m *Transformer) Forward(source, prev Tokens, s *torch.Stream) torch.States {
	return m.forward(source, prev, s, false)
}

// ForwardWithAttention is Forward that returns attention too.
func (m *Transformer) ForwardWithAttention(source, prev Tokens, s *torch.Stream) torch.States {
	return m.forward(source, prev, s, true)
}

func (m *Transformer) forward(source, prev Tokens, s *torch.Stream, wantAttention bool) torch.States {
	var r *torch.Recomputation
	if !wantAttention {
		r = m.recomputation(s)
	}
	memory := m.encode(source, s, r)
	x_BTD := r.Leaf(m.embedTarget(prev, s))
	// The decoder's causal mask is enough when rows are padded on the right: no real token then comes after padding.
	mask_B1TT := causalMask(prev, m.device)
	places := prev.real()
	states := torch.States{Recomputation: r, Columns: int64(prev.Rows), Time: make([]int64, len(places)),
		Column: make([]int64, len(places))}
	for n, place := range places {
		states.Column[n], states.Time[n] = place/int64(prev.Width), place%int64(prev.Width)
	}
	for i, l := range m.decoder {
		layer := func(x ...torch.Tensor) torch.Tensor {
			x_BTD := m.residual(x[0], l.selfNorm, s, func(x_BTD torch.Tensor) torch.Tensor {
				return l.selfAttn.attendItself(x_BTD, mask_B1TT, !mask_B1TT.Defined(), s)
			})
			x_BTD = m.residual(x_BTD, l.crossNorm, s, func(x_BTD torch.Tensor) torch.Tensor {
				k, v := l.crossAttn.keys(x[1])
				if wantAttention && i == len(m.decoder)-1 {
					states.Attention = l.crossAttn.weights(x_BTD, k, memory.mask_B11S)
				}
				return l.crossAttn.attend(x_BTD, k, v, memory.seen_B11S, false, s)
			})
			return m.inner(l, x_BTD, s)
		}
		if wantAttention {
			x_BTD = layer(x_BTD, memory.Memory)
		} else {
			x_BTD = r.Run(s, layer, x_BTD, memory.Memory)
		}
	}
	if m.PreNorm {
		x_BTD = m.decoderNorm.apply(x_BTD)
	}
	states.Hidden = x_BTD.Reshape(-1, int64(m.Width))
	if len(places) < len(prev.IDs) {
		states.Hidden = states.Hidden.IndexSelect(0, torch.FromInt64s(places, m.device, int64(len(places))))
	}
	return states
}

// causalMask is the zero Tensor where plain causality is enough, else causality and padding together, [B,1,T,T].
// Padding sees itself, so that no row of a softmax is empty.
func causalMask(t Tokens, d torch.Device) torch.Tensor {
	leftPadded := false
	for r := range t.Rows {
		leftPadded = leftPadded || t.Width > 0 && t.IDs[r*t.Width] == tokenize.Pad
	}
	if !leftPadded {
		return torch.Tensor{}
	}
	real := t.mask()
	mask := make([]bool, t.Rows*t.Width*t.Width)
	for r := range t.Rows {
		for i := range t.Width {
			for j := range i + 1 {
				mask[(r*t.Width+i)*t.Width+j] = real[r*t.Width+j] || i == j
			}
		}
	}
	return torch.FromBools(mask, d, int64(t.Rows), 1, int64(t.Width), int64(t.Width))
}

// embedTarget is embed of the decoder's input, whose first vector is zero where the settings say so.
func (m *Transformer) embedTarget(prev Tokens, s *torch.Stream) torch.Tensor {
	return m.embedVectors(m.targetVectors(prev), m.targetPlaces, prev, s)
}

// targetVectors looks up the decoder's input [B,T,D], and scales it.
func (m *Transformer) targetVectors(prev Tokens) torch.Tensor {
	x_BTD := m.target.Lookup(prev.tensor()).MulScalar(m.scale())
	if !m.ZeroStart {
		return x_BTD
	}
	first := make([]bool, len(prev.IDs))
	for i, place := range prev.positions() {
		first[i] = place == tokenize.Pad+1
	}
	return x_BTD.MaskedFill(torch.FromBools(first, m.device, int64(prev.Rows), int64(prev.Width), 1), 0)
}

// embed looks up [B,T,D], scales by sqrt(D), adds positions and, in training,
// Gaussian noise that the scale does not enlarge, and drops out.
func (m *Transformer) embed(e Embedder, p positions, t Tokens, s *torch.Stream) torch.Tensor {
	return m.embedVectors(e.Lookup(t.tensor()).MulScalar(m.scale()), p, t, s)
}

func (m *Transformer) embedVectors(x_BTD torch.Tensor, p positions, t Tokens, s *torch.Stream) torch.Tensor {
	x_BTD = x_BTD.Add(p.lookup(t.positions(), m.device, int64(t.Rows), int64(t.Width)))
	return torch.Dropout(torch.Noise(x_BTD, m.InputNoise, s), m.Dropout, s)
}

// relu reports whether the activation is one that the fused decoder has.
func (m *Transformer) relu() bool { return m.Activation == "" || m.Activation == "relu" }

// scale is the factor between an embedding and the network's input.
func (m *Transformer) scale() float64 { return math.Sqrt(float64(m.Width)) }
