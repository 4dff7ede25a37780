package objectives

import (
	"fmt"

	"github.com/aperture-ml/aperture/torch"
)

// Embedding says how the matrix W [V,D] of an output layer is parameterised.
// Row i of W belongs to symbol i of the vocabulary.
type Embedding interface {
	// Init makes the parameters at p. It comes before every other method.
	Init(p Place) error
	// Lookup gives rows of W: for ids [...] the result is [...,D].
	Lookup(ids torch.Tensor) torch.Tensor
	// Head gives W as scoring needs it, without making W.
	Head() Head
	// Size is (V, D).
	Size() (vocabulary, width int64)
	// Matrix makes W [V,D], without a gradient. It is for measures, never for a step.
	Matrix() torch.Tensor
}

// Head scores hidden states against a vocabulary: for h [...,D] the scores are
// Map(h) Weight^T, [...,V]. Likelihoods that score some rows only take those
// rows of Weight.
type Head struct {
	Weight torch.Tensor                      // [V,K]
	Map    func(h torch.Tensor) torch.Tensor // [...,D] to [...,K]
}

// States are hidden states by row, padding removed, with the place that each row
// came from: what shares one mask over time draws it by column.
type States struct {
	Hidden  torch.Tensor // [N,D]
	Time    []int64      // [N] position in its sequence, or nil where the model does not say
	Column  []int64      // [N] column of the batch, in [0, Columns), or nil
	Columns int64        // columns of the batch
}

// Likelihood scores hidden states against targets.
type Likelihood interface {
	// Init makes the likelihood's own parameters at p. It comes after e.Init and
	// before every other method.
	Init(e Embedding, p Place) error
	// Loss is the training loss, perturbed where asked for: summed over targets
	// [N] that are not padding and times scale, without dimensions; and the clean
	// negative log-likelihood of each row [N], in nats, 0 at padding, without a
	// gradient.
	Loss(s States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor)
	// NLL is the clean negative log-likelihood [N] alone, as evaluation needs it:
	// no gradients, smoothing, noise or perturbation.
	NLL(s States, targets torch.Tensor) torch.Tensor
	// LogProbs gives log-probabilities [N,V] of hidden states [N,D] for decoding,
	// without gradients.
	LogProbs(hidden torch.Tensor) torch.Tensor
}

// Perturbable is a likelihood with a softmax, whose targets' scores can be
// perturbed in training.
type Perturbable interface {
	Likelihood
	// Perturb comes before every Loss.
	Perturb(p Perturbation)
}

// Perturbation is what training does to the score of each target.
type Perturbation interface {
	// Shift gives what is taken off the targets' scores [...], at least 0, for
	// hidden states [...,D]. rows makes the targets' rows of W [...,D], or of a
	// shape that broadcasts to it; it is called at most once, and not where they
	// are not needed. Gradients flow through what Shift returns, so it decides
	// itself what is differentiated.
	Shift(hidden torch.Tensor, rows func() torch.Tensor) torch.Tensor
}

// Aimed is a likelihood that predicts a vector, and not how probable each word is.
type Aimed interface {
	Likelihood
	// Density reports whether the clean loss is minus a log-density; if not, it is a
	// distance.
	Density() bool
	// Nearest gives the k nearest target vectors of hidden states [N,D], best first:
	// scores as LogProbs has them, and ids, both [N,k].
	Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor)
}

// Regularizer is what W pays, or must obey. It is a Penalty, a Constraint, or both.
type Regularizer interface {
	// Init ties the regularizer to the embedding. It comes after e.Init and gives
	// an error where e has not what is regularized.
	Init(e Embedding, p Place) error
}

// Penalty is a term of the loss that depends on the weights alone, evaluated
// once per update.
type Penalty interface {
	Regularizer
	// Name names the term in metrics.
	Name() string
	// Penalty is the term, weighted, without dimensions.
	Penalty() torch.Tensor
}

// Constraint acts on the weights after an optimizer's step.
type Constraint interface {
	Regularizer
	// Constrain changes the weights in place, for the step's learning rate.
	Constrain(rate float64)
}

// GradientTransform is a regularizer that changes gradients before they are clipped:
// it scales some, or keeps some directions out.
type GradientTransform interface {
	Regularizer
	// TransformGradients changes those of an update in place, once all are collected.
	TransformGradients()
}

// Grouped is a regularizer that has gradients clipped apart.
type Grouped interface {
	Regularizer
	// Groups are parameters whose joint norm is clipped by itself, outside that of
	// all others.
	Groups() [][]torch.Tensor
}

// Normaliser is a piece to which a mean of weights is not yet weights of its kind.
type Normaliser interface {
	// Normalise mends averaged weights in place; it is given all by name.
	Normalise(weights map[string]torch.Tensor)
}

// Buffered is a piece that keeps tensors which are not trained but belong in a
// checkpoint.
type Buffered interface {
	// Buffers gives them by name. They may be assigned to, not replaced.
	Buffers() map[string]torch.Tensor
}

// Reporter is a piece with values that are worth tracking.
type Reporter interface {
	// Report gives those of the last update by name. Reading them waits for the device.
	Report() map[string]float64
}

// Place is where an output layer is made, and how large.
type Place struct {
	Vocabulary int64 // V, rows of W
	Width      int64 // D, columns of W
	Hidden     int64 // columns of hidden states where they are not those of W, which mixtures of softmaxes and continuous likelihoods can score; 0 is Width
	Padding    int64 // the symbol whose row starts at zero and whose targets count as nothing; -1 for none

	Vectors    torch.Tensor // [V,M] target vectors, which continuous methods need; any length, zero for none
	OutputOnly bool         // no model reads word vectors through Lookup

	Params    *torch.Params // takes the parameters
	Embedding string        // prefix of the embedding's names, e.g. decoder.embed_tokens
	Output    string        // prefix of the likelihood's own names, e.g. decoder.output_projection
	Stream    *torch.Stream // draws initial values
	Device    torch.Device
	DType     torch.DType // of the parameters; 0 is float32
	Uniform   float64     // the baseline's W starts uniform between -Uniform and it; 0 is normal
	Deviation float64     // of the baseline's W where it is normal; 0 is D^-1/2
}

func (p Place) dtype() torch.DType {
	if p.DType == 0 {
		return torch.Float32
	}
	return p.DType
}

// hidden is the width of hidden states.
func (p Place) hidden() int64 {
	if p.Hidden > 0 {
		return p.Hidden
	}
	return p.Width
}

// sameWidth is an error where a likelihood cannot take hidden states to the columns of W.
func (p Place) sameWidth() error {
	if p.hidden() != p.Width {
		return fmt.Errorf("hidden states have %d columns and the output matrix %d: make them as many, or join the method with mos", p.hidden(), p.Width)
	}
	return nil
}

// rows counts the rows of W that do not stand for padding.
func (p Place) rows() int64 {
	if p.Padding >= 0 {
		return p.Vocabulary - 1
	}
	return p.Vocabulary
}

// keepRows is [V,1]: 0 at the padding's row, 1 elsewhere, in float64 on the CPU.
func (p Place) keepRows() torch.Tensor {
	ones := torch.Full(1, torch.Float64, torch.CPU, p.Vocabulary, 1)
	if p.Padding < 0 {
		return ones
	}
	padding := torch.Arange(p.Vocabulary, torch.CPU).EqualScalar(float64(p.Padding)).Reshape(-1, 1)
	return ones.MaskedFill(padding, 0)
}
