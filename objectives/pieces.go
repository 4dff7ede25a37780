package objectives

import "github.com/aperture-ml/aperture/torch"

// The kinds of pieces come first, then what some of them can do besides. A piece of hidden states is a [StatePenalty].
// What a piece keeps, it tells its [Config].

// Embedding says how the matrix W [V,D] of an output layer is parameterised.
// Row i of W belongs to symbol i of the vocabulary.
type Embedding interface {
	// Init makes the parameters at p. It comes before every other method.
	Init(p Config) error
	// Lookup gives rows of W: for ids [...] the result is [...,D].
	Lookup(ids torch.Tensor) torch.Tensor
	// Head gives W as scoring needs it, without making W.
	Head() Head
	// Size is (V, D).
	Size() (vocabulary, width int64)
	// Matrix makes W [V,D], without a gradient. It is for measures, never for a step.
	Matrix() torch.Tensor
}

// Head scores hidden states against a vocabulary: for h [...,D] the scores are Map(h) Weight^T, [...,V]. Likelihoods
// that score some rows only take those rows of Weight.
type Head struct {
	Weight torch.Tensor                      // [V,K]
	Map    func(h torch.Tensor) torch.Tensor // [...,D] to [...,K]
	// rows [R,K] as Weight has them to those [R,D] of W; nil where they are the same
	Rows func(rows torch.Tensor) torch.Tensor
}

// Likelihood scores hidden states against targets.
type Likelihood interface {
	// Init makes the likelihood's own parameters at p. It comes after e.Init and before every other method.
	Init(e Embedding, p Config) error
	// Loss is the training loss, perturbed where asked for: summed over targets [N] that are not padding and times
	// scale, without dimensions; and the clean negative log-likelihood of each row [N], in nats, 0 at padding, without
	// a gradient. Targets may lie on the host whatever the device of the states, and should: nothing then waits for the
	// device.
	Loss(s torch.States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor)
	// NLL is the clean negative log-likelihood [N] alone, as evaluation needs it:
	// no gradients, smoothing, noise or perturbation.
	NLL(s torch.States, targets torch.Tensor) torch.Tensor
	// LogProbs gives log-probabilities [N,V] of hidden states [N,D] for decoding, without gradients; what is no softmax
	// gives the scores that stand for them, minus the clean loss of each word.
	LogProbs(hidden torch.Tensor) torch.Tensor
}

// SoftmaxLikelihood is a likelihood with a softmax, which embeds what training does to its loss.
type SoftmaxLikelihood interface {
	Likelihood
	training() *softmaxTraining
}

// Perturbation is what training does to the score of each target.
type Perturbation interface {
	// Name names it in metrics.
	Name() string
	// Shift gives what is taken off the targets' scores [...], at least 0, for hidden states [...,D]. rows makes the
	// targets' rows of W [...,D], or of a shape that broadcasts to it; it is called at most once, and not where they
	// are not needed. Gradients flow through what Shift returns, so it decides itself what is differentiated.
	Shift(hidden torch.Tensor, rows func() torch.Tensor) torch.Tensor
}

// Regularizer acts on W: as a Penalty, which is added to the loss, as a Constraint, which changes the weights, or as
// both.
type Regularizer interface {
	// Init ties the regularizer to the embedding. It comes after e.Init and gives
	// an error where e lacks what is regularized.
	Init(e Embedding, p Config) error
}

// Penalty is a term of the loss that depends on the weights alone, evaluated once per update.
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

// AverageFixer is a piece whose weights have a property that their average lacks: the average of orthonormal matrices
// is not orthonormal.
type AverageFixer interface {
	// FixAverage gives averaged weights that property again, in place; weights are all parameters by name.
	FixAverage(weights map[string]torch.Tensor)
}

// Searched is a likelihood that a search reads in another way than by LogProbs, or that gives words no probability.
type Searched interface {
	Likelihood
	Search() Search
}

// Search says how a search reads a likelihood. The zero Search reads LogProbs, which are those of words.
type Search struct {
	// Softmax is set where the likelihood is one softmax over the whole vocabulary, of Head's scores and Bias [V] (or
	// the zero Tensor), which a search can take in one pass with the choice of the best.
	Softmax bool
	Head    Head
	Bias    torch.Tensor

	// Nearest is set where the likelihood predicts a vector: it gives the k nearest target vectors of hidden states
	// [N,D], best first, as scores like those of LogProbs, and ids, both [N,k].
	Nearest func(hidden torch.Tensor, k int) (scores, ids torch.Tensor)
	// Distance is set where the clean loss of such a likelihood is a distance, and not minus a log-density.
	Distance bool
}
