package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestContexts: states that leave a layer normalisation lie in a plane, whose distance from the origin is that of b/g;
// with b = 0 it goes through the origin. Margins are those of the log odds.
func TestContexts(t *testing.T) {
	torch.Test(t, func() {
		const n, d, v = 90, 6, 31
		s := torch.NewStream(4, "states")
		w := s.Normal(0, 1, torch.Float64, torch.CPU, v, d)
		counts := make([]float64, v)
		for i := range counts {
			counts[i] = float64(i)
		}
		targets := make([]int64, n)
		for i := range targets {
			targets[i] = int64(i % v)
		}
		measured := func(gain, bias torch.Tensor) (ContextMeasures, *Contexts) {
			h := torch.LayerNorm(s.Normal(0, 1, torch.Float64, torch.CPU, n, d), gain, bias, 1e-5)
			loss := torch.Full(math.Log(3), torch.Float64, torch.CPU, n) // a probability of a third: log odds of -log 2
			c := NewContexts(gain, bias)
			c.Add(h.Narrow(0, 0, 40), loss.Narrow(0, 0, 40), torch.FromInt64s(targets[:40], torch.CPU, 40))
			c.Add(h.Narrow(0, 40, n-40), loss.Narrow(0, 40, n-40), torch.FromInt64s(targets[40:], torch.CPU, n-40))
			return c.Measure(w, counts, true, nil), c
		}
		gain := s.Uniform(0.5, 2, torch.Float64, torch.CPU, d)
		flat, _ := measured(gain, torch.Zeros(torch.Float64, torch.CPU, d))
		if flat.BiasOverGain != 0 || flat.PlaneDistance != 0 || !flat.Hull.Contains(1) || !math.IsNaN(flat.RarePull) ||
			flat.States != n {
			t.Errorf("without a bias: %+v", flat)
		}
		lifted, c := measured(gain, torch.Full(0.4, torch.Float64, torch.CPU, d))
		want := 0.0
		for _, g := range gain.Float64s() {
			want += 0.4 / g
		}
		near(t, "b/g", []float64{lifted.BiasOverGain}, []float64{want}, 1e-12)
		if lifted.Hull.AtLeast < lifted.PlaneDistance-1e-9 || !(lifted.PlaneDistance > 0.05) {
			t.Errorf("the plane is %v from the origin, and the hull within it %v", lifted.PlaneDistance,
				lifted.Hull.AtLeast)
		}
		if lifted.Recognised != 0 || !(lifted.MedianMargin < 0) {
			t.Errorf("with a third no word is recognised: %+v", lifted)
		}
		// The margin of a state by hand: log(1/2) over the lengths.
		alone := &Contexts{Hidden: c.Hidden[:d], Width: d, Loss: c.Loss[:1], Targets: []int64{3}}
		row := RowNorms(w)[3]
		length := math.Sqrt(torch.FromFloat64s(c.Hidden[:d], torch.CPU, d).Square().Sum().Item())
		near(t, "margin", []float64{alone.Measure(w, counts, true, nil).MedianMargin},
			[]float64{-math.Log(2) / length / row}, 1e-12)
		alone.Loss[0] = 1e-3
		if m := alone.Measure(w, counts, true, nil); m.Recognised != 1 || !(m.MedianMargin > 0.005) {
			t.Errorf("a sure word: %+v", m)
		}
		if m := alone.Measure(w, counts, false, nil); !math.IsNaN(m.Recognised) || !math.IsNaN(m.BiasOverGain) {
			t.Errorf("of no softmax: %+v", m)
		}
		if m := (&Contexts{}).Measure(w, counts, true, nil); m.States != 0 || !math.IsNaN(m.Recognised) {
			t.Errorf("of no states: %+v", m)
		}
	})
}

// TestPull: a row against the direction of all states is pulled with 1, one along it with -1, whatever their lengths.
func TestPull(t *testing.T) {
	torch.Test(t, func() {
		m := ContextMeasures{Hull: Hull{Distance: 5, Nearest: []float64{3, 4}}}
		w := torch.FromFloat64s([]float64{-6, -8, 0.3, 0.4, 1, 0, 0, 0, 8, -6, 1, 1}, torch.CPU, 6, 2)
		m.pull(w, RowNorms(w), []float64{1, 90, 20, 0, 30, 40}) // the rarest is row 0, the most frequent one row 1
		near(t, "pulls", []float64{m.RarePull, m.FrequentPull}, []float64{1, -1}, 1e-12)
	})
}
