package objectives

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// dispersion is the method: a penalty of hidden states.
var dispersion = Method{
	Name:    "dispersion",
	Summary: "spreads the hidden states of a sentence over the sphere",
	Paper:   "Liu et al. 2026",
	Formula: "mle + dispersion log mean over pairs i != j of a sentence of exp(-angle(h_i, h_j) / (pi tau)), in " +
		"training only; or another dispersion_of",
	Parameters: "none", Cost: "as simctg",
	Settings: []any{DispersionSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		o := Of[DispersionSettings](s)
		return Pieces{States: []StatePenalty{Dispersion(o.DispersionOf, o.Dispersion, o.DispersionTau)}}
	},
}

// DispersionSettings are the keys of the dispersion loss.
type DispersionSettings struct {
	Dispersion    float64 `toml:"dispersion" default:"1.0" range:"[0,inf)" help:"dispersion: weight of the loss that spreads hidden states"`
	DispersionOf  string  `toml:"dispersion_of" default:"angles" choice:"angles orthogonality correlations distances" help:"dispersion: what is to spread"`
	DispersionTau float64 `toml:"dispersion_tau" default:"1.0" range:"(0,inf)" help:"dispersion: temperature of angles and distances"`
}

// Dispersion is the dispersion loss of Liu, Sun, Xiao et al. (2026), "Dispersion loss counteracts embedding
// condensation", of the T hidden states of a sentence. With the angle a_ij between h_i and h_j in [0, pi], of pairs
// i != j,
//
//	angles         log mean exp(-a_ij / (pi tau))             angular spread, the paper's main form
//	orthogonality  mean max(0, 1/2 - a_ij / pi)^2
//	correlations   mean r_ij^2, r_ij the correlation of the components of h_i with those of h_j
//	distances      log mean over all i, j of exp(-|h_i - h_j|^2 / tau) + 0.1 mean of squared components
//
// times the weight. Cosines count as at most 0.75 in size where angles are taken, with the gradient of that bound, as
// in the authors' program, so that the gradient of the arc cosine stays small. tau and the weight are 1, the defaults.
// Cost: as [SimCTG].
//
// Departures: the paper takes the mean over all layers; here it is the last one's. The program adds 0.01 to lengths and
// to exponents for safety; here only lengths of zero are guarded. Of sequences of more than 256 states it draws 256;
// here they are cut into blocks. Each target pays its sentence's value, see [SimCTG]. The authors' negative entropy of
// neighbours is left out.
func Dispersion(of string, weight, tau float64) StatePenalty {
	value := map[string]func(b blocks, h_BTD torch.Tensor) (value_B torch.Tensor){
		"angles": func(b blocks, h_BTD torch.Tensor) torch.Tensor {
			return b.logMeanExpOfPairs(angles(h_BTD).MulScalar(-1 / tau))
		},
		"orthogonality": func(b blocks, h_BTD torch.Tensor) torch.Tensor {
			return b.meanOfPairs(angles(h_BTD).Neg().AddScalar(0.5).ClampMin(0).Square())
		},
		"correlations": func(b blocks, h_BTD torch.Tensor) torch.Tensor {
			return b.meanOfPairs(cosines(h_BTD.Sub(h_BTD.MeanDim(2, true))).Square())
		},
		"distances": func(b blocks, h_BTD torch.Tensor) torch.Tensor { return b.distances(h_BTD, tau) },
	}[of]
	return &blockPenalty{name: "dispersion_penalty", weight: weight, value: value}
}

// boundOfCosines is the size above which a cosine counts as it.
const boundOfCosines = 0.75

// angles are those of all pairs over pi, [B,T,T].
func angles(h_BTD torch.Tensor) (angles_BTT torch.Tensor) {
	c := cosines(h_BTD)
	bounded := c.ClampMin(-boundOfCosines).ClampMax(boundOfCosines)
	return c.Add(bounded.Sub(c).Detach()).Acos().MulScalar(1 / math.Pi)
}

// logMeanExpOfPairs is the logarithm of the mean of exp(x_ij) over a block's pairs, [B].
func (b blocks) logMeanExpOfPairs(x_BTT torch.Tensor) (value_B torch.Tensor) {
	return logSumExp(x_BTT, b.pairs()).Sub(b.perBlock(func(t float64) float64 { return math.Log(t * (t - 1)) }))
}

// logSumExp is that of values [B,T,T] where counts is 1, [B].
func logSumExp(x_BTT, counts_BTT torch.Tensor) (value_B torch.Tensor) {
	left_BTT := x_BTT.MaskedFill(counts_BTT.EqualScalar(0), math.Inf(-1))
	return left_BTT.Reshape(left_BTT.Size(0), -1).LogSumExp(1, false)
}

// distances is the loss of squared distances, [B].
func (b blocks) distances(h_BTD torch.Tensor, tau float64) (value_B torch.Tensor) {
	n, t, d := h_BTD.Size(0), h_BTD.Size(1), float64(h_BTD.Size(2))
	squares_BT := h_BTD.Square().SumDim(2, false)
	products_BTT := h_BTD.MatMul(h_BTD.Transpose(1, 2))
	squared_BTT := squares_BT.Reshape(n, t, 1).Add(squares_BT.Reshape(n, 1, t)).Sub(products_BTT.MulScalar(2))
	all_BTT := b.real_BT.Reshape(n, t, 1).Mul(b.real_BT.Reshape(n, 1, t))
	spread_B := logSumExp(squared_BTT.ClampMin(0).MulScalar(-1/tau), all_BTT)
	size_B := squares_BT.SumDim(1, false).Mul(b.perBlock(func(t float64) float64 { return 0.1 / (t * d) }))
	return spread_B.Add(size_B).Sub(b.perBlock(func(t float64) float64 { return 2 * math.Log(t) }))
}
