package objectives

import "github.com/aperture-ml/aperture/torch"

// softcap is the method: a transform of the scores.
var softcap = Method{
	Name:    "softcap",
	Summary: "keeps scores between -c and c by a hyperbolic tangent",
	Paper:   "Gemma Team 2024",
	Formula: "-log softmax(c tanh(W h / c))[y]", Parameters: "none",
	Cost:     "a few operations for each score; no fused kernel",
	Settings: []any{SoftcapSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		return Pieces{Terms: []LossTerm{Softcap(Of[SoftcapSettings](s).Softcap)}}
	},
}

// SoftcapSettings are the keys of the soft cap.
type SoftcapSettings struct {
	Softcap float64 `toml:"softcap" default:"30.0" range:"(0,inf)" help:"softcap: c, which no score exceeds"`
}

// Softcap caps scores z softly ("Gemma 2: Improving open language models at a practical size", Gemma Team 2024):
//
//	z <- c tanh(z / c)
//
// in training, evaluation and decoding. Scores far below c hardly change. The gradient is 1 - (z/c)^2 of the capped
// score z, so training cannot push scores without limit. The default c is the paper's for the final scores, 30.
func Softcap(c float64) ScoreTransform {
	return func(scores_NV torch.Tensor) torch.Tensor { return scores_NV.MulScalar(1 / c).Tanh().MulScalar(c) }
}
