package translation

import (
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// Network is a network that translates.
type Network interface {
	// Forward gives the hidden states from which the tokens after prev are predicted; a nil stream is evaluation.
	Forward(source, prev models.Tokens, s *torch.Stream) torch.States
	// Operations are those of Forward in training, whatever words the batch has.
	Operations(source, prev models.Tokens) torch.Operations
	// Decoder prepares for search.
	Decoder() models.Decoder
	// SetInputNoise sets the standard deviation of the noise on word vectors.
	SetInputNoise(deviation float64)
	// Free frees what the network holds beside its parameters.
	Free()
}

// kind is what is known of one value of model.kind.
type kind struct {
	name string
	make func(s models.Settings, source, target models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (Network, error)
	// check says what is wrong with the sizes, where more can be than the keys' ranges say.
	check func(s models.Settings) error
	// start says how wide the network's word vectors are beside its states, and how weights start; nil leaves both as
	// they are.
	start func(s models.Settings, c *objectives.Config)
	// activations estimates the numbers that each token of a batch keeps for the backward pass.
	activations func(s models.Settings) int64
	// beside is how wide layers are whose products take as long as all else that training computes, on a CPU.
	beside int
}

var kinds = []kind{
	{
		name: "transformer", beside: 125,
		make: func(s models.Settings, source, target models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (Network, error) {
			return models.NewTransformer(models.TransformerConfig{Settings: s, DType: torch.Float32}, source, target, p, stream, d)
		},
		check: func(s models.Settings) error {
			if s.Positions == "sinusoidal" && s.Width%2 != 0 {
				return fmt.Errorf("model.width = %d is odd: sinusoidal positions want it even", s.Width)
			}
			return s.CheckHeads()
		},
		// About 16 vectors of the model's width and 2 of the inner width for each layer of an encoder, half as much
		// again for one of a decoder.
		activations: func(s models.Settings) int64 {
			return int64(16*s.Width+2*s.FFNWidth) * int64(2*s.EncoderLayers+3*s.DecoderLayers) / 2
		},
	},
	{
		name: "attentional", beside: 110,
		make: func(s models.Settings, source, target models.Embedder, p *torch.Params, stream *torch.Stream, d torch.Device) (Network, error) {
			return models.NewAttentional(models.AttentionalConfig{Settings: s, DType: torch.Float32}, source, target, p, stream, d)
		},
		check: models.Settings.CheckAttentional,
		start: func(s models.Settings, c *objectives.Config) {
			c.Width, c.Hidden, c.Uniform = int64(s.WordVectors()), int64(s.Width), s.Range(s.Width)
		},
		// For each layer its input, four gates, the cell, its tanh, the output and a mask; the context beside the
		// state, the attentional state and its mask, the encoder's outputs twice; and both sides' word vectors with
		// their noise.
		activations: func(s models.Settings) int64 {
			return int64(9*s.Width*(s.EncoderLayers+s.DecoderLayers) + 6*s.Width + 4*s.WordVectors())
		},
	},
}

// Kinds lists the values of model.kind that translate.
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
	return kind{}, fmt.Errorf("model.kind = %q does not translate: it wants %s", name, strings.Join(Kinds(), ", "))
}

// Activations estimates the numbers that a batch of the given number of tokens keeps for its backward pass.
func (s Settings) Activations(tokens int) int64 {
	k, err := kindOf(s.Model.Kind)
	if err != nil {
		return 0
	}
	return int64(tokens) * k.activations(s.Model)
}

// Reaches is the share of the rate of a large product of matrices at which training computes, as measured on a CPU:
// docs/scale.md.
func (s Settings) Reaches() float64 {
	k, _ := kindOf(s.Model.Kind)
	return float64(s.Model.Width) / float64(s.Model.Width+k.beside)
}
