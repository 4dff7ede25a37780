package objectives

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/torch"
)

// vmf aims at frozen vectors of words: an embedding and a likelihood. So do the methods below, with other losses.
var vmf = Method{
	Name: "vmf",
	Summary: "predicts a vector instead of a word; the loss is minus the log of the von Mises-Fisher density around " +
		"it at the target word's frozen vector",
	Paper: "Kumar and Tsvetkov 2019",
	Formula: "-log C_M(|x|) + lambda1 |x| - lambda2 x.e[y] with x = map(h), e frozen unit vectors of whole words " +
		"(forms nll, reg1, reg2, both, log1p)",
	Parameters: "2 D M for the maps, no matrix of V D", Cost: "3 N D M multiplications instead of 3 N V D, " +
		"and 2 D M for each token that the decoder reads",
	Settings: []any{VMFSettings{}, MapSettings{}, vectors.Options{}}, Needs: Needs{WordTargets: true},
	Build: func(s Settings, _ bool) Pieces {
		o := Of[VMFSettings](s)
		l := Continuous{Kind: vmfForms[o.VMFForm], Lambda1: o.VMFLambda1, Lambda2: o.VMFLambda2,
			Norm: Of[MapSettings](s).MapNorm}
		if l.Kind == torch.VMFLog1p {
			l.Lambda1 = o.VMFLambdaLog1p
		}
		return l.pieces()
	},
}

var powerSpherical = Method{
	Name:    "powerspherical",
	Summary: "`vmf` with the power spherical density",
	Paper:   "De Cao and Aziz 2020",
	Formula: "-log of the power spherical density of e[y] around x", Parameters: "as vmf", Cost: "as vmf",
	Settings: []any{MapSettings{}, vectors.Options{}}, Needs: Needs{WordTargets: true},
	Build: func(s Settings, _ bool) Pieces {
		return Continuous{Kind: torch.PowerSpherical, Norm: Of[MapSettings](s).MapNorm}.pieces()
	},
}

var l2 = Method{
	Name:    "l2",
	Summary: "`vmf` with the distance, or its square, as the loss",
	Paper:   "Kumar and Tsvetkov 2019",
	Formula: "|x - e[y]|^2, or its root", Parameters: "as vmf", Cost: "as vmf",
	Settings: []any{L2Settings{}, vectors.Options{}}, Needs: Needs{WordTargets: true},
	Build: func(s Settings, _ bool) Pieces {
		return Continuous{Kind: l2Forms[Of[L2Settings](s).L2Form]}.pieces()
	},
}

var cosine = Method{
	Name:    "cosine",
	Summary: "`vmf` with the cosine distance as the loss",
	Paper:   "Kumar and Tsvetkov 2019",
	Formula: "1 - cos(x, e[y])", Parameters: "as vmf", Cost: "as vmf",
	Settings: []any{vectors.Options{}}, Needs: Needs{WordTargets: true},
	Build: func(Settings, bool) Pieces { return Continuous{Kind: torch.Cosine}.pieces() },
}

var maxMargin = Method{
	Name:       "maxmargin",
	Summary:    "`vmf` with a margin between the cosines of the target and of the most informative wrong word as the loss",
	Paper:      "Kumar and Tsvetkov 2019",
	Formula:    "max(0, margin + cos(x, e[j]) - cos(x, e[y])), j nearest to x and farthest from e[y]",
	Parameters: "as vmf",
	Cost:       "as vmf, and N V M multiplications",
	Settings:   []any{MarginSettings{}, vectors.Options{}}, Needs: Needs{WordTargets: true},
	Build: func(s Settings, _ bool) Pieces {
		return Continuous{Kind: torch.MaxMargin, Lambda1: Of[MarginSettings](s).Margin}.pieces()
	},
}

// pieces are the loss and the table that it aims at.
func (l Continuous) pieces() Pieces { return Pieces{Embedding: &Frozen{}, Likelihood: &l} }

// VMFSettings are the keys of the von Mises-Fisher loss alone.
type VMFSettings struct {
	VMFForm        string  `toml:"vmf_form" default:"both" choice:"nll reg1 reg2 both log1p" help:"vmf: the loss: plain, with either regularisation, with both, or that of the authors' code"`
	VMFLambda1     float64 `toml:"vmf_lambda1" default:"0.02" range:"[0,inf)" help:"vmf: weight of the output's length, in reg1 and both"`
	VMFLambda2     float64 `toml:"vmf_lambda2" default:"0.1" range:"[0,inf)" help:"vmf: factor on the product with the target, in reg2 and both"`
	VMFLambdaLog1p float64 `toml:"vmf_lambda_log1p" default:"0.2" range:"[0,inf)" help:"vmf: the cosine up to which log1p does not lengthen the output"`
}

// MapSettings are the keys of the map to the vectors' space, of methods that read the length of what it gives.
type MapSettings struct {
	MapNorm bool `toml:"map_norm" default:"true" help:"vmf, powerspherical: layer normalisation behind the map to the vectors' space"`
}

// L2Settings are the keys of the loss of distances.
type L2Settings struct {
	L2Form string `toml:"l2_form" default:"squared" choice:"squared rooted" help:"l2: the squared distance, as the authors' code, or the distance, as their text"`
}

// MarginSettings are the keys of the loss of margins.
type MarginSettings struct {
	Margin float64 `toml:"margin" default:"0.5" range:"[0,inf)" help:"maxmargin: by how much the target's cosine should exceed the wrong word's"`
}

var (
	vmfForms = map[string]torch.Continuous{"nll": torch.VMFNLL, "reg1": torch.VMFReg1, "reg2": torch.VMFReg2,
		"both": torch.VMFReg1Reg2, "log1p": torch.VMFLog1p}
	l2Forms = map[string]torch.Continuous{"squared": torch.SquaredL2, "rooted": torch.RootedL2}
)

// Continuous scores a hidden state by a density or a distance to unit target vectors instead of a softmax (Kumar and
// Tsvetkov 2019, "Von Mises-Fisher loss for training sequence to sequence models with continuous outputs"). A trained
// map takes the hidden state to the vectors' space,
//
//	x = W h + b, or LayerNorm(W h + b)     kappa = |x|, u = x/kappa, c = u . e for the target's vector e
//
// and the loss is one that package torch lists. The default is that of the paper's best rows, reg1+reg2: -log C(kappa)
// + lambda1 kappa - lambda2 kappa c. The formulas are the paper's. Its remark (section 3) that -log C falls as kappa
// grows is a slip: it rises, with slope A(kappa). The authors' program minimises another loss, torch.VMFLog1p.
//
// With LayerNorm (its gain starts at 1) kappa starts at sqrt(M), for M = 300 near where the regularised losses put it;
// without, the map's start does the same. L2 and cosine start with x about as long as its target.
//
// The clean loss of a row, and its score in decoding, belong together: minus the log-density
// for the von Mises-Fisher losses, whichever of them trains, and the power spherical; for L2
// the distance, squared or rooted as in training; 1 - c for cosine and max-margin. None of
// them is a perplexity: densities are above 1, and their logs are hundreds of nats.
//
// Cost per target: M D multiplications, 3 M D in training, and a dozen numbers; max-margin adds one product with the
// whole table. Decoding is one product with the table.
//
// Hidden states may be wider or narrower than the decoder's word vectors.
//
// Legend: N rows, D width of hidden states, M components of a vector, V vocabulary.
type Continuous struct {
	Kind             torch.Continuous
	Lambda1, Lambda2 float64 // of the loss; max-margin's margin is Lambda1
	Norm             bool    // LayerNorm after the map

	target       *Frozen
	weight, bias torch.Tensor // [M,D], [M]
	gain, centre torch.Tensor // [M], [M], of LayerNorm
	padding      int64
	values       int64 // M
}

// The epsilon of the map's LayerNorm.
const mapNormEpsilon = 1e-5

// Init makes the map: <prefix>.map.weight and .bias, and with Norm <prefix>.map_norm.weight and .bias.
func (l *Continuous) Init(e Embedding, p Config) error {
	frozen, ok := e.(*Frozen)
	if !ok {
		return fmt.Errorf("a continuous likelihood needs frozen target vectors, not %T", e)
	}
	scope := torch.OpenScope()
	defer scope.Close()
	l.target, l.padding = frozen, p.Padding
	_, l.values = frozen.Size()
	// Hidden states have components of size 1: kappa starts near sqrt(M), or near 1.
	deviation := math.Pow(float64(p.hidden()), -0.5)
	if l.Kind > torch.PowerSpherical {
		deviation /= math.Sqrt(float64(l.values))
	}
	add := func(name string, x torch.Tensor) torch.Tensor {
		return p.Params.Add(p.Output+name, x.To(p.dtype(), p.Device))
	}
	weight, bias := p.startMap(deviation, l.values, p.hidden())
	l.weight, l.bias = add(".map.weight", weight), add(".map.bias", bias)
	if l.Norm {
		l.gain = add(".map_norm.weight", torch.Full(1, torch.Float64, torch.CPU, l.values))
		l.centre = add(".map_norm.bias", torch.Zeros(torch.Float64, torch.CPU, l.values))
	}
	return nil
}

// outputs takes hidden states [N,D] to the vectors' space, [N,M].
func (l *Continuous) outputs(hidden torch.Tensor) torch.Tensor {
	x := torch.Linear(hidden, l.weight, l.bias)
	if l.Norm {
		x = torch.LayerNorm(x, l.gain, l.centre, mapNormEpsilon)
	}
	return x
}

func (l *Continuous) options(scale float64) torch.ContinuousLossOptions {
	return torch.ContinuousLossOptions{Kind: l.Kind, Lambda1: l.Lambda1, Lambda2: l.Lambda2, Ignore: l.padding,
		Scale: scale}
}

// Loss is the loss, summed and scaled, and the clean one by row, both in float64.
func (l *Continuous) Loss(s torch.States, targets torch.Tensor, scale float64) (loss, nll torch.Tensor) {
	x, o := l.outputs(s.Hidden), l.options(scale)
	if l.Kind == torch.MaxMargin {
		o.Negatives = torch.InformativeNegatives(x, l.target.table, l.target.bias, targets, l.padding)
	}
	return torch.ContinuousLoss(x, l.target.table, targets, o)
}

// NLL is the clean loss by row.
func (l *Continuous) NLL(s torch.States, targets torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		o := l.options(1)
		o.Evaluate = true
		if o.Kind == torch.MaxMargin { // whose clean loss is that of cosine
			o.Kind = torch.Cosine
		}
		_, nll := torch.ContinuousLoss(l.outputs(s.Hidden), l.target.table, targets, o)
		return nll
	})
}

// LogProbs are scores [N,V] for a search, minus the clean loss of each word: log-densities for a likelihood that is a
// density, and minus a distance for the others. A word without a vector has -1e30.
func (l *Continuous) LogProbs(hidden torch.Tensor) torch.Tensor {
	return torch.Evaluated(func() torch.Tensor {
		x := l.outputs(hidden)
		return l.scores(x, torch.Linear(x, l.target.table, torch.Tensor{})).Add(l.target.bias)
	})
}

// Nearest gives the k nearest target vectors of hidden states [N,D], best first: their scores, as LogProbs has them,
// and their ids, both [N,k]. Vectors have length 1, so every likelihood agrees on who is nearest: the largest dot
// product. It is exact and costs one matrix product. k is at most the vocabulary.
func (l *Continuous) Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor) {
	torch.NoGrad(func() {
		x := l.outputs(hidden)
		ids = torch.Scoped(func() torch.Tensor {
			_, nearest := torch.Linear(x, l.target.table, l.target.bias).TopK(k, 1)
			return nearest
		})
		// Found with the bias of words without a vector, beside which float32 keeps nothing
		// of a dot product, and scored anew: a score is the same whatever finds it.
		scores = torch.Scoped(func() torch.Tensor {
			n, m, found := x.Size(0), l.values, ids.Reshape(ids.Count())
			rows_NKM := l.target.table.IndexSelect(0, found).Reshape(n, int64(k), m)
			dots := rows_NKM.MatMul(x.Reshape(n, m, 1)).Reshape(n, int64(k))
			return l.scores(x, dots).Add(l.target.bias.IndexSelect(0, found).Reshape(n, int64(k)))
		})
	})
	return scores, ids
}

// Search says that the nearest vector is the prediction. Von Mises-Fisher and power spherical are densities.
func (l *Continuous) Search() Search {
	return Search{Nearest: l.Nearest, Distance: l.Kind > torch.PowerSpherical}
}

// Operations are those of the map; max-margin compares with all vectors besides.
func (l *Continuous) Operations(w Work) torch.Operations {
	n := int64(len(w.Targets))
	all := torch.ProductOperations(n, l.weight.Size(1), l.values)
	if l.Kind == torch.MaxMargin {
		all.Forward += torch.ProductOperations(n, l.values, l.target.table.Size(0)).Forward
	}
	return all
}

// Where csrc/losses/continuous_loss.cc draws the same lines: the least 1 + c that the power
// spherical density is computed at, and the shortest output that has a cosine.
const (
	antipode    = 1e-6
	noDirection = 1e-8
)

// scores turns dot products [N,K] of outputs x [N,M] and unit vectors into scores.
func (l *Continuous) scores(x, dots torch.Tensor) torch.Tensor {
	column := func(v torch.Tensor) torch.Tensor { return v.To(dots.DType(), dots.Device()) }
	kappa := x.To(torch.Float64, x.Device()).Norm(1, true) // [N,1]
	switch l.Kind {
	case torch.PowerSpherical:
		plus := dots.Div(column(kappa.ClampMin(shortestVector))).AddScalar(1).ClampMin(antipode)
		return plus.Log().Mul(column(kappa)).Add(column(l.logConstant(x)))
	case torch.SquaredL2, torch.RootedL2:
		squares := dots.MulScalar(-2).Add(column(kappa.Square().AddScalar(1))).ClampMin(0)
		if l.Kind == torch.RootedL2 {
			squares = squares.Sqrt()
		}
		return squares.Neg()
	case torch.Cosine, torch.MaxMargin:
		return dots.Div(column(kappa.ClampMin(noDirection))).AddScalar(-1)
	}
	return dots.Add(column(l.logConstant(x)))
}

// logConstant is the log of the density's constant at the length of each output [N,1], in float64. With a vector of
// zeros as its target an output has cosine 0, and the clean loss is minus that.
func (l *Continuous) logConstant(x torch.Tensor) torch.Tensor {
	zero_1M := torch.Zeros(x.DType(), x.Device(), 1, l.values)
	first_N := torch.Zeros(torch.Int64, torch.CPU, x.Size(0))
	_, nll := torch.ContinuousLoss(x, zero_1M, first_N,
		torch.ContinuousLossOptions{Kind: l.Kind, Ignore: -1, Scale: 1, Evaluate: true})
	return nll.Neg().Reshape(-1, 1)
}
