package objectives

import (
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestIStarEqualsPyTorch(t *testing.T) {
	penaltyEqualsPyTorch(t, "istar of the batch", "istar", nil, "istar", 3.0, "istar_zeta", 0.0)
	penaltyEqualsPyTorch(t, "istar with the identity", "istar", nil, "istar", -5.0, "istar_zeta", 0.2)
	penaltyEqualsPyTorch(t, "istar with a covariance", "istar", func(r StatePenalty, g map[string]torch.Tensor) {
		stable := r.(*IStar).stable_DD
		stable.Assign(g["stable"].To(stable.DType(), device))
	}, "istar", -1.0, "istar_zeta", 0.4)
}

// The stable covariance is that of the states of a window of updates, whatever their batches, and a rehearsal adds
// nothing. A layer that takes over the buffers in the middle of a window goes on alike.
func TestStableCovariance(t *testing.T) {
	torch.Test(t, func() {
		const d = 4
		s := unsmoothed()
		s.Set("method", "istar", "istar_updates", 2, "istar_zeta", 0.5)
		p, q := config(11, d, -1), config(11, d, -1)
		first, second := layer(t, s, p), layer(t, s, q)
		defer release(first, p)
		defer release(second, q)
		stream := torch.NewStream(7, "data")
		cone := stream.Normal(0, 100, torch.Float64, device, 1, d)
		var seen []torch.Tensor
		update := func(layers ...*Output) {
			for _, rows := range []int64{5, 1, 7} { // a single state has no covariance, and is left out
				hidden := stream.Normal(0, 1, torch.Float64, device, rows, d).Add(cone)
				if rows > 1 {
					seen = append(seen, hidden)
				}
				targets := torch.Full(3, torch.Int64, torch.CPU, rows)
				for _, o := range layers {
					o.Loss(torch.States{Hidden: hidden}, targets, 0)
					loss, _ := o.Loss(torch.States{Hidden: hidden}, targets, 1.0/13)
					loss.Backward()
				}
			}
			for _, o := range layers {
				o.Penalize()
			}
		}
		covariance := func() []float64 {
			x := torch.Cat(seen, 0)
			x = x.Sub(x.MeanDim(0, true))
			return x.Transpose(0, 1).MatMul(x).MulScalar(1 / float64(x.Size(0)-1)).Float64s()
		}
		stable := func(o *Output) []float64 { return o.Buffers()["istar.stable_covariance"].Float64s() }
		identity := identity(d, torch.Float64, device).Float64s()
		near(t, "at the start", stable(first), identity, 0)
		update(first)
		near(t, "after one update", stable(first), identity, 0)
		for name, x := range second.Buffers() {
			x.Assign(first.Buffers()[name])
		}
		update(first, second)
		near(t, "after two updates", stable(first), covariance(), 1e-10)
		near(t, "where it was taken over", stable(second), stable(first), 0)
		seen = nil
		update(first, second)
		update(first, second)
		near(t, "after four updates", stable(first), covariance(), 1e-10)
	})
}

// A window ends when it holds two states, of which there is a covariance.
func TestStableCovarianceOfSingleStates(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "istar", "istar_updates", 1, "istar_zeta", 0.5)
		p := config(11, 4, -1)
		o := layer(t, s, p)
		defer release(o, p)
		stream := torch.NewStream(7, "data")
		for _, rows := range []int64{1, 3} {
			before := o.Buffers()["istar.stable_covariance"].Float64s()
			hidden := stream.Normal(0, 1, torch.Float64, device, rows, 4)
			loss, _ := o.Loss(torch.States{Hidden: hidden}, torch.Full(3, torch.Int64, torch.CPU, rows), 1)
			loss.Backward()
			o.Penalize()
			after := o.Buffers()["istar.stable_covariance"]
			if same := slices.Equal(after.Float64s(), before); !after.AllFinite() || same != (rows == 1) {
				t.Errorf("after %d states S_0 is %v", rows, after.Float64s())
			}
		}
	})
}
