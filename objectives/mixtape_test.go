package objectives

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestMixtapeEqualsPyTorch(t *testing.T) {
	equalsForm(t, "mixtape", "own", "mixtape", 1e-12, "bias", true, "mixtape_width", 5, "mixtape_frequent", 0.1)
	equalsForm(t, "mixtape", "all", "mixtape", 1e-12, "bias", true, "mixtape_width", 5, "mixtape_frequent", 1)
}

// TestMixtapeIsPerturbedByItsOwnState: the shift of a target is what its score would lose if its row of W moved by
// alpha |w_y| against the weighted state of its word.
func TestMixtapeIsPerturbedByItsOwnState(t *testing.T) {
	torch.Test(t, func() {
		const v, d, alpha = 31, 7, 0.3
		s := unsmoothed()
		s.Set("method", "mixtape+adversarial", "mixtape_frequent", 0.2, "alpha", alpha)
		p := config(v, d, -1)
		o := layer(t, s, p)
		defer release(o, p)
		moved(p)
		h := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 4, d)
		ids := []int64{0, 30, 4, 17}
		_, nll := o.Loss(torch.States{Hidden: h}, torch.FromInt64s(ids, torch.CPU, 4), 1)
		clean := nll.Sum().Item()
		w := p.Params.Get("decoder.embed_tokens.weight")
		worst := 0.0
		for i, id := range ids {
			row := torch.States{Hidden: h.Narrow(0, int64(i), 1)}
			target := torch.FromInt64s([]int64{id}, torch.CPU, 1)
			torch.NoGrad(func() {
				l := o.method.Likelihood.(*Mixtape)
				own := torch.FromInt64s([]int64{min(id, l.frequent)}, device, 1)
				state := l.contextOf(row.Hidden).weighted(l.words.IndexSelect(0, own), l.words0.IndexSelect(0, own))
				w_D := w.Narrow(0, id, 1)
				before := w_D.Clone()
				length := before.Norm(1, false).Item() / state.Norm(1, false).Item()
				w_D.Assign(before.Sub(state.MulScalar(alpha * length)))
				worst += o.NLL(row, target).Item()
				w_D.Assign(before)
			})
		}
		gain := o.Report()["adversarial_gain"]
		near(t, "what the perturbation adds", []float64{gain}, []float64{worst - clean}, 1e-12)
	})
}
