package models

import (
	"fmt"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: T time steps, B columns, N = T B rows, D width, V vocabulary.

// RecurrentSettings are the keys of recurrent language models: sizes, and what training does to them as AWD-LSTM does
// (Merity, Keskar and Socher 2018). All noise is off in evaluation.
type RecurrentSettings struct {
	Hidden     int `toml:"hidden" default:"1150" range:"[1,65536]" help:"units of each recurrent layer but the last"`
	LastHidden int `toml:"last_hidden" default:"0" range:"[0,65536]" help:"units of the last recurrent layer; 0 is width, which an output layer that reads them as they are wants"`

	DropoutEmbedding float64 `toml:"dropout_embedding" init:"free" default:"0.1" range:"[0,1)" help:"dropout of whole words on the input side"`
	DropoutInput     float64 `toml:"dropout_input" init:"free" default:"0.4" range:"[0,1)" help:"locked dropout of word vectors"`
	DropoutHidden    float64 `toml:"dropout_hidden" init:"free" default:"0.25" range:"[0,1)" help:"locked dropout between recurrent layers"`
	WeightDrop       float64 `toml:"weight_drop" init:"free" default:"0.5" range:"[0,1)" help:"dropout of the recurrent weights' elements"`
}

// ActivationSettings are keys of the section train: terms that recurrent models add to the loss (Merity, McCann and
// Socher 2017).
type ActivationSettings struct {
	AR  float64 `toml:"ar" default:"0.0" range:"[0,inf)" help:"weight of the mean square of the last layer's dropped output, activation regularisation"`
	TAR float64 `toml:"tar" default:"0.0" range:"[0,inf)" help:"weight of the mean square of the changes of its output over time, temporal activation regularisation"`
}

// complete checks the sizes of what is to be built and fills in the last layer's.
func (c *Config) completeRecurrent(what string) error {
	if c.Layers < 1 || c.Width < 1 || c.Hidden < 1 || c.LastHidden < 0 {
		return fmt.Errorf("%s needs at least one layer of at least one unit, not model.layers %d, model.width %d and "+
			"model.hidden %d", what, c.Layers, c.Width, c.Hidden)
	}
	if c.LastHidden == 0 {
		c.LastHidden = c.Width
	}
	return nil
}

// layerWidth is that of one layer.
func (c *Config) layerWidth(layer int) int64 {
	if layer == c.Layers-1 {
		return int64(c.LastHidden)
	}
	return int64(c.Hidden)
}

// wordVectors looks up a chunk [T,B,D] with the noise of the input side. A word
// that embedding dropout drops vanishes from the whole chunk.
func (c *Config) wordVectors(e Embedder, x Chunk, device torch.Device, s *torch.Stream) torch.Tensor {
	ids_TB := x.tensor()
	v_TBD := e.Lookup(ids_TB)
	if s == nil {
		return v_TBD
	}
	if c.DropoutEmbedding > 0 {
		keep_V1 := torch.DropoutMask(c.DropoutEmbedding, s, v_TBD.DType(), device, c.Vocabulary, 1)
		v_TBD = v_TBD.Mul(torch.Embedding(keep_V1, ids_TB, -1))
	}
	v_TBD = torch.Noise(v_TBD, c.InputNoise, s)
	return torch.LockedDropout(v_TBD, c.DropoutInput, s)
}

// outputs makes the states of a recurrent model from its last layer's output, with
// activation regularisation and its temporal form (Merity, McCann and Socher 2017).
func (c *Config) outputs(raw_TBD torch.Tensor, s *torch.Stream) torch.States {
	steps, columns, width := raw_TBD.Size(0), raw_TBD.Size(1), raw_TBD.Size(2)
	dropped_TBD := torch.LockedDropout(raw_TBD, c.Dropout, s)
	states := chunkStates(dropped_TBD.Reshape(steps*columns, width), raw_TBD.Reshape(steps*columns, width), columns)
	if s == nil || raw_TBD.Count() == 0 {
		return states
	}
	if c.AR > 0 {
		states.Terms = append(states.Terms, torch.Term{Name: "ar", Weight: c.AR, Value: torch.MeanSquare(dropped_TBD)})
	}
	if c.TAR > 0 && steps > 1 {
		states.Terms = append(states.Terms, torch.Term{Name: "tar", Weight: c.TAR,
			Value: torch.MeanSquareChange(raw_TBD)})
	}
	return states
}
