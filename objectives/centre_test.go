package objectives

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestCentre: the mean of W is 0 after an update, differences of word vectors and probabilities stay, whatever W is
// made of and whichever softmaxes score it.
func TestCentre(t *testing.T) {
	for _, method := range []string{"centre", "centre+spectrum", "centre+mos", "centre+adaptive",
		"adaptive+centre+spectrum"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("method", method, "mixture_components", 3, "mixture_dropout", 0, "spectrum_hold", "penalty",
				"adaptive_cutoffs", "9,20")
			p := config(31, 7, 2)
			o := layer(t, s, p)
			defer release(o, p)
			moved(p)
			hidden := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 7)
			w := o.Embedding().Matrix().Clone()
			before := o.LogProbs(hidden).Float64s()
			o.Constrain(0.1)
			near(t, method+": log-probabilities", o.LogProbs(hidden).Float64s(), before, 1e-12)
			mean := o.Embedding().Matrix().MeanDim(0, false)
			near(t, method+": the mean", mean.Float64s(), make([]float64, 7), 1e-14)
			near(t, method+": W", o.Embedding().Matrix().Float64s(), w.Sub(w.MeanDim(0, true)).Float64s(), 1e-12)
		})
	}
}
