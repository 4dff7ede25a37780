package objectives

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// mixtape is the method: a likelihood.
var mixtape = Method{
	Name:    "mixtape",
	Summary: "four latent states, which each word weighs by gates of its own before one softmax",
	Paper:   "Yang et al. 2019",
	Formula: "-log softmax(sum_k pi_jk w_j tanh(H_k h))[y], pi the gates of word j in the context h",
	Parameters: "4 D^2 + 3 D M + 3 D, and M + 3 for each word with gates of its own and for all others, " +
		"M = mixtape_width",
	Cost: "with a tenth of the words frequent, 0.3 output layers, 0.9 N V M and 9 N D M multiplications for the gates, " +
		"and 12 N D^2 for the latent states; no fused kernel",
	Settings: []any{SoftmaxSettings{}, MixtapeSettings{}},
	Needs:    Needs{FrequentFirst: true},
	Build: func(s Settings, _ bool) Pieces {
		m := Of[MixtapeSettings](s)
		return Pieces{Likelihood: &Mixtape{Frequent: m.MixtapeFrequent, Gates: int64(m.MixtapeWidth),
			Bias: Of[SoftmaxSettings](s).Bias}}
	},
}

// MixtapeSettings are the keys of Mixtape.
type MixtapeSettings struct {
	MixtapeFrequent float64 `toml:"mixtape_frequent" init:"keep" default:"0.1" range:"[0,1]" help:"mixtape: share of the vocabulary, the most frequent words, that has gates of its own; all other words share theirs"`
	MixtapeWidth    int     `toml:"mixtape_width" init:"keep" default:"64" range:"[1,100000]" help:"mixtape: width of the vectors that gates are made of"`
}

// Mixtape (Yang, Luong, Salakhutdinov and Le 2019, "Mixtape: Breaking the softmax bottleneck efficiently") mixes before
// the softmax what a mixture of softmaxes mixes behind it. Each of K = 4 latent states scores a word, and gates, which
// depend on the word and the hidden state h, weigh the four scores. The gates are no product of a word's and a state's
// vector, so that the width D does not limit the rank of the matrix of scores.
//
//	u_k  = tanh(H_k h)                                    H_k [D,H], k = 1 to 4
//	l_jk = v_j tanh(U_k h) + a_k h + c_jk                 v_j [M], U_k [M,H], a_k [H], k = 1 to 3
//	s_k  = sigmoid(l_jk)
//	pi_j = s_1 s_2, s_1 (1 - s_2), (1 - s_1) s_3, (1 - s_1)(1 - s_3)
//	z_j  = w_j sum_k pi_jk u_k + b_j
//
// The words after the most frequent ones share one v and c, and so the weighted state sum_k pi_k u_k: their scores cost
// one product, where those of a frequent word cost four and three of its gates.
//
// A perturbation lowers the target's score by what the weighted state of its word says.
//
// Departures: where the frequent words end and how wide v is could not be read at the paper, nor how the shared gates
// are made: a tenth of the vocabulary, 64, and one row of v and c are choices of this program.
//
// Legend: N positions, H width of hidden states, D columns of W, Q columns that the embedding scores with, M width of
// gates, S frequent words, V vocabulary.
type Mixtape struct {
	Frequent float64 // S / V
	Gates    int64   // M
	Bias     bool    // a trained bias b [V] that starts at zero

	softmaxTraining
	embedding         Embedding
	head              Head
	latent            torch.Tensor // H [4 D,H]
	context, state    torch.Tensor // U [3 M,H], a [3,H]
	words, words0     torch.Tensor // v [S+1,M], c [S+1,3]; the last row is that of all other words
	bias              torch.Tensor // or the zero Tensor
	padding, frequent int64
	width             int64
}

// What the tree of sigmoids has.
const mixtapeStates, mixtapeGates = 4, 3

// Init makes <prefix>.latent.weight, .context.weight and .state.weight, uniform within 1/sqrt(H) as PyTorch starts
// linear maps, .words.weight, uniform within 1/sqrt(M), and .words.bias and .bias, which start at zero.
func (l *Mixtape) Init(e Embedding, p Config) error {
	scope := torch.OpenScope()
	defer scope.Close()
	l.embedding, l.head, l.padding, l.width = e, e.Head(), p.Padding, p.Width
	l.frequent = int64(math.Ceil(l.Frequent * float64(p.Vocabulary)))
	uniform := func(name string, shape ...int64) torch.Tensor {
		bound := 1 / math.Sqrt(float64(shape[1]))
		return p.Params.Add(p.Output+name, p.draws().Uniform(-bound, bound, torch.Float64, torch.CPU,
			shape...).To(p.dtype(), p.Device))
	}
	zeros := func(name string, shape ...int64) torch.Tensor {
		return p.Params.Add(p.Output+name, torch.Zeros(p.dtype(), p.Device, shape...))
	}
	l.latent = uniform(".latent.weight", mixtapeStates*p.Width, p.hidden())
	l.context = uniform(".context.weight", mixtapeGates*l.Gates, p.hidden())
	l.state = uniform(".state.weight", mixtapeGates, p.hidden())
	l.words = uniform(".words.weight", l.frequent+1, l.Gates)
	l.words0 = zeros(".words.bias", l.frequent+1, mixtapeGates)
	if l.Bias {
		l.bias = zeros(".bias", p.Vocabulary)
	}
	return nil
}

// mixtapeContext is what the scores of positions are made of.
type mixtapeContext struct {
	latent_N4D torch.Tensor // u
	gates_N3M  torch.Tensor // tanh(U h)
	state_N3   torch.Tensor // a h
}

func (l *Mixtape) contextOf(hidden_NH torch.Tensor) mixtapeContext {
	n := hidden_NH.Size(0)
	linear := func(weight torch.Tensor) torch.Tensor { return torch.Linear(hidden_NH, weight, torch.Tensor{}) }
	return mixtapeContext{
		linear(l.latent).Tanh().Reshape(n, mixtapeStates, l.width),
		linear(l.context).Tanh().Reshape(n, mixtapeGates, l.Gates), linear(l.state),
	}
}

// tree gives the gates pi [...,4,...] of what precedes them [...,3,...], along the second dimension.
func tree(l torch.Tensor) (pi torch.Tensor) {
	s := l.Sigmoid()
	not := s.MulScalar(-1).AddScalar(1)
	of := func(x torch.Tensor, k int64) torch.Tensor { return x.Narrow(1, k, 1) }
	return torch.Cat([]torch.Tensor{
		of(s, 0).Mul(of(s, 1)), of(s, 0).Mul(of(not, 1)), of(not, 0).Mul(of(s, 2)), of(not, 0).Mul(of(not, 2)),
	}, 1)
}

// weighted are the weighted states [N,D] of words whose rows of v [N,M] or [1,M] and c [N,3] or [1,3] are given.
func (x mixtapeContext) weighted(v, c torch.Tensor) (state_ND torch.Tensor) {
	l_N3 := x.gates_N3M.Mul(v.Reshape(v.Size(0), 1, v.Size(1))).SumDim(2, false).Add(x.state_N3).Add(c)
	pi_N4 := tree(l_N3)
	return x.latent_N4D.Mul(pi_N4.Reshape(pi_N4.Size(0), mixtapeStates, 1)).SumDim(1, false)
}

// operands are those of the scores. The first linear layer scores words that share their gates, one beside it scores
// frequent words by each latent state, and another one makes their gates.
func (l *Mixtape) operands(x mixtapeContext) (o torch.LossOperands, compose func(torch.ScoreChunk) torch.Tensor) {
	s := l.frequent
	shared_ND := x.weighted(l.words.Narrow(0, s, 1), l.words0.Narrow(0, s, 1))
	offset_S3, weight := l.words0.Narrow(0, 0, s), l.head.Weight
	o = torch.LossOperands{
		Hidden: l.head.Map(shared_ND), Weight: weight, From: s, Rows: []torch.Tensor{x.state_N3},
		Beside: []torch.LinearLayer{
			{Hidden: l.head.Map(x.latent_N4D), Weight: weight.Narrow(0, 0, s)},
			{Hidden: x.gates_N3M, Weight: l.words.Narrow(0, 0, s)},
		},
		Whole: []torch.Tensor{offset_S3},
	}
	if l.Bias {
		o.Whole = append(o.Whole, l.bias)
	}
	return o, func(x torch.ScoreChunk) torch.Tensor {
		scores := x.Scores
		if s > 0 {
			state_C3 := x.Rows[len(x.Rows)-1]
			offset_13S := offset_S3.Transpose(0, 1).Reshape(1, mixtapeGates, s).To(scores.DType(), scores.Device())
			l_C3S := x.Beside[1].Add(state_C3.Reshape(state_C3.Size(0), mixtapeGates, 1)).Add(offset_13S)
			first_CS := x.Beside[0].Mul(tree(l_C3S)).SumDim(1, false)
			scores = torch.Cat([]torch.Tensor{first_CS, scores}, 1)
		}
		if l.Bias {
			scores = scores.Add(l.bias.To(scores.DType(), scores.Device()))
		}
		return scores
	}
}

// Loss is the smoothed cross-entropy, summed and scaled, and the clean one by row.
func (l *Mixtape) Loss(s torch.States, targets_N torch.Tensor, scale float64) (loss, nll_N torch.Tensor) {
	context := l.contextOf(s.Hidden)
	x, compose := l.operands(context)
	x.Targets = targets_N
	if l.by != nil {
		ids_N := targets_N.To(torch.Int64, s.Hidden.Device())
		own_N := ids_N.ClampMax(float64(l.frequent)).To(torch.Int64, s.Hidden.Device())
		state_ND := context.weighted(torch.Embedding(l.words, own_N, -1), torch.Embedding(l.words0, own_N, -1))
		x.Shift = l.by.Shift(state_ND, func() torch.Tensor { return l.embedding.Lookup(ids_N) })
	}
	loss, nll_N, shifted_N := torch.ComposedSoftmaxLoss(x, l.optionsOf(s, targets_N, l.padding, scale), compose)
	if l.by != nil {
		l.record(shifted_N, nll_N, scale)
	}
	return loss, nll_N
}

// NLL is the clean negative log-likelihood by row.
func (l *Mixtape) NLL(s torch.States, targets_N torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		x, compose := l.operands(l.contextOf(s.Hidden))
		x.Targets = targets_N
		_, nll_N, _ := torch.ComposedSoftmaxLoss(x, l.clean(l.padding), compose)
		return nll_N
	})
}

// LogProbs are log-probabilities over the vocabulary.
func (l *Mixtape) LogProbs(hidden_NH torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		x, compose := l.operands(l.contextOf(hidden_NH))
		return torch.ComposedLogProbs(x, l.transform(), compose)
	})
}

// refuses what gates the gradient of W: here a word has more vectors than its row of W.
func (l *Mixtape) refuses(t LossTerm) (why string) {
	if _, is := t.(*AGG); is {
		return "weakens the gradient of a word's row of W alone, and in mixtape a word has gates of its own too"
	}
	return ""
}

// Operations are those of the scores, of the gates and of the latent states.
func (l *Mixtape) Operations(w Work) torch.Operations {
	n, v, hidden := int64(len(w.Targets)), l.head.Weight.Size(0), l.latent.Size(1)
	q := l.head.Weight.Size(1)
	all := torch.ProductOperations(n, q, v-l.frequent+mixtapeStates*l.frequent)
	all = all.Plus(torch.ProductOperations(n, l.Gates, mixtapeGates*l.frequent)).AtOnce()
	maps := mixtapeStates*l.width + mixtapeGates*(l.Gates+1)
	return all.Plus(torch.ProductOperations(n, hidden, maps), w.Embedding(Work{Scored: n * (1 + mixtapeStates)}))
}
