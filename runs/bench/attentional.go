package main

import (
	"fmt"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Legend: B sentences, S and T words of the longest source and target, N real words of
// targets, E width of word vectors, D width of states.

// attentional is the translator that the von Mises-Fisher output layer was published on
// (Kumar and Tsvetkov 2019), as its authors' program builds it: a bidirectional LSTM
// reads the source; the decoder is another, which begins with the encoder's last state
// and at each step reads a word and the attentional state before (Luong et al. 2015):
//
//	a = softmax over the source of H W_a s_t,   o_t = tanh(W_c [a H; s_t])
//
// for the encoder's outputs H and the decoder's state s_t. o_t is what an output layer
// scores. Unlike there, attention does not see padding.
type attentional struct {
	attentionalSize
	source, target models.Embedder
	encoder        [][2]torch.LSTMWeights // by layer: forwards and backwards, D/2 units each
	decoder        []torch.LSTMWeights
	query, mix     torch.Tensor // W_a [D,D], W_c [D,2D]
}

// attentionalSize is how large it is.
type attentionalSize struct {
	vocabulary, words, width int64 // of either language; E; D
	layers                   int   // of either side
	vectors                  int64 // components of target vectors
}

// publishedAttentional has its authors' sizes.
var publishedAttentional = attentionalSize{vocabulary: 50000, words: 512, width: 1024, layers: 2, vectors: 300}

// newAttentional makes the network and its output layer: "vmf", whose target vectors are
// the decoder's input too, or "mle", a softmax beside which the decoder has word vectors
// of its own. All weights but the vectors' maps are uniform between -0.1 and 0.1.
// Parameters have the peer's names.
func newAttentional(n attentionalSize, method string, p *torch.Params) (*attentional, *objectives.Output, error) {
	scope := torch.OpenScope()
	defer scope.Close()
	const uniform = 0.1
	stream := torch.NewStream(1, "init")
	add := func(name string, shape ...int64) torch.Tensor {
		return p.Add(name, stream.Uniform(-uniform, uniform, torch.Float32, torch.CPU, shape...))
	}
	lstm := func(prefix, suffix string, from, width int64) torch.LSTMWeights {
		return torch.LSTMWeights{
			Input: add(prefix+"weight_ih"+suffix, 4*width, from), Hidden: add(prefix+"weight_hh"+suffix, 4*width, width),
			InputBias: add(prefix+"bias_ih"+suffix, 4*width), HiddenBias: add(prefix+"bias_hh"+suffix, 4*width),
		}
	}
	table := func(language string) (*objectives.Dense, error) {
		return objectives.NewTable(objectives.Config{Vocabulary: n.vocabulary, Width: n.words, Padding: tokenize.Pad,
			Params: p, Embedding: language, Stream: stream, Device: torch.CPU, Uniform: uniform})
	}
	source, err := table("source")
	if err != nil {
		return nil, nil, err
	}
	m := &attentional{attentionalSize: n, source: source}
	from, fed := n.words, n.words+n.width
	for i := range n.layers {
		suffix := fmt.Sprintf("_l%d", i)
		m.encoder = append(m.encoder, [2]torch.LSTMWeights{
			lstm("encoder.", suffix, from, n.width/2), lstm("encoder.", suffix+"_reverse", from, n.width/2),
		})
		m.decoder = append(m.decoder, lstm(fmt.Sprintf("decoder.%d.", i), "", fed, n.width))
		from, fed = n.width, n.width
	}
	m.query, m.mix = add("query.weight", n.width, n.width), add("mix.weight", n.width, 2*n.width)
	settings := unsmoothed()
	settings.Method = method
	config := objectives.Config{Vocabulary: n.vocabulary, Width: n.width, Padding: tokenize.Pad,
		Params: p, Embedding: "generator", Output: "generator", Stream: stream, Device: torch.CPU, Uniform: uniform}
	if method == "mle" {
		settings.Bias, config.OutputOnly = true, true
		if m.target, err = table("target"); err != nil {
			return nil, nil, err
		}
	} else {
		config.Embedding, config.Width, config.Hidden = "target", n.words, n.width
		config.Vectors = stream.Normal(0, 1, torch.Float32, torch.CPU, n.vocabulary, n.vectors)
	}
	output, err := objectives.New(settings, config)
	if err == nil && m.target == nil {
		m.target = output
	}
	return m, output, err
}

// Forward gives the states of a batch's real target words [N,D], sentence by sentence.
func (m *attentional) Forward(batch *corpus.Batch) torch.Tensor {
	rows, steps := int64(batch.Rows), int64(batch.T)
	memory_BSD, state := m.encode(batch)
	attention := m.attention(memory_BSD, batch)
	words_TBE := m.target.Lookup(torch.FromInt64s(batch.Prev, torch.CPU, rows, steps).Transpose(0, 1))

	// Words are known beforehand, so their part of the first layer's gates is one product.
	ofWords, ofState := split(m.decoder[0].Input, m.words, m.width)
	bias := func(w torch.LSTMWeights) torch.Tensor { return w.InputBias.Add(w.HiddenBias) }
	gates_TB4D := torch.Linear(words_TBE, ofWords, bias(m.decoder[0]))
	var matrices, biases []torch.Tensor
	for i, w := range m.decoder {
		input := w.Input
		if i == 0 {
			input = ofState
		}
		matrices = append(matrices, torch.Repeated(torch.Cat([]torch.Tensor{input, w.Hidden}, 1)))
		biases = append(biases, bias(w).Expand(rows, 4*m.width))
	}
	out_BD := torch.Zeros(torch.Float32, torch.CPU, rows, m.width)
	var outs []torch.Tensor
	for _, gates := range gates_TB4D.Split(0, slices.Repeat([]int64{1}, batch.T)...) {
		biases[0] = gates.Reshape(rows, 4*m.width)
		x := out_BD
		for i, matrix := range matrices {
			s := &state[i]
			s.h, s.c = cell(torch.RepeatedLinear(torch.Cat([]torch.Tensor{x, s.h}, 1), matrix, biases[i]), s.c)
			x = s.h
		}
		out_BD = attention(x)
		outs = append(outs, out_BD)
	}
	hidden_ND := torch.Stack(outs, 1).Reshape(rows*steps, m.width)
	if batch.Tokens < batch.Rows*batch.T {
		hidden_ND = hidden_ND.IndexSelect(0, torch.FromInt64s(batch.Target, torch.CPU, rows*steps).EqualScalar(tokenize.Pad).Not().Nonzero().Reshape(-1))
	}
	return hidden_ND
}

// lstmState is the state of a layer, both [B,D].
type lstmState struct{ h, c torch.Tensor }

// cell is a step of an LSTM layer behind its products: gates [B,4D] as torch.LSTM orders
// them, and the state c.
func cell(gates_B4D, c_BD torch.Tensor) (h, c torch.Tensor) {
	d := c_BD.Size(1)
	gates := gates_B4D.Split(1, d, d, d, d)
	c = gates[1].Sigmoid().Mul(c_BD).Add(gates[0].Sigmoid().Mul(gates[2].Tanh()))
	return gates[3].Sigmoid().Mul(c.Tanh()), c
}

// encode gives the outputs for sources, 0 at padding, and the state after them: of each
// layer, both directions side by side.
func (m *attentional) encode(batch *corpus.Batch) (memory_BSD torch.Tensor, state []lstmState) {
	ids_SB := torch.FromInt64s(batch.Source, torch.CPU, int64(batch.Rows), int64(batch.S)).Transpose(0, 1)
	var lengths []int64
	for _, length := range batch.SourceLengths {
		lengths = append(lengths, int64(length))
	}
	if slices.Min(lengths) == int64(batch.S) {
		lengths = nil
	}
	x := m.source.Lookup(ids_SB)
	for _, w := range m.encoder {
		var out, h, c [2]torch.Tensor
		for i := range w {
			out[i], h[i], c[i] = torch.LSTM(x, torch.Tensor{}, torch.Tensor{}, w[i], torch.LSTMOptions{Lengths: lengths, Reverse: i == 1})
		}
		x = torch.Cat(out[:], 2)
		state = append(state, lstmState{torch.Cat(h[:], 1), torch.Cat(c[:], 1)})
	}
	return x.Transpose(0, 1).Contiguous(), state
}

// attention gives the function from a decoder's state to an attentional one.
func (m *attentional) attention(memory_BSD torch.Tensor, batch *corpus.Batch) func(state_BD torch.Tensor) torch.Tensor {
	rows, words := int64(batch.Rows), int64(batch.S)
	padding_B1S := torch.FromInt64s(batch.Source, torch.CPU, rows, 1, words).EqualScalar(tokenize.Pad)
	apart_B1S := torch.Zeros(torch.Float32, torch.CPU, rows, 1, words).MaskedFill(padding_B1S, -1e30)
	keys := torch.Repeated(torch.Linear(memory_BSD, m.query.Transpose(0, 1), torch.Tensor{}))
	values := torch.Repeated(memory_BSD.Transpose(1, 2))
	mix := torch.Repeated(m.mix)
	return func(state_BD torch.Tensor) torch.Tensor {
		weights_B1S := torch.RepeatedLinear(state_BD.Reshape(rows, 1, m.width), keys, apart_B1S).Softmax(-1)
		context_B1D := torch.RepeatedLinear(weights_B1S, values, torch.Tensor{})
		return torch.RepeatedLinear(torch.Cat([]torch.Tensor{context_B1D.Reshape(rows, m.width), state_BD}, 1), mix, torch.Tensor{}).Tanh()
	}
}

// split cuts a matrix into its first columns and its last ones.
func split(matrix torch.Tensor, first, last int64) (a, b torch.Tensor) {
	parts := matrix.Split(1, first, last)
	return parts[0], parts[1]
}
