package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Legend: B sentences, S and T words of the longest source and target, N real words of targets, E width of word
// vectors, D width of states.

// AttentionalSettings are the keys of the recurrent translator alone. Its dropouts are those of AWD-LSTM (Merity,
// Keskar and Socher 2018), under names of their own because those of the language models start otherwise: here all but
// model.dropout, that of attentional states, are off unless they are asked for. All noise is off in evaluation.
type AttentionalSettings struct {
	WordWidth    int     `toml:"word_width" default:"0" range:"[0,65536]" help:"attentional: width of word vectors; 0 is width, which is that of states"`
	InitialRange float64 `toml:"initial_range" default:"0.0" range:"[0,10]" help:"attentional: weights start uniform between minus this and this; 0 is 3.2 divided by the root of width, which is the 0.1 of the vMF authors' program at their width of 1024"`

	WordDropout      float64 `toml:"word_dropout" init:"free" default:"0.0" range:"[0,1)" help:"attentional: dropout of whole word vectors, drawn for each place of either side"`
	VectorDropout    float64 `toml:"vector_dropout" init:"free" default:"0.0" range:"[0,1)" help:"attentional: locked dropout of word vectors"`
	LayerDropout     float64 `toml:"layer_dropout" init:"free" default:"0.0" range:"[0,1)" help:"attentional: locked dropout between recurrent layers"`
	RecurrentDropout float64 `toml:"recurrent_dropout" init:"free" default:"0.0" range:"[0,1)" help:"attentional: dropout of the recurrent weights' elements"`
}

// WordVectors is the width of word vectors of a recurrent translator.
func (s Settings) WordVectors() int {
	if s.WordWidth > 0 {
		return s.WordWidth
	}
	return s.Width
}

// Range is how far from 0 the weights of a recurrent translator start at most. What a unit sums spreads with the root
// of its inputs: the range of Kumar and Tsvetkov's program, 0.1 at width 1024, is so small for narrower networks that
// their first updates learn the words' frequencies and nothing of the source.
func (s AttentionalSettings) Range(width int) float64 {
	if s.InitialRange > 0 {
		return s.InitialRange
	}
	return 3.2 / math.Sqrt(float64(width))
}

// CheckAttentional is an error where the sizes make no recurrent translator.
func (s Settings) CheckAttentional() error {
	switch {
	case s.Width%2 != 0:
		return fmt.Errorf("model.width = %d is odd: the two directions of an attentional network's encoder have half "+
			"of it each", s.Width)
	case s.EncoderLayers != s.DecoderLayers && s.EncoderLayers != 1:
		return fmt.Errorf("model.encoder_layers = %d and model.decoder_layers = %d do not fit together: each layer of "+
			"an attentional network's decoder begins with the last state of the encoder's layer, so that the encoder "+
			"has the same number of layers or a single one",
			s.EncoderLayers, s.DecoderLayers)
	}
	return nil
}

// Attentional is the translator that the von Mises-Fisher output layer was published on (Kumar and Tsvetkov 2019): a
// bidirectional LSTM reads the source; the decoder is another LSTM, which begins with the encoder's last state and at
// each step reads a word and the attentional state before (input feeding; Luong, Pham and Manning 2015, whose attention
// the paper names; that it is this kind, and input feeding, is in its authors' program):
//
//	a_t = softmax over the source of H W_a s_t,   o_t = tanh(W_c [a_t H; s_t])
//
// for the encoder's outputs H and the decoder's state s_t. o_t is what an output layer scores; o_0 is 0.
//
// There are two readings of which layers there are. The authors' program has the same number in encoder and decoder,
// and the last state of each, both directions side by side, begins the decoder's. The paper has one in the encoder and
// two in the decoder and does not say how these begin; here the encoder's single state then begins both.
//
// Departures from their program: attention does not see padding; a source ends with its end of sentence, as everywhere
// here; the decoder's first word is the end of sentence rather than a start; padding's vector begins at 0,
// and stays there in a table of its own; dropout is locked.
type Attentional struct {
	Config
	source, target Embedder
	encoder        [][2]torch.LSTMWeights // by layer: forwards and backwards, D/2 units each
	decoder        []torch.LSTMWeights    // the first reads [E+D]: a word vector and the attentional state before
	query, mix     torch.Tensor           // W_a [D,D], W_c [D,2D]
	device         torch.Device
}

// NewAttentional adds the network's parameters to p, named as in a PyTorch program with nn.LSTM and nn.LSTMCell:
// encoder.weight_ih_l0, encoder.weight_ih_l0_reverse, decoder.0.weight_ih, query.weight, mix.weight. The embeddings are
// given: their vectors have the width of word vectors, and they may share the output layer's matrix.
func NewAttentional(c Config, source, target Embedder, p *torch.Params, s *torch.Stream,
	device torch.Device) (*Attentional, error) {
	if err := c.CheckAttentional(); err != nil {
		return nil, err
	}
	in := initialiser{params: p, stream: s, device: device, dtype: c.DType}
	m := &Attentional{Config: c, source: source, target: target, device: device}
	words, d, bound := int64(c.WordVectors()), int64(c.Width), c.Range(c.Width)
	from := words
	for i := range c.EncoderLayers {
		ending := fmt.Sprintf("_l%d", i)
		m.encoder = append(m.encoder, [2]torch.LSTMWeights{
			in.lstm("encoder.", ending, ending, from, d/2, bound),
			in.lstm("encoder.", ending+"_reverse", ending+"_reverse", from, d/2, bound),
		})
		from = d
	}
	from = words + d
	for i := range c.DecoderLayers {
		m.decoder = append(m.decoder, in.lstm(fmt.Sprintf("decoder.%d.", i), "", "", from, d, bound))
		from = d
	}
	m.query, m.mix = p.Add("query.weight", in.uniform(bound, d, d)), p.Add("mix.weight", in.uniform(bound, d, 2*d))
	return m, nil
}

// Free frees what the model holds beside its parameters, which is nothing.
func (m *Attentional) Free() {}

// Forward returns the attentional states from which the tokens after prev are predicted, sentence by sentence. A nil
// stream is evaluation.
func (m *Attentional) Forward(source, prev Tokens, s *torch.Stream) torch.States {
	read := m.encode(source, s)
	words, lengths := prev.columns()
	layers := make([]torch.LSTMWeights, len(m.decoder))
	for i, w := range m.decoder {
		w.Hidden = torch.Dropout(w.Hidden, m.RecurrentDropout, s)
		layers[i] = w
	}
	d := torch.AttentionalDecoder{
		Layers: layers, Query: m.query, Mix: m.mix,
		Between: make([]torch.Tensor, len(layers)-1), Output: m.lockedMask(m.Dropout, prev.Rows, s),
	}
	for i := range d.Between {
		d.Between[i] = m.lockedMask(m.LayerDropout, prev.Rows, s)
	}
	out_TBD := d.Run(m.wordVectors(m.target, words, s), read.memory_BSD, read.lengths, read.h, read.c)

	var places []int64 // of the states [N] among those by time
	states := torch.States{Columns: int64(prev.Rows)}
	for b, length := range lengths {
		for t := range length {
			places = append(places, t*int64(prev.Rows)+int64(b))
			states.Time, states.Column = append(states.Time, t), append(states.Column, int64(b))
		}
	}
	index_N := torch.FromInt64s(places, m.device, int64(len(places)))
	states.Hidden = out_TBD.Reshape(-1, int64(m.Width)).IndexSelect(0, index_N)
	return states
}

// sourceStates is a batch of sources as the decoder reads it.
type sourceStates struct {
	memory_BSD torch.Tensor   // the encoder's outputs, 0 at padding
	lengths    []int64        // of each source; nil where all have S words
	h, c       []torch.Tensor // with which each layer of the decoder begins, [B,D]
}

// encode reads sources.
func (m *Attentional) encode(source Tokens, s *torch.Stream) sourceStates {
	words, lengths := source.columns()
	if !source.padded() {
		lengths = nil
	}
	read := sourceStates{lengths: lengths}
	x := m.wordVectors(m.source, words, s)
	for i, w := range m.encoder {
		if i > 0 {
			x = torch.LockedDropout(x, m.LayerDropout, s)
		}
		var out, h, c [2]torch.Tensor
		for way := range w {
			out[way], h[way], c[way] = torch.LSTM(x, torch.Tensor{}, torch.Tensor{}, w[way],
				torch.LSTMOptions{WeightDrop: m.RecurrentDropout, Stream: s, Lengths: lengths, Reverse: way == 1})
		}
		x = torch.Cat(out[:], 2)
		read.h, read.c = append(read.h, torch.Cat(h[:], 1)), append(read.c, torch.Cat(c[:], 1))
	}
	for len(read.h) < len(m.decoder) { // one layer in the encoder, more in the decoder
		read.h, read.c = append(read.h, read.h[0]), append(read.c, read.c[0])
	}
	read.memory_BSD = x.Transpose(0, 1).Contiguous()
	return read
}

// columns is a batch by time, as recurrent networks read it: each sequence is a column [Time] that begins with its
// first real token, wherever its padding stood, and has a length.
func (t Tokens) columns() (words Chunk, lengths []int64) {
	lengths = make([]int64, t.Rows)
	words.Columns, words.Time = t.Rows, 1
	for i, id := range t.IDs {
		if id != tokenize.Pad {
			lengths[i/t.Width]++
			words.Time = max(words.Time, int(lengths[i/t.Width]))
		}
	}
	words.IDs = make([]int64, words.Time*t.Rows)
	for i := range words.IDs {
		words.IDs[i] = tokenize.Pad
	}
	next := make([]int, t.Rows)
	for i, id := range t.IDs {
		if row := i / t.Width; id != tokenize.Pad {
			words.IDs[next[row]*t.Rows+row] = id
			next[row]++
		}
	}
	return words, lengths
}

// wordVectors looks up word vectors [T,B,E] with the noise of the input side.
func (m *Attentional) wordVectors(e Embedder, x Chunk, s *torch.Stream) torch.Tensor {
	v_TBE := e.Lookup(x.tensor())
	if s != nil && m.WordDropout > 0 {
		keep_TB1 := torch.DropoutMask(m.WordDropout, s, v_TBE.DType(), m.device, int64(x.Time), int64(x.Columns), 1)
		v_TBE = v_TBE.Mul(keep_TB1)
	}
	return torch.LockedDropout(torch.Noise(v_TBE, m.InputNoise, s), m.VectorDropout, s)
}

// lockedMask is a mask of locked dropout [1,B,D], or the zero Tensor for none.
func (m *Attentional) lockedMask(p float64, rows int, s *torch.Stream) torch.Tensor {
	if s == nil || p == 0 {
		return torch.Tensor{}
	}
	return torch.DropoutMask(p, s, m.DType, m.device, 1, int64(rows), int64(m.Width))
}
