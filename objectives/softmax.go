package objectives

import (
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// mle is maximum likelihood with a softmax, the control of all other methods.
var mle = Method{
	Name:    "mle",
	Summary: "softmax with cross-entropy and label smoothing, the control of all others",
	Formula: "-log softmax(W h)[y]", Parameters: "none", Cost: "none",
	Settings: []any{SoftmaxSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		return Pieces{Embedding: &Dense{}, Likelihood: &Softmax{Bias: Of[SoftmaxSettings](s).Bias}}
	},
}

// SoftmaxSettings are the keys of every method with a softmax.
type SoftmaxSettings struct {
	LabelSmoothing float64 `toml:"label_smoothing" default:"0.1" range:"[0,1)" help:"probability taken from the target and shared among the others"`
	Smoothing      string  `toml:"smoothing" default:"fairseq" choice:"fairseq pytorch t2t" help:"whose definition of label smoothing; they share the mass differently"`
	Bias           bool    `toml:"bias" init:"keep" default:"false" help:"add a trained bias to the scores"`
}

var smoothings = map[string]torch.Smoothing{"fairseq": torch.SmoothingFairseq, "pytorch": torch.SmoothingPyTorch,
	"t2t": torch.SmoothingT2T}

// labelSmoothing is that of the settings.
func labelSmoothing(s Settings) LabelSmoothing {
	o := Of[SoftmaxSettings](s)
	return LabelSmoothing{Kind: smoothings[o.Smoothing], Epsilon: o.LabelSmoothing}
}

// LabelSmoothing takes Epsilon of the target's mass and shares it among the vocabulary.
//
// The mass that it shares out sees clean scores where a perturbation lowers the target's, but for the target's own
// share of it, so that the loss of a row never falls by its perturbation.
type LabelSmoothing struct {
	Kind    torch.Smoothing // whose definition
	Epsilon float64         // 0 for none
}

// Apply sets the options of smoothing.
func (t LabelSmoothing) Apply(o *torch.SoftmaxLossOptions) {
	o.Smoothing, o.Epsilon = t.Kind, t.Epsilon
}

// softmaxTraining is what the likelihoods of the softmax family share: what is done to their scores and their loss, and
// what the perturbation of their targets' scores adds to it.
type softmaxTraining struct {
	by    Perturbation // or nil
	terms []LossTerm
	gain  updateSum // what the perturbation adds to the mean loss
}

// training makes what embeds it a [SoftmaxLikelihood].
func (l *softmaxTraining) training() *softmaxTraining { return l }

// options are those of the training loss, with targets that count as nothing and the scale of the sum.
func (l *softmaxTraining) options(ignore int64, scale float64) torch.SoftmaxLossOptions {
	o := torch.SoftmaxLossOptions{Ignore: ignore, Scale: scale}
	for _, t := range l.terms {
		t.Apply(&o)
	}
	return o
}

// optionsOf are those of the training loss of a batch, whose context is made where a term reads it.
func (l *softmaxTraining) optionsOf(s torch.States, targets torch.Tensor, ignore int64,
	scale float64) torch.SoftmaxLossOptions {
	o := l.options(ignore, scale)
	for _, t := range l.terms {
		if t, ok := t.(BatchTerm); ok {
			t.Batch(targets, ignore, scale)
		}
	}
	if slices.ContainsFunc(o.Terms, func(t torch.ScoreTerm) bool { return t.Context }) {
		o.Context = wordsBefore(s, targets, ignore)
	}
	return o
}

// clean are the options of evaluation: of what training does, only the transform of scores is left.
func (l *softmaxTraining) clean(ignore int64) torch.SoftmaxLossOptions {
	return torch.SoftmaxLossOptions{Ignore: ignore, Scale: 1, Evaluate: true, Transform: l.transform()}
}

// transform is that of the scores, or nil.
func (l *softmaxTraining) transform() torch.ScoreTransform { return l.options(none, 1).Transform }

// transformed are scores [N,V] as the loss sees them.
func (l *softmaxTraining) transformed(scores_NV torch.Tensor) torch.Tensor {
	if t := l.transform(); t != nil {
		return t(scores_NV)
	}
	return scores_NV
}

// record adds what a batch's perturbation added to its loss, from negative
// log-likelihoods [N] with and without it. Nothing waits for the device.
func (l *softmaxTraining) record(shifted_N, clean_N torch.Tensor, scale float64) {
	torch.ScopedNoGrad(func() { l.gain.add(shifted_N.Sub(clean_N).Sum().MulScalar(scale)) })
}

// updateSum is a number of an update, to which each of its batches adds. The zero value has had none.
type updateSum struct {
	value torch.Tensor // kept; the zero Tensor before the first batch
	ended bool         // the next batch begins another update
}

// add adds a batch's number, without a gradient, in the scope of the caller.
func (s *updateSum) add(x torch.Tensor) {
	switch {
	case !s.value.Defined():
		s.value = x
		torch.Keep(x)
	case s.ended:
		s.value.Assign(x)
	default:
		s.value.Assign(s.value.Add(x))
	}
	s.ended = false
}

// Softmax is the softmax over the vocabulary with cross-entropy, with or without
// label smoothing and a trained bias, <output prefix>.bias, that starts at zero.
//
//	scores = Map(h) Weight^T + b,  nll = -log softmax(scores)[target]
//
// Training costs 3 N V D multiplications for N targets; scores exist for a chunk of rows at a time.
//
// A perturbation lowers the target's score in training. Legend: N rows, V vocabulary, D width.
type Softmax struct {
	Bias bool

	softmaxTraining
	embedding Embedding
	head      Head
	bias_V    torch.Tensor // or the zero Tensor
	padding   int64
}

// Init takes the embedding's head and makes the bias.
func (l *Softmax) Init(e Embedding, p Config) error {
	if err := p.sameWidth(true); err != nil {
		return err
	}
	l.embedding, l.head, l.padding = e, e.Head(), p.Padding
	if l.Bias {
		scope := torch.OpenScope()
		defer scope.Close()
		l.bias_V = p.Params.Add(p.Output+".bias", torch.Zeros(p.dtype(), p.Device, p.Vocabulary))
	}
	return nil
}

// Loss is the smoothed cross-entropy, summed and scaled, and the clean one by row.
func (l *Softmax) Loss(s torch.States, targets_N torch.Tensor, scale float64) (loss, nll_N torch.Tensor) {
	o := l.optionsOf(s, targets_N, l.padding, scale)
	if l.by == nil {
		return torch.SoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, l.bias_V, targets_N, o)
	}
	shift_N := l.by.Shift(s.Hidden, func() torch.Tensor {
		return l.embedding.Lookup(targets_N.To(torch.Int64,
			s.Hidden.Device()))
	})
	loss, nll_N, shifted_N := torch.ShiftedSoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, l.bias_V, targets_N,
		shift_N, o)
	l.record(shifted_N, nll_N, scale)
	return loss, nll_N
}

// NLL is the clean negative log-likelihood by row.
func (l *Softmax) NLL(s torch.States, targets_N torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		_, nll_N := torch.SoftmaxLoss(l.head.Map(s.Hidden), l.head.Weight, l.bias_V, targets_N, l.clean(l.padding))
		return nll_N
	})
}

// LogProbs are log-probabilities over the vocabulary.
func (l *Softmax) LogProbs(hidden_ND torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		return l.transformed(torch.Linear(l.head.Map(hidden_ND), l.head.Weight, l.bias_V)).LogSoftmax(-1)
	})
}

// Search says that a search can score and choose in one pass, unless a transform comes between.
func (l *Softmax) Search() Search {
	return Search{Softmax: l.transform() == nil, Head: l.head, Bias: l.bias_V}
}

// Operations are 3 N V K multiplications, and those of the head's map.
func (l *Softmax) Operations(w Work) torch.Operations {
	n := int64(len(w.Targets))
	scores := torch.ProductOperations(n, l.head.Weight.Size(1), l.head.Weight.Size(0)).AtOnce()
	return scores.Plus(w.Embedding(Work{Scored: n}))
}
