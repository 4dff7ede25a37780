package objectives

import (
	"fmt"

	"github.com/aperture-ml/aperture/torch"
)

// Embedding says how the matrix W [V,D] of an output layer is parameterised.
// Row i of W belongs to symbol i of the vocabulary.
type Embedding interface {
	// Init makes the parameters at p. It comes before every other method.
	Init(p Config) error
	// Lookup gives rows of W: for ids [...] the result is [...,D].
	Lookup(ids torch.Tensor) torch.Tensor
	// LookupOperations are those of Lookup for so many rows.
	LookupOperations(rows int64) torch.Operations
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
	Row    torch.Operations                  // of Map, for each row
}

// Likelihood scores hidden states against targets.
type Likelihood interface {
	// Init makes the likelihood's own parameters at p. It comes after e.Init and
	// before every other method.
	Init(e Embedding, p Config) error
	// Loss is the training loss, perturbed where asked for: summed over targets
	// [N] that are not padding and times scale, without dimensions; and the clean
	// negative log-likelihood of each row [N], in nats, 0 at padding, without a
	// gradient. Targets may lie on the host whatever the device of the states, and
	// should: nothing then waits for the device.
	Loss(s torch.States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor)
	// NLL is the clean negative log-likelihood [N] alone, as evaluation needs it:
	// no gradients, smoothing, noise or perturbation.
	NLL(s torch.States, targets torch.Tensor) torch.Tensor
	// LogProbs gives log-probabilities [N,V] of hidden states [N,D] for decoding,
	// without gradients.
	LogProbs(hidden torch.Tensor) torch.Tensor
	// Operations are those of Loss for these targets, none of them padding.
	Operations(targets []int64) torch.Operations
}

// SoftmaxLikelihood is a likelihood with a softmax: training may perturb its targets' scores and add terms to its loss.
type SoftmaxLikelihood interface {
	Likelihood
	// Train comes before every Loss; p may be nil.
	Train(p Perturbation, terms []LossTerm)
	// CloseUpdate says that the next batch belongs to another update.
	CloseUpdate()
}

// FusedSoftmax is a likelihood that is a softmax over the whole vocabulary, which a search can take in one pass with the
// choice of the best scores. A likelihood that embeds [Softmax] is one too.
type FusedSoftmax interface {
	// SoftmaxHead is what scores are made with: the head, and the bias [V] or the zero Tensor. ok is false where more is done
	// to them before the softmax.
	SoftmaxHead() (head Head, bias_V torch.Tensor, ok bool)
}

// FrequencyOrdered is a likelihood that depends on the order of the vocabulary.
type FrequencyOrdered interface {
	// FrequentFirst reports whether frequent words must come first.
	FrequentFirst() bool
}

// RowOwner is a likelihood with parameters that are scored as rows of W are.
type RowOwner interface {
	// OwnRows gives them by name, in the form of the head's weight.
	OwnRows() map[string]torch.Tensor
}

// Streamed is a piece that draws random numbers in training.
type Streamed interface {
	// Streams gives its streams by name; their offsets belong in a checkpoint.
	Streams() map[string]*torch.Stream
}

// TargetTable is an embedding of given vectors of whole words.
type TargetTable interface {
	Embedding
	TargetTable()
}

// Simplifier is an embedding whose factors can be multiplied out.
type Simplifier interface {
	Embedding
	// Simplify puts W in the place of its factors, in weights by name.
	Simplify(weights map[string]torch.Tensor)
	// Multiply gives the rows [R,D] of W's kind that rows [R,K] of the head's weight's kind stand for.
	Multiply(rows torch.Tensor) torch.Tensor
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

// VectorLikelihood is a likelihood that predicts a vector instead of a probability for each word.
type VectorLikelihood interface {
	Likelihood
	// Density reports whether the clean loss is minus a log-density; if not, it is a
	// distance.
	Density() bool
	// Nearest gives the k nearest target vectors of hidden states [N,D], best first:
	// scores as LogProbs has them, and ids, both [N,k].
	Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor)
}

// Regularizer acts on W: as a Penalty, which is added to the loss, as a Constraint, which changes the weights, or as both.
type Regularizer interface {
	// Init ties the regularizer to the embedding. It comes after e.Init and gives
	// an error where e lacks what is regularized.
	Init(e Embedding, p Config) error
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

// Multiplier is a regularizer that makes products of W's size.
type Multiplier interface {
	Regularizer
	// Operations are those of an update, all of them behind its last batch.
	Operations() torch.Operations
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

// ClipGrouped is a regularizer that has gradients clipped in groups of their own.
type ClipGrouped interface {
	Regularizer
	// Groups are parameters whose joint norm is clipped by itself, outside that of
	// all others.
	Groups() [][]torch.Tensor
}

// AverageFixer is a piece whose weights have a property that their average lacks: the average of orthonormal matrices is not
// orthonormal.
type AverageFixer interface {
	// FixAverage gives averaged weights that property again, in place; weights are all parameters by name.
	FixAverage(weights map[string]torch.Tensor)
}

// Buffered is a piece that keeps tensors which are not trained but belong in a
// checkpoint.
type Buffered interface {
	// Buffers gives them by name. They may be assigned to, not replaced.
	Buffers() map[string]torch.Tensor
}

// Reporter is a piece with values to track.
type Reporter interface {
	// Report gives those of the last update by name. Reading them waits for the device.
	Report() map[string]float64
}

// Freed is a piece that keeps tensors beside its parameters.
type Freed interface {
	// Free frees them.
	Free()
}

// Config says for which vocabulary and width an output layer is made, where its parameters go and how they start.
type Config struct {
	Vocabulary int64 // V, rows of W
	Width      int64 // D, columns of W
	Hidden     int64 // columns of hidden states where they are not those of W, which mixtures of softmaxes and continuous likelihoods can score; 0 is Width
	Padding    int64 // the symbol whose row starts at zero and whose targets count as nothing; -1 for none

	SGD bool // weights move by their gradients times a rate, as under SGD

	Vectors    torch.Tensor // [V,M] target vectors, which continuous methods need; any length, zero for none
	OutputOnly bool         // no model reads word vectors through Lookup

	Params    *torch.Params // takes the parameters
	Embedding string        // prefix of the embedding's names, e.g. decoder.embed_tokens
	Output    string        // prefix of the likelihood's own names, e.g. decoder.output_projection
	Stream    *torch.Stream // draws initial values
	Device    torch.Device
	DType     torch.DType // of the parameters; 0 is float32
	Uniform   float64     // the baseline's W, and the maps of continuous methods, start uniform between -Uniform and it; 0 is normal
	Deviation float64     // of the baseline's W where it is normal; 0 is D^-1/2
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
		weight = p.Stream.Uniform(-p.Uniform, p.Uniform, torch.Float64, torch.CPU, width, from)
		return weight, p.Stream.Uniform(-p.Uniform, p.Uniform, torch.Float64, torch.CPU, width)
	}
	return p.Stream.Normal(0, deviation, torch.Float64, torch.CPU, width, from), torch.Zeros(torch.Float64, torch.CPU, width)
}

// sameWidth is a [WidthError] where a likelihood cannot take hidden states to the columns of W.
func (p Config) sameWidth() error {
	if p.hidden() != p.Width {
		return &WidthError{p.hidden(), p.Width}
	}
	return nil
}

// WidthError says that hidden states do not have the columns of W, and that the likelihood has no map between them.
type WidthError struct{ Hidden, Matrix int64 }

func (e *WidthError) Error() string {
	return fmt.Sprintf("hidden states have %d columns and the output matrix %d: make them as many, or join the method with mos", e.Hidden, e.Matrix)
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
