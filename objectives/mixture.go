package objectives

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// mos is the mixture of softmaxes: a likelihood.
var mos = Method{
	Name:    "mos",
	Summary: "a mixture of K softmaxes",
	Paper:   "Yang et al. 2018",
	Formula: "-log sum_k softmax(P h)_k softmax(W tanh(L_k h + l_k))[y]", Parameters: "K D^2 + 2 K D",
	Cost:     "K output layers in place of one, and 3 N K D^2 multiplications for the latent states",
	Settings: []any{SoftmaxSettings{}, MixtureSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		m := Of[MixtureSettings](s)
		return Pieces{Likelihood: &Mixture{Components: m.MixtureComponents, Dropout: m.MixtureDropout,
			Bias: Of[SoftmaxSettings](s).Bias}}
	},
}

// MixtureSettings are the keys of the mixture of softmaxes.
type MixtureSettings struct {
	MixtureComponents int     `toml:"mixture_components" init:"keep" default:"15" range:"[1,1000]" help:"mos: softmaxes in the mixture"`
	MixtureDropout    float64 `toml:"mixture_dropout" default:"0.29" range:"[0,1)" help:"mos: dropout of latent states, one mask for each column of a batch and softmax"`
}

// Mixture is the mixture of softmaxes (Yang et al. 2018, "Breaking the softmax bottleneck"), which lifts the limit that
// the width D sets on the rank of the matrix of log-probabilities: every hidden state h makes K latent states, each
// with a softmax of its own over the same W and bias, and a prior over the K.
//
//	pi = softmax(P h)               P [K,H], without a bias
//	u_k = drop(tanh(L_k h + l_k))   L [K D,H], l [K D]
//	P(j) = sum_k pi_k softmax(W u_k + b)_j
//
// The dropout of latent states is locked: one mask for each column of the batch and component, for all time.
//
// Departures from the authors' code: it adds 1e-8 to P before the logarithm, which bounds a loss at 18.4 nats and lets
// probabilities sum to 1 + 1e-8 V; here log P is exact. Label smoothing, which they do not have, takes -log P(j) of
// every word j. A perturbation lowers the target's score in each component by what its own latent state says, as theirs
// does.
//
// Training costs 3 N K V D multiplications for N targets, K times those of a softmax, and 3 N K H D for the latent
// states; scores exist for a chunk of rows at a time.
//
// Legend: N positions, K components, H width of hidden states, D columns of W, V vocabulary.
type Mixture struct {
	Components int     // K
	Dropout    float64 // of latent states
	Bias       bool    // a trained bias b [V] that starts at zero

	softmaxTraining
	embedding          Embedding
	head               Head
	prior, latent, own torch.Tensor // P, L, l
	bias               torch.Tensor // or the zero Tensor
	noise              *torch.Stream
	padding, width     int64
}

// Init makes <prefix>.prior.weight, .latent.weight and .latent.bias, uniform
// within 1/sqrt(H) as PyTorch starts linear maps, and .bias.
func (l *Mixture) Init(e Embedding, p Config) error {
	scope := torch.OpenScope()
	defer scope.Close()
	l.embedding, l.head, l.padding, l.width = e, e.Head(), p.Padding, p.Width
	l.noise = p.stream("latent dropout")
	k, hidden := int64(l.Components), p.hidden()
	bound := 1 / math.Sqrt(float64(hidden))
	add := func(name string, shape ...int64) torch.Tensor {
		return p.Params.Add(p.Output+name, p.draws().Uniform(-bound, bound, torch.Float64, torch.CPU,
			shape...).To(p.dtype(), p.Device))
	}
	l.prior = add(".prior.weight", k, hidden)
	l.latent, l.own = add(".latent.weight", k*p.Width, hidden), add(".latent.bias", k*p.Width)
	if l.Bias {
		l.bias = p.Params.Add(p.Output+".bias", torch.Zeros(p.dtype(), p.Device, p.Vocabulary))
	}
	return nil
}

// states makes latent states [N,K,D] of hidden states [N,H].
func (l *Mixture) states(hidden torch.Tensor) torch.Tensor {
	return torch.Linear(hidden, l.latent, l.own).Tanh().Reshape(hidden.Size(0), int64(l.Components), l.width)
}

// drop applies the locked dropout to latent states [N,K,D]. Where the model does
// not say which column a row is of, every row is one.
func (l *Mixture) drop(latent torch.Tensor, s torch.States) torch.Tensor {
	if l.Dropout == 0 || s.Column == nil {
		return torch.Dropout(latent, l.Dropout, l.noise)
	}
	var mask torch.Tensor // [Columns,K,D]
	torch.NoGrad(func() {
		ones := torch.Full(1, latent.DType(), latent.Device(), s.Columns, latent.Size(1), latent.Size(2))
		mask = torch.Dropout(ones, l.Dropout, l.noise)
		mask = mask.IndexSelect(0, torch.FromInt64s(s.Column, latent.Device(), int64(len(s.Column))))
	})
	return latent.Mul(mask)
}

// Loss is the cross-entropy of the mixture, smoothed and perturbed where asked
// for, summed and scaled, and the clean one by row.
func (l *Mixture) Loss(s torch.States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor) {
	latent := l.drop(l.states(s.Hidden), s)
	var shift torch.Tensor // [N,K]
	if l.by != nil {
		shift = l.by.Shift(latent, func() torch.Tensor {
			return l.embedding.Lookup(targets.To(torch.Int64, latent.Device()).Reshape(-1, 1))
		})
	}
	loss, nll, shifted := torch.MixtureLoss(l.head.Map(latent), torch.Linear(s.Hidden, l.prior, torch.Tensor{}),
		l.head.Weight, l.bias, targets, shift,
		l.optionsOf(s, targets, l.padding, scale))
	if l.by != nil {
		l.record(shifted, nll, scale)
	}
	return loss, nll
}

// NLL is the clean negative log-likelihood by row, without dropout.
func (l *Mixture) NLL(s torch.States, targets torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		prior := torch.Linear(s.Hidden, l.prior, torch.Tensor{})
		_, nll, _ := torch.MixtureLoss(l.head.Map(l.states(s.Hidden)), prior, l.head.Weight, l.bias, targets,
			torch.Tensor{},
			l.clean(l.padding))
		return nll
	})
}

// LogProbs are log-probabilities over the vocabulary, without dropout.
func (l *Mixture) LogProbs(hidden torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		prior := torch.Linear(hidden, l.prior, torch.Tensor{})
		return torch.MixtureLogProbs(l.head.Map(l.states(hidden)), prior, l.head.Weight, l.bias, l.transform())
	})
}

// Operations are those of a softmax for each component, of the latent states and of the prior.
func (l *Mixture) Operations(w Work) torch.Operations {
	n, components, hidden := int64(len(w.Targets)), int64(l.Components), l.prior.Size(1)
	scores := torch.ProductOperations(n*components, l.head.Weight.Size(1), l.head.Weight.Size(0)).AtOnce()
	states := torch.ProductOperations(n, hidden, components*(l.width+1))
	return scores.Plus(states, w.Embedding(Work{Scored: n * components}))
}
