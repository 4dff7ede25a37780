package objectives

import (
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// unlikelihood is the method: a term of the loss.
var unlikelihood = Method{
	Name:    "unlikelihood",
	Summary: "lowers, at each target, the probabilities of the words before it",
	Paper:   "Welleck et al. 2020",
	Formula: "mle - unlikelihood sum over words c before y of log(1 - p(c)), in training only", Parameters: "none",
	Cost:     "a few operations for each score; no fused kernel",
	Settings: []any{UnlikelihoodSettings{}},
	Build: func(s Settings, _ bool) Pieces {
		return Pieces{Terms: []LossTerm{Unlikelihood(Of[UnlikelihoodSettings](s).Unlikelihood)}}
	},
}

// UnlikelihoodSettings are the keys of unlikelihood.
type UnlikelihoodSettings struct {
	Unlikelihood float64 `toml:"unlikelihood" default:"1.0" range:"[0,inf)" help:"unlikelihood: weight of the term that lowers the probabilities of earlier words"`
}

// Unlikelihood is the token-level loss of Welleck et al. (2020), "Neural text generation with unlikelihood training",
// against repetition: with C the words that stand before the target y in its sequence, each counted once and y left
// out,
//
//	-log p(y) - alpha sum_{c in C} log(1 - p(c)),  1 - p(c) at least 1e-5
//
// The bound and alpha = 1, the default, are those of the authors' program. The sequence is a translation's sentence or
// what a batch has of a column of running text: words of earlier batches do not count. A mixture pays for the
// probabilities of the mixture, clean ones where a perturbation lowers the target's score.
func Unlikelihood(alpha float64) ScoreTerm {
	return ScoreTerm{Context: true, LossOfLogProbs: func(logP_NV torch.Tensor,
		x torch.ScoreChunk) (loss_N torch.Tensor) {
		words_NL := x.Rows[0].To(torch.Int64, logP_NV.Device())
		none_NL := words_NL.Equal(x.Targets.Reshape(-1, 1))
		other_NL := logP_NV.Gather(1, words_NL).Exp().Neg().AddScalar(1).ClampMin(1e-5)
		return other_NL.Log().MaskedFill(none_NL, 0).SumDim(1, false).MulScalar(-alpha)
	}}
}

// wordsBefore are, for each row, the other targets that stand before it in its column, each once: [N,L], filled up with
// the row's own target. Where the network does not say which column a row is of, nothing stands before it.
func wordsBefore(s torch.States, targets_N torch.Tensor, ignore int64) (words_NL torch.Tensor) {
	targets := targets_N.To(torch.Int64, torch.CPU).Int64s()
	before := map[int64][]int64{} // by column
	words, most := make([][]int64, len(targets)), 1
	for i, y := range targets {
		column := int64(i)
		if s.Column != nil {
			column = s.Column[i]
		}
		words[i] = before[column][:len(before[column]):len(before[column])]
		most = max(most, len(words[i]))
		if y != ignore && !slices.Contains(words[i], y) {
			before[column] = append(words[i], y)
		}
	}
	ids := make([]int64, 0, len(targets)*most)
	for i, row := range words {
		ids = append(ids, row...)
		for range most - len(row) {
			ids = append(ids, targets[i])
		}
	}
	return torch.FromInt64s(ids, s.Hidden.Device(), int64(len(targets)), int64(most))
}
