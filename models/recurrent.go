package models

import (
	"fmt"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: T time steps, B columns, N = T B rows, D width, V vocabulary.

// RecurrentConfig says what recurrent language model to build.
type RecurrentConfig struct {
	Width      int   // D, of the embedding
	Hidden     int   // H of every layer but the last
	LastWidth  int   // of the last layer; 0 stands for D, which a tied output layer needs
	Layers     int   // at least one
	Vocabulary int64 // V, words that the embedding knows
	Noise      Noise // of training; it may be changed between chunks
	DType      torch.DType
}

// complete checks the sizes of what is to be built and fills in the last layer's.
func (c *RecurrentConfig) complete(what string) error {
	if c.Layers < 1 || c.Width < 1 || c.Hidden < 1 || c.LastWidth < 0 {
		return fmt.Errorf("%s needs at least one layer of at least one unit, not model.layers %d, model.width %d and model.hidden %d", what, c.Layers, c.Width, c.Hidden)
	}
	if c.LastWidth == 0 {
		c.LastWidth = c.Width
	}
	return nil
}

// layerWidth is that of one layer.
func (c *RecurrentConfig) layerWidth(layer int) int64 {
	if layer == c.Layers-1 {
		return int64(c.LastWidth)
	}
	return int64(c.Hidden)
}

// Noise is what training does to a recurrent language model, as AWD-LSTM does
// (Merity, Keskar and Socher 2018). All of it is off in evaluation.
type Noise struct {
	EmbeddingDropout float64 // of whole words on the input side
	InputDropout     float64 // locked, of word vectors
	LayerDropout     float64 // locked, between layers
	OutputDropout    float64 // locked, of the last layer's output
	WeightDrop       float64 // of elements of weight matrices
	InputNoise       float64 // standard deviation of what is added to each element of a word vector
	AR               float64 // weight of the mean square of the last layer's dropped output
	TAR              float64 // weight of the mean square of its raw output's changes over time
}

// lockedDropout drops elements of x [T,B,D] by one mask for all time steps, drawn
// for each column: variational dropout (Gal and Ghahramani 2016).
func lockedDropout(x_TBD torch.Tensor, p float64, s *torch.Stream) torch.Tensor {
	if s == nil || p == 0 {
		return x_TBD
	}
	ones_1BD := torch.Full(1, x_TBD.DType(), x_TBD.Device(), 1, x_TBD.Size(1), x_TBD.Size(2))
	return x_TBD.Mul(torch.Dropout(ones_1BD, p, s))
}

// wordVectors looks up a chunk [T,B,D] with the noise of the input side. A word
// that embedding dropout drops vanishes from the whole chunk.
func wordVectors(e Embedder, vocabulary int64, x Chunk, n Noise, device torch.Device, s *torch.Stream) torch.Tensor {
	ids_TB := x.tensor(device)
	v_TBD := e.Lookup(ids_TB)
	if s == nil {
		return v_TBD
	}
	if n.EmbeddingDropout > 0 {
		keep_V1 := torch.Dropout(torch.Full(1, v_TBD.DType(), device, vocabulary, 1), n.EmbeddingDropout, s)
		v_TBD = v_TBD.Mul(torch.Embedding(keep_V1, ids_TB, -1))
	}
	v_TBD = torch.Noise(v_TBD, n.InputNoise, s)
	return lockedDropout(v_TBD, n.InputDropout, s)
}

// outputs makes the states of a recurrent model from its last layer's output, with
// activation regularisation and its temporal form (Merity, McCann and Socher 2017).
func outputs(raw_TBD torch.Tensor, n Noise, s *torch.Stream) TextStates {
	steps, columns, width := raw_TBD.Size(0), raw_TBD.Size(1), raw_TBD.Size(2)
	dropped_TBD := lockedDropout(raw_TBD, n.OutputDropout, s)
	states := TextStates{Hidden: dropped_TBD.Reshape(steps*columns, width), Raw: raw_TBD.Reshape(steps*columns, width), Columns: columns}
	if s == nil || raw_TBD.Count() == 0 {
		return states
	}
	if n.AR > 0 {
		states.Terms = append(states.Terms, Term{"ar", n.AR, dropped_TBD.Square().Mean()})
	}
	if n.TAR > 0 && steps > 1 {
		change := raw_TBD.Narrow(0, 1, steps-1).Sub(raw_TBD.Narrow(0, 0, steps-1))
		states.Terms = append(states.Terms, Term{"tar", n.TAR, change.Square().Mean()})
	}
	return states
}
