package objectives

import "github.com/aperture-ml/aperture/torch"

// sigsoftmax is the method: a transform of the scores.
var sigsoftmax = Method{
	Name:    "sigsoftmax",
	Summary: "multiplies each exponential of the softmax by the sigmoid of its score",
	Paper:   "Kanai et al. 2018",
	Formula: "-log p[y] with p_j proportional to exp(z_j) sigmoid(z_j), z = W h", Parameters: "none",
	Cost: "a few operations for each score; no fused kernel",
	Build: func(Settings, bool) Pieces {
		return Pieces{Terms: []LossTerm{ScoreTransform(sigsoftmaxScores)}}
	},
}

// sigsoftmaxScores turn scores z into those whose softmax is the sigsoftmax (Kanai et al. 2018, "Sigsoftmax: Reanalysis
// of the softmax bottleneck"):
//
//	p_j = exp(z_j) sigmoid(z_j) / sum_k exp(z_k) sigmoid(z_k) = softmax(z + log sigmoid(z))_j
//	z + log sigmoid(z) = 2 z - log(1 + exp(z))
//
// The transform is not linear, so the log-probabilities of one softmax are no longer limited to rank D + 1. The right
// side is computed as 3/2 z - 1/2 |z| - log(1 + exp(-|z|)), which neither overflows nor has a wrong gradient at 0.
func sigsoftmaxScores(scores_NV torch.Tensor) torch.Tensor {
	size_NV := scores_NV.Abs()
	return scores_NV.MulScalar(1.5).Sub(size_NV.MulScalar(0.5)).Sub(size_NV.Neg().Exp().AddScalar(1).Log())
}
