package objectives

import (
	"errors"
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// drill is the method: a likelihood.
var drill = Method{
	Name:    "drill",
	Summary: "a softmax over word vectors that a deep residual network has made of those of W",
	Paper:   "Pappas and Henderson 2019",
	Formula: "-log softmax(E_L h)[y], E_0 = W, E_i = act(A_i drop(E_i-1) + a_i) + W", Parameters: "L D^2 + L D, " +
		"L = drill_depth",
	Cost:     "3 L V D^2 multiplications for each batch, as those of the output layer for L D targets more",
	Settings: []any{SoftmaxSettings{}, DrillSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		d := Of[DrillSettings](s)
		return Pieces{Likelihood: &Drill{Depth: d.DrillDepth, Dropout: d.DrillDropout, Activation: d.DrillActivation,
			Bias: Of[SoftmaxSettings](s).Bias}}
	},
}

// DrillSettings are the keys of the deep residual output layer.
type DrillSettings struct {
	DrillDepth      int     `toml:"drill_depth" init:"keep" default:"2" range:"[1,100]" help:"drill: layers between word vectors and those that score; the authors have 4 on Penn Treebank and 2 on WMT"`
	DrillActivation string  `toml:"drill_activation" init:"keep" default:"sigmoid" choice:"sigmoid relu" help:"drill: what follows each layer; the authors have relu on WikiText-2"`
	DrillDropout    float64 `toml:"drill_dropout" default:"0.0" range:"[0,1)" help:"drill: dropout before each layer, one mask for all words; the authors have 0.6 in language models and none on WMT"`
}

// Drill is the deep residual output layer (Pappas and Henderson 2019, "Deep residual output layers for neural language
// generation"). A network that all words share makes the vectors that score of those that the model reads:
//
//	E_0 = W,  E_i = act(A_i drop(E_{i-1}) + a_i) + W     A_i [D,D], a_i [D], i = 1 to L
//	p(j) = softmax(E_L h + b)_j
//
// So words learn of each other at the output too, and the input of a tied model keeps vectors of its own, W. Dropout is
// locked: one mask of D numbers for each batch and layer, which all words share.
//
// Everything that has a row of W for each word has one of E_L here: a perturbation's radius comes from its length, and
// gates weaken its gradient. Penalties and constraints act on W. A factored W is multiplied out in each batch.
//
// In evaluation E_L is kept until a parameter that it is made of changes.
//
// Departures from the authors' program: the bias b only where Bias asks for it; no residual connection to the layer
// before, which theirs has as an option that its published commands leave off; and locked dropout alone, which the one
// for WikiText-2 leaves off. The program is under another licence, and nothing of it is copied.
//
// Legend: N rows, V vocabulary, D width.
type Drill struct {
	Depth      int // L
	Dropout    float64
	Activation string // sigmoid or relu
	Bias       bool   // a trained bias b [V] that starts at zero

	softmaxTraining
	matrix           func() torch.Tensor // W [V,D], with its history
	weights, offsets []torch.Tensor      // A and a
	bias_V           torch.Tensor        // or the zero Tensor
	noise            *torch.Stream
	padding          int64

	config        Config
	sources, seen []torch.Tensor // the parameters behind E_L, and what they were when it was kept
	kept_VD       torch.Tensor   // E_L
}

// drillBound bounds the uniform start of the layers' weights, as in the authors' program.
const drillBound = 0.1

// Init makes <prefix>.layers.0.weight and .layers.0.bias and so on, the first uniform within 0.1 and the second within
// 1/sqrt(D) as PyTorch starts linear maps, and .bias.
func (l *Drill) Init(e Embedding, p Config) error {
	if err := p.sameWidth(false); err != nil {
		return err
	}
	l.config, l.padding, l.noise = p, p.Padding, p.stream("label dropout")
	switch e := e.(type) {
	case *Dense:
		l.matrix, l.sources = func() torch.Tensor { return e.weight }, []torch.Tensor{e.weight}
	case *Factored:
		l.matrix = func() torch.Tensor { return e.u.Mul(e.factors()).MatMul(e.v.Transpose(0, 1)) }
		l.sources = []torch.Tensor{e.u, e.s, e.v}
		if e.gain.Defined() {
			l.sources = append(l.sources, e.gain)
		}
	default:
		return errors.New("drill maps word vectors that are trained, and there are none")
	}
	scope := torch.OpenScope()
	defer scope.Close()
	uniform := func(name string, bound float64, shape ...int64) torch.Tensor {
		return p.Params.Add(p.Output+name, p.draws().Uniform(-bound, bound, torch.Float64, torch.CPU,
			shape...).To(p.dtype(), p.Device))
	}
	for i := range l.Depth {
		name := fmt.Sprintf(".layers.%d", i)
		l.weights = append(l.weights, uniform(name+".weight", drillBound, p.Width, p.Width))
		l.offsets = append(l.offsets, uniform(name+".bias", 1/math.Sqrt(float64(p.Width)), p.Width))
	}
	if l.Bias {
		l.bias_V = p.Params.Add(p.Output+".bias", torch.Zeros(p.dtype(), p.Device, p.Vocabulary))
	}
	l.sources = append(append(l.sources, l.weights...), l.offsets...)
	return nil
}

// encode makes E_L [V,D].
func (l *Drill) encode(dropout float64) (e_VD torch.Tensor) {
	w_VD := l.matrix()
	e_VD = w_VD
	for i, weight := range l.weights {
		if dropout > 0 {
			e_VD = e_VD.Mul(torch.DropoutMask(dropout, l.noise, e_VD.DType(), e_VD.Device(), 1, e_VD.Size(1)))
		}
		e_VD = torch.Linear(e_VD, weight, l.offsets[i])
		if l.Activation == "relu" {
			e_VD = e_VD.Relu()
		} else {
			e_VD = e_VD.Sigmoid()
		}
		e_VD = e_VD.Add(w_VD)
	}
	return e_VD
}

// encoded is E_L without dropout and gradients. It is made anew where the parameters are not, number for number, those
// that it was last made of, which costs a pass over them to find out.
func (l *Drill) encoded() torch.Tensor {
	torch.ScopedNoGrad(func() {
		same := l.kept_VD.Defined()
		for i := 0; same && i < len(l.sources); i++ {
			same = l.sources[i].Sub(l.seen[i]).Abs().Sum().Item() == 0
		}
		if same {
			return
		}
		var e_VD torch.Tensor
		torch.Autocast(false, l.config.Device, func() { e_VD = l.encode(0) })
		if l.kept_VD.Defined() {
			l.kept_VD.Assign(e_VD)
			for i, x := range l.sources {
				l.seen[i].Assign(x)
			}
			return
		}
		l.kept_VD = e_VD.Clone()
		for _, x := range l.sources {
			l.seen = append(l.seen, x.Detach().Clone())
		}
		l.config.keep(append(l.seen, l.kept_VD)...)
	})
	return l.kept_VD
}

// Loss is the smoothed cross-entropy, summed and scaled, and the clean one by row.
func (l *Drill) Loss(s torch.States, targets_N torch.Tensor, scale float64) (loss, nll_N torch.Tensor) {
	o, e_VD := l.optionsOf(s, targets_N, l.padding, scale), l.encode(l.Dropout)
	if l.by == nil {
		return torch.SoftmaxLoss(s.Hidden, e_VD, l.bias_V, targets_N, o)
	}
	shift_N := l.by.Shift(s.Hidden, func() torch.Tensor {
		return torch.Embedding(e_VD, targets_N.To(torch.Int64, e_VD.Device()), -1)
	})
	loss, nll_N, shifted_N := torch.ShiftedSoftmaxLoss(s.Hidden, e_VD, l.bias_V, targets_N, shift_N, o)
	l.record(shifted_N, nll_N, scale)
	return loss, nll_N
}

// NLL is the clean negative log-likelihood by row.
func (l *Drill) NLL(s torch.States, targets_N torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		_, nll_N := torch.SoftmaxLoss(s.Hidden, l.encoded(), l.bias_V, targets_N, l.clean(l.padding))
		return nll_N
	})
}

// LogProbs are log-probabilities over the vocabulary.
func (l *Drill) LogProbs(hidden_ND torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		return l.transformed(torch.Linear(hidden_ND, l.encoded(), l.bias_V)).LogSoftmax(-1)
	})
}

// Operations are those of the scores and of the layers.
func (l *Drill) Operations(w Work) torch.Operations {
	v, d := l.sources[0].Size(0), l.weights[0].Size(0)
	all := torch.ProductOperations(int64(len(w.Targets)), d, v).AtOnce()
	return all.Plus(torch.ProductOperations(v, d, d).Times(int64(l.Depth)), w.Embedding(Work{Rows: v}))
}
