package objectives

import (
	"github.com/aperture-ml/aperture/torch"
)

// Softmax is the softmax over the vocabulary with cross-entropy, with or without
// label smoothing and a trained bias, <output prefix>.bias, that starts at zero.
//
//	scores = Map(h) Weight^T + b,  nll = -log softmax(scores)[target]
//
// Training costs 3 N V D multiplications for N targets; scores exist for a chunk
// of rows at a time.
//
// A perturbation lowers the target's score in training. The mass that label
// smoothing shares out sees clean scores all the same, so that the loss of a row
// never falls by its perturbation; with SmoothShifted it sees what the target sees.
type Softmax struct {
	Smoothing     torch.Smoothing // whose definition of label smoothing
	Epsilon       float64         // label smoothing, 0 for none
	SmoothShifted bool
	Bias          bool

	perturbed
	embedding Embedding
	head      Head
	bias      torch.Tensor // [V], or the zero Tensor
	padding   int64
}

// Init takes the embedding's head and makes the bias.
func (l *Softmax) Init(e Embedding, p Place) error {
	if err := p.sameWidth(); err != nil {
		return err
	}
	l.embedding, l.head, l.padding = e, e.Head(), p.Padding
	if l.Bias {
		scope := torch.OpenScope()
		defer scope.Close()
		l.bias = p.Params.Add(p.Output+".bias", torch.Zeros(p.dtype(), p.Device, p.Vocabulary))
	}
	return nil
}

// Loss is the smoothed cross-entropy, summed and scaled, and the clean one by row.
func (l *Softmax) Loss(s States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor) {
	o := torch.SoftmaxLossOptions{Ignore: l.padding, Smoothing: l.Smoothing, Epsilon: l.Epsilon, SmoothShifted: l.SmoothShifted, Scale: scale}
	if l.by == nil {
		return torch.SoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, l.bias, targets, o)
	}
	shift := l.by.Shift(s.Hidden, func() torch.Tensor { return l.embedding.Lookup(targets) })
	loss, nll, shifted := torch.ShiftedSoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, l.bias, targets, shift, o)
	l.record(shifted, nll, scale)
	return loss, nll
}

// NLL is the clean negative log-likelihood by row.
func (l *Softmax) NLL(s States, targets torch.Tensor) (nll torch.Tensor) {
	torch.NoGrad(func() {
		nll = torch.Scoped(func() torch.Tensor {
			_, nll := torch.SoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, l.bias, targets, torch.SoftmaxLossOptions{
				Ignore: l.padding, Scale: 1, Evaluate: true,
			})
			return nll
		})
	})
	return nll
}

// LogProbs are log-probabilities over the vocabulary.
func (l *Softmax) LogProbs(hidden torch.Tensor) (logProbs torch.Tensor) {
	torch.NoGrad(func() {
		logProbs = torch.Scoped(func() torch.Tensor {
			return torch.Linear(l.head.Map(hidden), l.head.Weight, l.bias).LogSoftmax(-1)
		})
	})
	return logProbs
}

// SoftmaxHead gives what a plain softmax over the whole vocabulary scores with,
// for a search that takes scores and the best of them in one pass: the head and
// the bias [V] or the zero Tensor. Other likelihoods have none.
func (o *Output) SoftmaxHead() (head Head, bias torch.Tensor, ok bool) {
	l, ok := o.method.Likelihood.(*Softmax)
	if !ok {
		return Head{}, torch.Tensor{}, false
	}
	return l.head, l.bias, true
}
