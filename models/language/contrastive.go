package language

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: K candidates, T states of the text so far, D width.

// contrastive is what a contrastive search keeps of a text: its hidden states, scaled to length one.
type contrastive struct {
	alpha   float64
	seen_TD torch.Tensor // kept; the zero Tensor before the first state
}

// contrastiveCandidates is how many words a contrastive search compares where the options do not say.
const contrastiveCandidates = 5

// saw takes states [N,D] of the text.
func (c *contrastive) saw(hidden_ND torch.Tensor) {
	all := unitRows(hidden_ND)
	if c.seen_TD.Defined() {
		all = torch.Cat([]torch.Tensor{c.seen_TD, all}, 0)
	}
	torch.Keep(all)
	c.free()
	c.seen_TD = all
}

// choose is the place among the candidates, whose log-probabilities and states are given, of the best by probability
// and difference from the text.
func (c *contrastive) choose(candidates []int32, logProbs []float32, hidden_KD torch.Tensor) (place int) {
	cosines_KT := unitRows(hidden_KD).MatMul(c.seen_TD.Transpose(0, 1))
	alike := cosines_KT.MaxDim(1, false).Float32s()
	total := 0.0
	for _, x := range logProbs { // a penalty of repetition may have changed the sum of the probabilities
		total += math.Exp(float64(x))
	}
	most := math.Inf(-1)
	for k, id := range candidates {
		p := math.Exp(float64(logProbs[id])) / total
		if score := (1-c.alpha)*p - c.alpha*float64(alike[k]); score > most {
			place, most = k, score
		}
	}
	return place
}

func (c *contrastive) free() {
	if c.seen_TD.Defined() {
		torch.Free(c.seen_TD)
	}
}

// unitRows are rows scaled to length one; rows of zeros stay.
func unitRows(x_ND torch.Tensor) torch.Tensor {
	return x_ND.Div(x_ND.Norm(1, true).ClampMin(math.SmallestNonzeroFloat32))
}
