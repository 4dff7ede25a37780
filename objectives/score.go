package objectives

import "github.com/aperture-ml/aperture/torch"

// LossTerm is what a method does inside the operator that turns scores into a loss: a [ScoreTerm], a [ScoreTransform],
// or [LabelSmoothing]. Every likelihood of the softmax family applies it.
type LossTerm interface {
	// Apply sets the operator's options.
	Apply(o *torch.SoftmaxLossOptions)
}

// BatchTerm is a term that sees the targets of each batch before its loss.
type BatchTerm interface {
	LossTerm
	// Batch is given targets [N], those of ignore count as nothing, and the factor of the summed loss: 0 where the
	// batch belongs to no update.
	Batch(targets_N torch.Tensor, ignore int64, scale float64)
}

// WholeTerm is a term that needs all words in one softmax.
type WholeTerm interface {
	LossTerm
	WholeVocabulary() bool
}

// ScoreTerm is what every target pays in training beside its cross-entropy, a plain function of scores. A mixture pays
// the mean over its components, an adaptive softmax for the head, and for a tail where the target is in one.
type ScoreTerm torch.ScoreTerm

// WholeVocabulary is said of terms of log-probabilities.
func (t ScoreTerm) WholeVocabulary() bool { return t.LossOfLogProbs != nil }

// Apply adds the term.
func (t ScoreTerm) Apply(o *torch.SoftmaxLossOptions) { o.Terms = append(o.Terms, torch.ScoreTerm(t)) }

// ScoreTransform makes other scores [N,V] of scores [N,V], row by row, before anything else sees them: in training,
// evaluation and decoding. A perturbation lowers the target's score before it. In an adaptive softmax the rows are
// those of the head or of a tail.
type ScoreTransform torch.ScoreTransform

// Apply puts the transform behind those that are there.
func (t ScoreTransform) Apply(o *torch.SoftmaxLossOptions) {
	before := o.Transform
	o.Transform = torch.ScoreTransform(t)
	if before != nil {
		o.Transform = func(scores_NV torch.Tensor) torch.Tensor { return t(before(scores_NV)) }
	}
}

// transforms reports whether terms do something to scores that evaluation sees as well.
func transforms(terms []LossTerm) bool {
	var o torch.SoftmaxLossOptions
	for _, t := range terms {
		t.Apply(&o)
	}
	return o.Transform != nil
}
