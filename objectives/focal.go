package objectives

import "github.com/aperture-ml/aperture/torch"

// focal is the method: a term of the loss.
var focal = Method{
	Name:    "focal",
	Summary: "weighs each target's loss by how improbable the target is",
	Paper:   "Lin et al. 2017",
	Formula: "-(1 - p)^focal_gamma log p, p = softmax(W h)[y], in training only", Parameters: "none",
	Cost:     "a few operations for each score; no fused kernel",
	Settings: []any{FocalSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		return Pieces{Terms: []LossTerm{Focal(Of[FocalSettings](s).FocalGamma)}}
	},
}

// FocalSettings are the keys of the focal loss.
type FocalSettings struct {
	FocalGamma float64 `toml:"focal_gamma" default:"2.0" range:"[0,inf)" help:"focal: exponent of the weight (1 - p)^gamma of a target of probability p; 0 is mle"`
}

// Focal is the focal loss (Lin, Goyal, Girshick, He and Dollar 2017, "Focal loss for dense object detection"), here a
// control of methods for rare words: it too favours targets of small probability, and knows nothing of frequencies.
//
//	-(1 - p)^gamma log p = -log p - ((1 - p)^gamma - 1) log p
//
// The right side is how it is computed: cross-entropy and a term. So label smoothing spreads the mass of the first part
// alone. A mixture pays for the probability of the mixture. A perturbation lowers the target's score in the first part
// only. The paper's class weights are left out; its gamma is 2, the default.
func Focal(gamma float64) ScoreTerm {
	return ScoreTerm{LossOfLogProbs: func(logP_NV torch.Tensor, x torch.ScoreChunk) (loss_N torch.Tensor) {
		logP_N := logP_NV.Gather(1, x.Targets.Reshape(-1, 1)).Reshape(-1)
		weight_N := logP_N.Exp().Neg().AddScalar(1).ClampMin(1e-12).Pow(gamma)
		return weight_N.AddScalar(-1).Mul(logP_N).Neg()
	}}
}
