package objectives

import "github.com/aperture-ml/aperture/torch"

// simctg is the method: a penalty of hidden states.
var simctg = Method{
	Name:    "simctg",
	Summary: "pushes the hidden states of a sentence apart until their cosines are small",
	Paper:   "Su et al. 2022",
	Formula: "mle + simctg mean over pairs i != j of a sentence of max(0, cos(h_i, h_j) - 1 + simctg_margin), in " +
		"training only",
	Parameters: "none", Cost: "3 N T D multiplications for sentences of T targets",
	Settings: []any{SimCTGSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		o := Of[SimCTGSettings](s)
		return Pieces{States: []StatePenalty{SimCTG(o.SimCTG, o.SimCTGMargin)}}
	},
}

// SimCTGSettings are the keys of the contrastive loss.
type SimCTGSettings struct {
	SimCTG       float64 `toml:"simctg" default:"1.0" range:"[0,inf)" help:"simctg: weight of the contrastive loss of hidden states"`
	SimCTGMargin float64 `toml:"simctg_margin" default:"0.5" range:"[0,2]" help:"simctg: how far the cosine of two states is to be below 1"`
}

// SimCTG is the contrastive loss of Su, Lan, Wang, Yogatama, Kong and Collier (2022), "A contrastive framework for
// neural text generation": with the T last hidden states of a sentence,
//
//	weight / (T (T-1)) sum_i sum_{j != i} max(0, margin - 1 + cos(h_i, h_j))
//
// It keeps states from becoming alike, which contrastive search needs. margin 0.5 and weight 1, the defaults, are the
// paper's. Cost: the products of the states of each block with each other, T / V of those of the softmax.
//
// Departures: the paper fine-tunes on sequences of 256 pieces that are all of one length. Of a batch whose sentences
// differ the authors' program takes the mean over all pairs; here each target pays the mean over the other states of
// its sentence, so that an update does not depend on how it is cut into batches. Running text is cut into blocks of
// at most 256 states of a column; those of other batches are not seen.
func SimCTG(weight, margin float64) StatePenalty {
	value := func(b blocks, h_BTD torch.Tensor) (value_B torch.Tensor) {
		return b.meanOfPairs(cosines(h_BTD).AddScalar(margin - 1).ClampMin(0))
	}
	return &blockPenalty{name: "simctg_penalty", weight: weight, value: value}
}
