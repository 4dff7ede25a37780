package objectives

import "github.com/aperture-ml/aperture/torch"

// zLoss is the method: a term of the loss.
var zLoss = Method{
	Name:    "zloss",
	Summary: "adds the squared logarithm of the softmax's normaliser to each target's loss",
	Paper:   "Chowdhery et al. 2022",
	Formula: "mle + zeta (log Z)^2 per target, Z the softmax's normaliser, in training only", Parameters: "none",
	Cost:     "none",
	Settings: []any{ZLossSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		return Pieces{Terms: []LossTerm{ZLoss(Of[ZLossSettings](s).Zeta)}}
	},
}

// ZLossSettings are the keys of the z-loss.
type ZLossSettings struct {
	Zeta float64 `toml:"zeta" default:"1e-4" range:"[0,inf)" help:"zloss: weight of the squared logarithm of the softmax's normaliser"`
}

// ZLoss is the z-loss ("PaLM: Scaling Language Modeling with Pathways", Chowdhery et al. 2022, section 5): each target
// pays
//
//	zeta (log Z)^2,  Z = sum_j exp(score_j)
//
// beside its cross-entropy, in training only. A softmax does not change when a constant is added to all of its scores,
// so nothing else keeps log Z near 0; scores far from 0 lose precision, and a model whose Z is near 1 gives
// log-probabilities without the sum. The fused kernels know the term, so that it costs nothing.
//
// Z is that of clean scores where a perturbation lowers the target's. In a mixture every component has a Z of its own
// and the target pays the mean of their terms; an adaptive softmax pays for the head, and for a tail where the target
// is in one.
//
// The paper has zeta = 1e-4, the default.
func ZLoss(zeta float64) ScoreTerm {
	return ScoreTerm{
		Loss: func(scores_NV, targets_N torch.Tensor) (loss_N torch.Tensor) {
			return scores_NV.LogSumExp(-1, false).Square().MulScalar(zeta)
		},
		Fused: torch.FusedZLoss(zeta),
	}
}
