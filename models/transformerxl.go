package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: T steps, B columns, M remembered steps, S = M + T keys, D width, H heads, K width of a head.

// XLContext says what a Transformer-XL sees of the past: its own keys. It may be changed between chunks: the published
// model trains with a memory of 150 steps and is tested with 640, distances clamped at 400, and SameLength.
type XLContext struct {
	Memory     int  `toml:"memory" init:"free" default:"150" range:"[0,100000]" help:"transformer-xl: steps before a chunk that it sees"`
	Clamp      int  `toml:"clamp" init:"free" default:"0" range:"[0,100000]" help:"transformer-xl: larger distances count as this one; 0 is no limit"`
	SameLength bool `toml:"same_length" init:"free" default:"false" help:"transformer-xl: let every step see exactly memory steps, itself included, instead of all kept ones"`
}

// headWidth is K, the columns of one head.
func (m *TransformerXL) headWidth() int { return m.Width / m.Heads }

// TransformerXL is the language model of "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context" (Dai
// et al. 2019), post-norm: attention with relative positions over a chunk and the remembered hidden states before it.
// The published base model has 16 layers of width 410 with 10 heads of 41 and inner width 2100.
type TransformerXL struct {
	Config
	recomputing
	embedding     Embedder
	layers        []xlLayer
	contentBias   torch.Tensor // u [H,1,K], shared by all layers
	distanceBias  torch.Tensor // v [H,1,K]
	device        torch.Device
	table         torch.Tensor // vectors of distances, kept from chunk to chunk
	tableDistance []float64    // that it is of
}

type xlLayer struct {
	qkv, distance, out torch.Tensor // [3HK,D], [HK,D], [D,HK]
	attentionNorm      norm
	inner, outer       linear
	innerNorm          norm
}

// NewTransformerXL adds the parameters to p, with the names of the paper's PyTorch
// code: layers.0.dec_attn.qkv_net.weight. Weights start as N(0, 0.02), gains as
// N(1, 0.02) and biases at 0. The embedding's rows are multiplied by sqrt(D).
func NewTransformerXL(c Config, embedding Embedder, p *torch.Params, s *torch.Stream,
	device torch.Device) (*TransformerXL, error) {
	if c.Layers < 1 || c.Heads < 1 || c.FFNWidth < 1 || c.Width < 2 || c.Width%2 != 0 || c.Width%c.Heads != 0 {
		return nil, fmt.Errorf("a Transformer-XL needs layers, and an even width that its heads divide, not "+
			"model.layers %d, model.heads %d, model.ffn_width %d and model.width %d",
			c.Layers, c.Heads, c.FFNWidth, c.Width)
	}
	m := &TransformerXL{Config: c, embedding: embedding, device: device}
	if err := m.SetContext(c.XLContext); err != nil {
		return nil, err
	}
	normal := func(name string, mean float64, shape ...int64) torch.Tensor {
		return p.Add(name, s.Normal(mean, 0.02, c.DType, device, shape...))
	}
	zeros := func(name string, n int64) torch.Tensor { return p.Add(name, torch.Zeros(c.DType, device, n)) }
	d, f, hk := int64(c.Width), int64(c.FFNWidth), int64(c.Heads*m.headWidth())
	newNorm := func(name string) norm { return norm{normal(name+".weight", 1, d), zeros(name+".bias", d), normEpsilon} }
	m.contentBias = normal("r_w_bias", 0, int64(c.Heads), 1, int64(m.headWidth()))
	m.distanceBias = normal("r_r_bias", 0, int64(c.Heads), 1, int64(m.headWidth()))
	for i := range c.Layers {
		attention, ff := fmt.Sprintf("layers.%d.dec_attn.", i), fmt.Sprintf("layers.%d.pos_ff.", i)
		m.layers = append(m.layers, xlLayer{
			qkv: normal(attention+"qkv_net.weight", 0, 3*hk, d), distance: normal(attention+"r_net.weight", 0, hk, d),
			out: normal(attention+"o_net.weight", 0, d, hk), attentionNorm: newNorm(attention + "layer_norm"),
			inner:     linear{normal(ff+"CoreNet.0.weight", 0, f, d), zeros(ff+"CoreNet.0.bias", f)},
			outer:     linear{normal(ff+"CoreNet.3.weight", 0, d, f), zeros(ff+"CoreNet.3.bias", d)},
			innerNorm: newNorm(ff + "layer_norm"),
		})
	}
	return m, nil
}

// SetContext changes what the model sees of the past, from the next chunk on.
func (m *TransformerXL) SetContext(c XLContext) error {
	if err := c.Check(); err != nil {
		return err
	}
	m.XLContext = c
	return nil
}

// Check is an error where a model would see nothing.
func (c XLContext) Check() error {
	if c.Memory < 0 || c.Clamp < 0 || c.SameLength && c.Memory == 0 {
		return fmt.Errorf("model.memory = %d with model.clamp = %d makes no context: both are at least 0, and "+
			"model.same_length needs a memory", c.Memory, c.Clamp)
	}
	return nil
}

// Free frees what the model holds beside its parameters.
func (m *TransformerXL) Free() { torch.Free(m.table) }

// Forward reads a chunk. What is carried are the inputs of each layer at the steps
// before, [M,B,D]. There are no terms beside the loss.
func (m *TransformerXL) Forward(x Chunk, carried Carried, s *torch.Stream) (torch.States, Carried) {
	remembered := 0
	if carried != nil {
		remembered = int(carried[0].Size(0))
	}
	r := m.recomputation(s)
	words_TBD := m.embedding.Lookup(x.tensor()).MulScalar(math.Sqrt(float64(m.Width)))
	h_TBD := r.Leaf(torch.Dropout(words_TBD, m.Dropout, s))
	positions_SD := torch.Dropout(m.distances(remembered+x.Time), m.Dropout, s)
	blocked_TS := m.blocked(x.Time, remembered)
	var next Carried
	for i, l := range m.layers {
		past := carried.at(i)
		if past.Defined() {
			past = past.Detach() // the caller may free what it carried before the backward pass reads it
		}
		next = append(next, m.remember(past, h_TBD))
		h_TBD = r.Run(s, func(x ...torch.Tensor) torch.Tensor {
			seen_SBD := x[0]
			if remembered > 0 {
				seen_SBD = torch.Cat([]torch.Tensor{past, x[0]}, 0)
			}
			attended_TBD := m.attend(l, x[0], seen_SBD, positions_SD, blocked_TS, s)
			h_TBD := torch.ResidualNorm(attended_TBD, x[0], l.attentionNorm.gain, l.attentionNorm.bias, normEpsilon,
				m.Dropout, s)
			inner_TBF := torch.Scoped(func() torch.Tensor {
				return torch.Dropout(l.inner.apply(h_TBD).Relu(), m.Dropout, s)
			})
			return torch.ResidualNorm(l.outer.apply(inner_TBF), h_TBD, l.innerNorm.gain, l.innerNorm.bias, normEpsilon,
				m.Dropout, s)
		}, h_TBD)
	}
	raw_ND := h_TBD.Reshape(int64(x.Time*x.Columns), int64(m.Width))
	states := chunkStates(torch.Dropout(raw_ND, m.Dropout, s), raw_ND, int64(x.Columns))
	states.Recomputation = r
	return states, next
}

// remember copies the last steps of what a layer sees: what it remembers, nothing at first, and the chunk.
func (m *TransformerXL) remember(past, h_TBD torch.Tensor) torch.Tensor {
	steps, memory := h_TBD.Size(0), int64(m.Memory)
	if !past.Defined() || memory <= steps {
		n := min(memory, steps)
		return h_TBD.Narrow(0, steps-n, n).Detach().Clone()
	}
	n := min(memory-steps, past.Size(0))
	return torch.Cat([]torch.Tensor{past.Narrow(0, past.Size(0)-n, n), h_TBD.Detach()}, 0)
}

// distances are the vectors [S,D] of the distances from S-1 down to 0: sines, then
// cosines, of the distance times 10000^(-2m/D).
func (m *TransformerXL) distances(keys int) torch.Tensor {
	distances := make([]float64, keys)
	for j := range distances {
		distances[j] = float64(keys - 1 - j)
		if m.Clamp > 0 {
			distances[j] = min(distances[j], float64(m.Clamp))
		}
	}
	if m.table.Defined() && len(distances) == len(m.tableDistance) &&
		(keys == 0 || distances[0] == m.tableDistance[0]) {
		return m.table
	}
	torch.Free(m.table)
	half := m.Width / 2
	values := make([]float64, keys*m.Width)
	for i := range half {
		rate := math.Pow(10000, -2*float64(i)/float64(m.Width))
		for j, distance := range distances {
			values[j*m.Width+i], values[j*m.Width+half+i] = math.Sin(distance*rate), math.Cos(distance*rate)
		}
	}
	m.table = torch.FromFloat64s(values, torch.CPU, int64(keys), int64(m.Width)).To(m.DType, m.device)
	m.tableDistance = distances
	torch.Keep(m.table)
	return m.table
}

// blocked is true where step i must not see key j, [T,S]: the future, and with SameLength what is too long ago.
func (m *TransformerXL) blocked(steps, remembered int) torch.Tensor {
	keys := remembered + steps
	first := steps - max(keys-m.Memory, 0)
	mask := make([]bool, steps*keys)
	for i := range steps {
		for j := range keys {
			mask[i*keys+j] = j > i+remembered || m.SameLength && j <= i-first
		}
	}
	return torch.FromBools(mask, m.device, int64(steps), int64(keys))
}

// heads turns [T,B,HK] into [B,H,T,K].
func (m *TransformerXL) heads(x torch.Tensor) torch.Tensor {
	return x.Reshape(x.Size(0), x.Size(1), int64(m.Heads), int64(m.headWidth())).Permute(1, 2, 0, 3)
}

// attend is softmax over keys of ((q + u) k + (q + v) r) / sqrt(K), where r is the
// vector of the distance from the query to the key.
func (m *TransformerXL) attend(l xlLayer, h_TBD, seen_SBD, positions_SD, blocked_TS torch.Tensor,
	s *torch.Stream) torch.Tensor {
	steps, columns, keys, hk := h_TBD.Size(0), h_TBD.Size(1), seen_SBD.Size(0), int64(m.Heads*m.headWidth())
	q_BHTK := m.heads(torch.Linear(h_TBD, l.qkv.Narrow(0, 0, hk), torch.Tensor{}))
	kv := torch.Linear(seen_SBD, l.qkv.Narrow(0, hk, 2*hk), torch.Tensor{})
	k_BHSK, v_BHSK := m.heads(kv.Narrow(2, 0, hk)), m.heads(kv.Narrow(2, hk, hk))
	r_SHK := torch.Linear(positions_SD, l.distance, torch.Tensor{}).Reshape(keys, int64(m.Heads), int64(m.headWidth()))
	scale := 1 / math.Sqrt(float64(m.headWidth()))
	// Seven tensors of this size come up on the way; backward needs the last alone.
	p_BHTS := torch.Scoped(func() torch.Tensor {
		content := q_BHTK.Add(m.contentBias).MulScalar(scale).MatMul(k_BHSK.Transpose(2, 3))
		distance := q_BHTK.Add(m.distanceBias).MulScalar(scale).MatMul(r_SHK.Permute(1, 2, 0))
		scores_BHTS := content.Add(shiftDistances(distance)).MaskedFill(blocked_TS, math.Inf(-1))
		return torch.Dropout(scores_BHTS.Softmax(3), m.AttentionDropout, s)
	})
	read_TBHK := p_BHTS.MatMul(v_BHSK).Permute(2, 0, 1, 3)
	return torch.Linear(read_TBHK.Reshape(steps, columns, hk), l.out, torch.Tensor{})
}

// shiftDistances turns scores [B,H,T,S] by distance from the last step, S-1 down to 0, into scores by key: row i moves
// T-1-i to the left. With a column of zeros on the left and read in another shape, each row is one element further.
// What comes in from the row below stands at keys in the future.
func shiftDistances(x torch.Tensor) torch.Tensor {
	b, h, t, s := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	padded := torch.Cat([]torch.Tensor{torch.Zeros(x.DType(), x.Device(), b, h, t, 1), x}, 3)
	return padded.Reshape(b, h, s+1, t).Narrow(2, 1, s).Reshape(b, h, t, s)
}
