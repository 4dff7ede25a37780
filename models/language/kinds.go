package language

import (
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// kind is what is known of one value of model.kind.
type kind struct {
	name string
	make func(s Settings, vocabulary int64, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (models.LanguageModel, error)
	// start says how word vectors start.
	start func(c *objectives.Config)
	// check says what is wrong with the sizes, where more can be than the keys' ranges say; nil finds nothing.
	check func(s models.Settings) error
	// activations estimates the numbers that each token of a batch keeps for the backward pass, beside its word
	// vectors.
	activations func(s models.Settings) int64
	// width is that of the layers whose products take most of training, and beside how wide they are where all else
	// that training computes takes as long, on a CPU.
	width  func(s models.Settings) int
	beside int
	// reading is how many columns' products take as long as reading the recurrent weights, which each step of a text
	// does anew where they are larger than a processor's own cache; 0 where no step reads them.
	reading float64
	// seesChunks: what the network sees depends on the chunks that a text is read in, so that texts are scored in those
	// of training.
	seesChunks bool
}

var kinds = []kind{
	{
		name: "awd-lstm", width: hidden, beside: 90, reading: 4.4,
		make: func(s Settings, v int64, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (models.LanguageModel, error) {
			return models.NewAWDLSTM(s.recurrent(v), input, p, stream, d)
		},
		start: uniform, activations: recurrentActivations,
	},
	{
		name: "qrnn", width: hidden, beside: 310,
		make: func(s Settings, v int64, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (models.LanguageModel, error) {
			return models.NewQRNN(s.recurrent(v), input, p, stream, d)
		},
		start: uniform, activations: recurrentActivations,
	},
	{
		name: "gru", width: hidden, beside: 1400,
		make: func(s Settings, v int64, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (models.LanguageModel, error) {
			return models.NewGRU(s.recurrent(v), input, p, stream, d)
		},
		start: uniform,
		// The operators of a step keep 14 vectors where the LSTM's single one keeps 9.
		activations: func(s models.Settings) int64 { return recurrentActivations(s) * 14 / 9 },
	},
	{
		name: "transformer-xl", width: func(s models.Settings) int { return s.Width }, beside: 125,
		make: func(s Settings, _ int64, input models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (models.LanguageModel, error) {
			return models.NewTransformerXL(models.TransformerXLConfig{Settings: s.Model, DType: torch.Float32}, input, p, stream, d)
		},
		start: func(c *objectives.Config) { c.Deviation = 0.02 },
		// As a layer of a Transformer's encoder.
		activations: func(s models.Settings) int64 { return int64(s.Layers * (16*s.Width + 2*s.FFNWidth)) },
		seesChunks:  true,
		check: func(s models.Settings) error {
			if s.LastHidden != 0 {
				return fmt.Errorf("model.last_hidden = %d: all layers of a transformer-xl are as wide as its embedding; set it to 0", s.LastHidden)
			}
			return s.CheckHeads()
		},
	},
}

// uniform starts word vectors between -0.1 and 0.1, as AWD-LSTM does.
func uniform(c *objectives.Config) { c.Uniform = 0.1 }

func (s Settings) recurrent(vocabulary int64) models.RecurrentConfig {
	return models.RecurrentConfig{Settings: s.Model, ActivationSettings: s.Train.ActivationSettings, Vocabulary: vocabulary, DType: torch.Float32}
}

// recurrentActivations counts, for each layer, the input, four gates, the cell, its tanh, the output and a mask.
func recurrentActivations(s models.Settings) (perToken int64) {
	for i := range s.Layers {
		h := int64(s.Hidden)
		if i == s.Layers-1 {
			h = int64(max(s.LastHidden, s.Width))
		}
		perToken += 9 * h
	}
	return perToken
}

// Kinds lists the values of model.kind that are language models.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

func kindOf(name string) (kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("model.kind = %q is no language model: it wants %s", name, strings.Join(Kinds(), ", "))
}

// Activations estimates the numbers that a batch of the given number of tokens keeps for its backward pass.
func (s Settings) Activations(tokens int) int64 {
	k, err := kindOf(s.Model.Kind)
	if err != nil {
		return 0
	}
	return int64(tokens) * (int64(4*s.Model.Width) + k.activations(s.Model))
}

// ownCache is the size of the cache that a processor's core has to itself, 2 MiB on those of today.
const ownCache = 2 << 20

// Reaches is the share of the rate of a large product of matrices at which batches of the given number of columns are
// trained on, as measured on a CPU: docs/scale.md.
func (s Settings) Reaches(columns int) float64 {
	k, _ := kindOf(s.Model.Kind)
	width := k.width(s.Model)
	share := float64(width) / float64(width+k.beside)
	if 4*width*width*4 > ownCache && k.reading > 0 {
		share = min(share, float64(columns)/(float64(columns)+k.reading))
	}
	return share
}

func hidden(s models.Settings) int { return s.Hidden }
