package exchange

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
)

// Model is a trained translator as the writers take it.
type Model struct {
	Network
	// Tensors are the weights, with fairseq's names. The output matrix [V,D] is decoder.output_projection.weight, or
	// decoder.embed_tokens.weight where they are one; encoder.embed_tokens.weight is missing where all three are. The
	// position tables {encoder,decoder}.embed_positions.weight begin with the row of a sentence's first symbol; readers
	// leave out those that have a name.
	Tensors map[string]Tensor

	Text bitext.TextSettings // how text becomes symbols
	// the source's files of byte-pair codes and of counted pieces; nil where it has none
	Codes, Units []byte
	// SentencePiece are the models that split source and target, nil where data.source_units is another.
	SentencePiece  [2][]byte
	Source, Target []string // vocabularies, in the order of ids; the first four are the special ones
	Search         Search
	Card           Card
	Notes          []string // what a reader could not take over, in sentences
}

// Tensor is an array of numbers, row-major.
type Tensor struct {
	Shape  []int
	Values []float32
}

// Network is the shape of a Transformer, of whose two sides each has its own number of layers.
type Network struct {
	Width, FFNWidth, Heads       int
	EncoderLayers, DecoderLayers int
	MaxPositions                 int // symbols of the longest sentence, its end included
	PreNorm                      bool
	Positions                    Positions
	Activation                   string  // relu, gelu, gelu_tanh or swish
	Epsilon                      float64 // of LayerNorm
	ZeroStart                    bool    // the decoder's first input is a zero vector; else it is the embedding of </s>
	Dropout                      float64
	Attention                    float64 // dropout of attention weights
	Activations                  float64 // dropout within feed-forward layers
}

// Positions says what the position tables are.
type Positions string

// The positions that are known by a name: sinusoids whose frequencies are 10000^(-i/(h-1)), with the first symbol at 2
// or at 0, and those of 10000^(-i/h), as in Vaswani et al. (2017), from 0; h is half the width.
const (
	Table            Positions = "" // any other numbers
	FairseqPositions Positions = "fairseq"
	MarianPositions  Positions = "marian"
	VaswaniPositions Positions = "vaswani"
)

// Search are the settings of a beam search: the longest output has A times the symbols of the input, its end included,
// plus B.
type Search struct {
	Beam          int
	LengthPenalty float64
	A             float64
	B             int
	MinLength     int // pieces of the shortest output
	NoRepeatNgram int
	NoUnk         bool // the unknown word is never written
	// Stop is decode.stop, empty for "fairseq".
	Stop string
}

// Refusal says that a format cannot hold a model.
type Refusal struct {
	Sentence string
	Text     bool // only the text path is in the way: the model alone could be written
}

func (r *Refusal) Error() string { return r.Sentence }

func refuse(format string, args ...any) error {
	return &Refusal{Sentence: fmt.Sprintf(format, args...)}
}

// Names of tensors that several writers ask for.
const (
	encoderEmbedding  = "encoder.embed_tokens.weight"
	decoderEmbedding  = "decoder.embed_tokens.weight"
	outputMatrix      = "decoder.output_projection.weight"
	outputBias        = "decoder.output_projection.bias"
	encoderPositions  = "encoder.embed_positions.weight"
	decoderPositions  = "decoder.embed_positions.weight"
	normEpsilon       = 1e-5
	largestHalfNumber = 65504 // of float16
)

// input is the name of the encoder's embedding.
func (m *Model) input() string { return m.ownOr(encoderEmbedding) }

// output is the name of the output matrix.
func (m *Model) output() string { return m.ownOr(outputMatrix) }

func (m *Model) ownOr(name string) string {
	if _, own := m.Tensors[name]; own {
		return name
	}
	return decoderEmbedding
}

// oneMatrix reports whether both inputs and the output are one matrix.
func (m *Model) oneMatrix() bool {
	return m.input() == decoderEmbedding && m.output() == decoderEmbedding
}

// bias is the output's, nil where it has none.
func (m *Model) bias() []float32 { return m.Tensors[outputBias].Values }

// check says what is wrong with a weight, which is to be written in a format.
func (t Tensor) check(name string, f Format) error {
	n := 1
	for _, size := range t.Shape {
		n *= size
	}
	if n != len(t.Values) {
		return fmt.Errorf("%s has %d numbers where its shape %v wants %d", name, len(t.Values), t.Shape, n)
	}
	for _, x := range t.Values {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("the weight %s holds a number that is not finite: its training has diverged, or the file is "+
				"damaged: train it again at a lower rate, or get it again", name)
		}
		if f == Float16 && math.Abs(float64(x)) > largestHalfNumber {
			return fmt.Errorf("the weight %s holds %g, which is too large for float16: quantise to bfloat16, or not at all",
				name, x)
		}
	}
	return nil
}

// check says what is wrong with the weights, whatever the format: sizes that do not fit, and numbers that are none.
func (m *Model) check(o Options) error {
	for _, name := range slices.Sorted(maps.Keys(m.Tensors)) {
		if err := m.Tensors[name].check(name, o.Quantise); err != nil {
			return err
		}
	}
	rows := map[string]int{m.input(): len(m.Source), decoderEmbedding: len(m.Target), m.output(): len(m.Target)}
	for name, n := range rows {
		if t := m.Tensors[name]; !slices.Equal(t.Shape, []int{n, m.Width}) {
			return fmt.Errorf("%s has the shape %v where vocabulary and width want [%d %d]", name, t.Shape, n, m.Width)
		}
	}
	return nil
}

// tensor gives a weight that the network must have, of that shape.
func (m *Model) tensor(name string, shape ...int) (Tensor, error) {
	t, found := m.Tensors[name]
	if !found {
		return t, fmt.Errorf("the model has no weight %s, which its network wants", name)
	}
	if !slices.Equal(t.Shape, shape) {
		return t, fmt.Errorf("the weight %s has the shape %v where the network wants %v", name, t.Shape, shape)
	}
	return t, nil
}

// never are the ids that no translation holds.
var never = []int{tokenize.BOS, tokenize.Pad}
