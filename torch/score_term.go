package torch

// #include "api.h"
import "C"

import "math"

// ScoreTerm is a term of the loss that depends on scores: what every target pays beside its cross-entropy. It sees
// clean scores, transformed where there is a transform, whatever a shift does to the target's. In a mixture every
// component has scores of its own, and a target pays the mean over them.
type ScoreTerm struct {
	// Loss gives the term [N] of each target, from scores [N,V] and targets [N]. Gradients flow through it.
	Loss func(scores_NV, targets_N Tensor) (loss_N Tensor)
	// LossOfLogProbs gives a term [C] of all log-probabilities [C,V] instead, which in a mixture are the mixture's. x has
	// the chunk's targets and rows.
	LossOfLogProbs func(logP_CV Tensor, x ScoreChunk) (loss_C Tensor)
	// Context has LossOfLogProbs find the options' Context as the first of x.Rows.
	Context bool
	// Fused has the fused kernels of a softmax and of a mixture pay the same; nil where they do not know the term.
	Fused FusedScoreTerm
	// Parameters are those that Loss uses, if it has any: they get gradients.
	Parameters []Tensor
}

// FusedScoreTerm sets what the fused kernels pay.
type FusedScoreTerm func(*C.ap_loss_options)

// FusedZLoss is the term zeta (log Z)^2, where Z is the sum of exponentials of a target's scores.
func FusedZLoss(zeta float64) FusedScoreTerm {
	return func(o *C.ap_loss_options) { o.z_loss += C.double(zeta) }
}

// ScoreTransform makes other scores of scores, [N,V] of [N,V], row by row. All that depends on scores sees the result
// alone, in training, evaluation and decoding. A shift of the target's score comes before it.
type ScoreTransform func(scores_NV Tensor) Tensor

// rows applies the transform to scores [...,V].
func (t ScoreTransform) rows(scores Tensor) Tensor {
	if t == nil {
		return scores
	}
	v := scores.Size(-1)
	return t(scores.Reshape(scores.Count()/v, v)).Reshape(scores.Shape()...)
}

// fused reports whether kernels compute all that the options ask for.
func (o SoftmaxLossOptions) fused() bool {
	for _, t := range o.Terms {
		if t.Fused == nil {
			return false
		}
	}
	return !o.Plain && o.Transform == nil && o.WeightGate == nil
}

// plainLoss is the loss of a softmax, or of a mixture of them, without fused kernels.
func plainLoss(op string, x LossOperands, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	return composedLoss(op, x, o, func(x ScoreChunk) Tensor { return x.Scores })
}

// ComposedSoftmaxLoss is the loss of a softmax over scores [C,V] that compose makes of a chunk: of outputs of linear
// layers and of the other operands, but for the context of the options, which comes first among the rows. The results
// are those of ShiftedSoftmaxLoss, the last the zero Tensor where there is no shift.
func ComposedSoftmaxLoss(x LossOperands, o SoftmaxLossOptions, compose func(ScoreChunk) Tensor) (loss, nll,
	shifted Tensor) {
	return composedLoss("ComposedSoftmaxLoss", x, o, compose)
}

// ComposedLogProbs are the log-probabilities [N,V] of the same softmax, without gradients, of transformed scores where
// the transform is not nil. Scores exist for a chunk of positions at a time; the operands have no targets.
func ComposedLogProbs(x LossOperands, transform ScoreTransform, compose func(ScoreChunk) Tensor) (logP_NV Tensor) {
	x.Targets = Zeros(Int64, CPU, x.Hidden.Size(0))
	_, values := scoreLoss("ComposedLogProbs", x, SoftmaxLossOptions{Ignore: -1, Evaluate: true},
		func(x ScoreChunk) (loss_C Tensor, values []Tensor) {
			logP_CV := transform.rows(compose(x)).LogSoftmax(-1)
			return logP_CV.Narrow(1, 0, 1).Reshape(-1), []Tensor{logP_CV}
		})
	return values[0]
}

func composedLoss(op string, x LossOperands, o SoftmaxLossOptions, compose func(ScoreChunk) Tensor) (loss, nll,
	shifted Tensor) {
	for _, t := range o.Terms {
		x.Whole = append(x.Whole, t.Parameters...)
	}
	if o.Context.Defined() {
		x.Rows = append([]Tensor{o.Context}, x.Rows...)
	}
	loss, values := scoreLoss(op, x, o, func(x ScoreChunk) (Tensor, []Tensor) {
		x.Scores = compose(x)
		return o.plain(x)
	})
	if len(values) > 1 {
		shifted = values[1]
	}
	return loss, values[0], shifted
}

// plain is the loss of a softmax, or of a mixture of them, of a chunk's positions: the definition that the fused
// kernels are compared with, and what computes a transform, or a term without a kernel. The values are the negative
// log-likelihood, and under a shift the one with it.
//
//	loss = on nll' + off sum_j -log p_j + terms - entropy
//
// where nll' is that with the target's score lowered by the shift. on, off and entropy are label smoothing's. The sum
// sees clean scores, for which off times nll' - nll is added, so that the target's own part of it is lowered too; or
// the shifted ones.
func (o SoftmaxLossOptions) plain(x ScoreChunk) (loss_C Tensor, values_C []Tensor) {
	index := x.Targets.Reshape(-1, 1)
	nll := func(logP_CV Tensor) Tensor { return logP_CV.Gather(1, index).Reshape(-1).Neg() }
	scores := o.Transform.rows(x.Scores)
	smoothed := x.logProbs(scores)
	clean := nll(smoothed)
	own := clean
	values_C = []Tensor{clean}
	if x.Shift.Defined() {
		lowered := x.logProbs(o.Transform.rows(x.lowered()))
		own = nll(lowered)
		values_C = append(values_C, own)
	}
	on, off, entropy := smoothingWeights(o.Smoothing, o.Epsilon, float64(scores.Size(-1)))
	loss_C = own.MulScalar(on)
	if off != 0 {
		loss_C = loss_C.Sub(smoothed.SumDim(1, false).MulScalar(off))
		if x.Shift.Defined() {
			loss_C = loss_C.Add(own.Sub(clean).MulScalar(off))
		}
	}
	for _, t := range o.Terms {
		if t.LossOfLogProbs != nil {
			loss_C = loss_C.Add(t.LossOfLogProbs(smoothed, x))
			continue
		}
		loss_C = loss_C.Add(x.pay(t, scores))
	}
	return loss_C.AddScalar(-entropy), values_C
}

// logProbs are the logarithms [C,V] of the probabilities that scores [C,V], or [C,K,V] with a prior, stand for.
func (x ScoreChunk) logProbs(scores Tensor) Tensor {
	logP := scores.LogSoftmax(-1)
	if !x.Prior.Defined() {
		return logP
	}
	return Scoped(func() Tensor {
		joint_CKV := logP.Add(x.Prior.LogSoftmax(1).Reshape(x.Prior.Size(0), x.Prior.Size(1), 1))
		most_C1V := joint_CKV.Detach().MaxDim(1, true)
		// Words that no component can give; LogSumExp's gradient is no number there.
		none_C1V := most_C1V.EqualScalar(math.Inf(-1))
		sum_C1V := joint_CKV.Sub(most_C1V.MaskedFill(none_C1V, 0)).Exp().SumDim(1, true)
		return sum_C1V.MaskedFill(none_C1V, 1).Log().Add(most_C1V).Reshape(logP.Size(0), logP.Size(2))
	})
}

// lowered are the scores with each target's less its shift.
func (x ScoreChunk) lowered() Tensor {
	c, v := x.Targets.Size(0), x.Scores.Size(-1)
	// [C,V]
	target := x.Targets.Reshape(-1, 1).Equal(Arange(v, x.Targets.Device())).To(x.Scores.DType(), x.Scores.Device())
	if !x.Prior.Defined() {
		return x.Scores.Sub(target.Mul(x.Shift.Reshape(c, 1)))
	}
	k := x.Prior.Size(1)
	return x.Scores.Sub(target.Reshape(c, 1, v).Mul(x.Shift.Reshape(c, k, 1)))
}

// pay is a term [C] of scores [C,V], or the mean over the K rows of scores [C,K,V].
func (x ScoreChunk) pay(t ScoreTerm, scores Tensor) Tensor {
	if !x.Prior.Defined() {
		return t.Loss(scores, x.Targets)
	}
	c, k, v := scores.Size(0), scores.Size(1), scores.Size(2)
	targets := x.Targets.Reshape(c, 1).Expand(c, k).Reshape(c * k)
	return t.Loss(scores.Reshape(c*k, v), targets).Reshape(c, k).MeanDim(1, false)
}
