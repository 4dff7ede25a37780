package objectives

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestAGGEqualsPyTorch(t *testing.T) { equalsPyTorch(t, "agg", "agg_alpha", 0.5) }

// TestAGGCounts: counts grow by the targets of each update, whatever its batches are, padding and batches of no update
// left out; gates follow from them, and those of the first update are 1.
func TestAGGCounts(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "agg", "agg_alpha", 1.0)
		p := config(6, 3, 1)
		p.Specials = 2
		o := layer(t, s, p)
		defer release(o, p)
		batch := func(scale float64, ids ...int64) {
			n := int64(len(ids))
			states := torch.States{Hidden: torch.Zeros(torch.Float64, device, n, 3)}
			o.Loss(states, torch.FromInt64s(ids, torch.CPU, n), scale)
		}
		a := o.method.Regularizers[0].(*AGG)
		gates := func() []float64 {
			return a.gates(torch.FromInt64s([]int64{2, 4}, device, 2)).Float64s()
		}
		near(t, "gates before the first update", gates(), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0)
		batch(0, 5, 5, 5)
		batch(0.1, 2, 2, 1, 3)
		batch(0.1, 2)
		near(t, "of the update under way", o.Shared()[0].Float64s(), []float64{0, 0, 3, 1, 0, 0}, 0)
		o.Penalize()
		o.Penalize() // an update without such words
		batch(0.1, 4)
		near(t, "counts", o.Buffers()["agg_counts"].Float64s(), []float64{0, 0, 3, 1, 0, 0}, 0)
		near(t, "updates", o.Buffers()["agg_updates"].Float64s(), []float64{2}, 0)
		// Words 3, 4 and 5 are rare: 1, 0 and 0 times in two updates, 1/3 in the mean. Specials are not.
		near(t, "gates", gates(), []float64{1, 1, 1, 0.5, 0, 0, 1, 1, 1, 1, 1, 0}, 1e-15)
	})
}
