package objectives

import (
	"errors"
	"fmt"

	"github.com/aperture-ml/aperture/torch"
)

// Config says for which vocabulary and width an output layer is made, where its parameters go and how they start.
type Config struct {
	Vocabulary int64 // V, rows of W
	Width      int64 // D, columns of W
	// columns of hidden states where they are not those of W, which mixtures of softmaxes and continuous likelihoods can
	// score; 0 is Width
	Hidden  int64
	Padding int64 // the symbol whose row starts at zero and whose targets count as nothing; -1 for none
	// symbols at the front of the vocabulary that are no words: start and end of a sentence, padding, unknown
	Specials int64

	SGD bool // weights move by their gradients times a rate, as under SGD

	Vectors    torch.Tensor // [V,M] target vectors, which continuous methods need; any length, zero for none
	OutputOnly bool         // no model reads word vectors through Lookup

	Params    *torch.Params // takes the parameters
	Embedding string        // prefix of the embedding's names, e.g. decoder.embed_tokens
	Output    string        // prefix of the likelihood's own names, e.g. decoder.output_projection
	Stream    *torch.Stream // draws initial values
	Device    torch.Device
	DType     torch.DType // of the parameters; 0 is float32
	// the baseline's W, and the maps of continuous methods, start uniform between -Uniform and it; 0 is normal
	Uniform   float64
	Deviation float64 // of the baseline's W where it is normal; 0 is D^-1/2

	kept *kept // of the layer; nil where a table is made alone
}

// kept is what the pieces of a layer keep beside their parameters. A piece adds to it in Init, by methods of its
// [Config].
type kept struct {
	tensors []torch.Tensor
	shared  []torch.Tensor
	buffers map[string]torch.Tensor
	streams map[string]*torch.Stream
	draws   *torch.Stream // of initial values beside W
	rows    []string      // names of parameters
	reports []func() map[string]float64
}

// keep keeps tensors until the layer is freed.
func (p Config) keep(tensors ...torch.Tensor) {
	torch.Keep(tensors...)
	if p.kept != nil {
		p.kept.tensors = append(p.kept.tensors, tensors...)
	}
}

// buffer keeps a tensor that is not trained but belongs in a checkpoint. It may be assigned to, not replaced.
func (p Config) buffer(name string, x torch.Tensor) {
	p.keep(x)
	if p.kept != nil {
		p.kept.buffers[name] = x
	}
}

// share keeps a tensor that every process adds to in an update, and that holds the sum of theirs when penalties come.
func (p Config) share(x torch.Tensor) {
	p.keep(x)
	if p.kept != nil {
		p.kept.shared = append(p.kept.shared, x)
	}
}

// draws are those of initial values that a layer has beside W. They have a stream of their own, so that the network,
// which draws from Stream after the layer, begins alike with every method.
func (p Config) draws() *torch.Stream {
	if p.kept == nil {
		return p.Stream
	}
	return p.kept.draws
}

// stream derives a stream that training draws from, whose offset belongs in a checkpoint.
func (p Config) stream(name string) *torch.Stream {
	s := p.Stream.Derive(name)
	if p.kept != nil {
		p.kept.streams[name] = s
	}
	return s
}

// scoredAsRows says that a parameter is scored as rows of W are, in the form of the head's weight.
func (p Config) scoredAsRows(name string) {
	if p.kept != nil {
		p.kept.rows = append(p.kept.rows, name)
	}
}

// beside are, of weights by name, those that are scored as rows of W are; k may be nil.
func (k *kept) beside(weights map[string]torch.Tensor) (rows []torch.Tensor) {
	if k == nil {
		return nil
	}
	for _, name := range k.rows {
		rows = append(rows, weights[name])
	}
	return rows
}

// report has values tracked by name. Reading them may wait for the device.
func (p Config) report(values func() map[string]float64) {
	if p.kept != nil {
		p.kept.reports = append(p.kept.reports, values)
	}
}

func (p Config) dtype() torch.DType {
	if p.DType == 0 {
		return torch.Float32
	}
	return p.DType
}

// hidden is the width of hidden states.
func (p Config) hidden() int64 {
	if p.Hidden > 0 {
		return p.Hidden
	}
	return p.Width
}

// startMap draws the weight [D,K] and the bias [D] of a map in float64 on the CPU: normal with that deviation and 0, or
// uniform where the configuration says so.
func (p Config) startMap(deviation float64, width, from int64) (weight, bias torch.Tensor) {
	if p.Uniform > 0 {
		weight = p.draws().Uniform(-p.Uniform, p.Uniform, torch.Float64, torch.CPU, width, from)
		return weight, p.draws().Uniform(-p.Uniform, p.Uniform, torch.Float64, torch.CPU, width)
	}
	return p.draws().Normal(0, deviation, torch.Float64, torch.CPU, width, from),
		torch.Zeros(torch.Float64, torch.CPU, width)
}

// check says what is wrong with a configuration.
func (p Config) check() error {
	switch {
	case p.Vocabulary < 1 || p.Width < 1:
		return fmt.Errorf("an output layer needs at least one symbol and one column, not a matrix of %d by %d",
			p.Vocabulary, p.Width)
	case p.Padding < -1 || p.Padding >= p.Vocabulary:
		return fmt.Errorf("padding is symbol %d of a vocabulary of %d; -1 stands for none", p.Padding, p.Vocabulary)
	case p.Params == nil || p.Stream == nil:
		return errors.New("an output layer needs a list that takes its parameters and a stream that draws their " +
			"initial values")
	}
	return nil
}

// sameWidth is a [WidthError] where a likelihood cannot take hidden states to the columns of W. mixes says that the
// mixture of softmaxes, which has a map between them, can take its place.
func (p Config) sameWidth(mixes bool) error {
	if p.hidden() != p.Width {
		return &WidthError{p.hidden(), p.Width, mixes}
	}
	return nil
}

// WidthError says that hidden states do not have the columns of W, and that the likelihood has no map between them.
type WidthError struct {
	Hidden, Matrix int64
	Mixes          bool // whether the method joins with mos
}

func (e *WidthError) Error() string {
	advice := "make the two equal"
	if e.Mixes {
		advice += ", or join the method with mos"
	}
	return fmt.Sprintf("hidden states have %d columns and the output matrix %d: %s", e.Hidden, e.Matrix, advice)
}

// rows counts the rows of W that do not stand for padding.
func (p Config) rows() int64 {
	if p.Padding >= 0 {
		return p.Vocabulary - 1
	}
	return p.Vocabulary
}

// keepRows is [V,1]: 0 at the padding's row, 1 elsewhere, in float64 on the CPU.
func (p Config) keepRows() torch.Tensor {
	ones := torch.Full(1, torch.Float64, torch.CPU, p.Vocabulary, 1)
	if p.Padding < 0 {
		return ones
	}
	padding := torch.Arange(p.Vocabulary, torch.CPU).EqualScalar(float64(p.Padding)).Reshape(-1, 1)
	return ones.MaskedFill(padding, 0)
}
