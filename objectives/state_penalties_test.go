package objectives

import (
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// statePenalties are settings of every method that penalises hidden states, and of all at once.
func statePenalties() (all []string) {
	joined := ""
	for _, m := range methods {
		if len(m.Build(Defaults(), false).States) > 0 {
			all, joined = append(all, m.Name), joined+"+"+m.Name
		}
	}
	return append(all, joined[1:])
}

// Every likelihood's loss, and its gradient for the states, grows by the penalty; evaluation does not see it; its value
// is reported.
func TestStatePenaltiesJoinEveryLikelihood(t *testing.T) {
	for _, method := range statePenalties() {
		for _, likelihood := range []string{"mle", "mos", "adaptive", "vmf", "l2", "spectrum+adversarial"} {
			torch.Test(t, func() {
				const n, v, d, columns = 12, 47, 9, 3
				s := torch.NewStream(7, "data")
				hidden := s.Normal(0, 1, torch.Float64, device, n, d)
				targets := torch.FromInt64s([]int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, torch.CPU, n)
				column := []int64{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 0}
				run := func(method string) (loss float64, nll, gradient []float64, report map[string]float64) {
					settings := unsmoothed()
					settings.Set("method", method, "mixture_dropout", 0.0)
					p := config(v, d, 1)
					p.Vectors = torch.NewStream(9, "vectors").Normal(0, 1, torch.Float64, device, v, 5)
					o := layer(t, settings, p)
					defer release(o, p)
					x := torch.States{Hidden: leaf(hidden, torch.Float64), Column: column, Columns: columns}
					l, _ := o.Loss(x, targets, 0.25)
					l.Backward()
					o.Penalize()
					return l.Item(), o.NLL(x, targets).Float64s(), x.Hidden.Grad().Float64s(), o.Report()
				}
				loss, nll, gradient, report := run(likelihood + "+" + method)
				plain, clean, want, _ := run(likelihood)
				extra := 0.0
				settings := unsmoothed()
				settings.Method = method
				x := torch.States{Hidden: leaf(hidden, torch.Float64), Column: column, Columns: columns}
				p := config(v, d, 1)
				alone := layer(t, settings, p)
				defer release(alone, p)
				for _, r := range alone.method.States {
					penalty := penaltyOfStates(r, x, 0.25)
					penalty.Backward()
					extra += penalty.Item()
					near(t, "reported", []float64{report[r.Name()]}, penalty.Float64s(), 1e-12)
				}
				if extra == 0 {
					t.Errorf("%s adds nothing", method)
				}
				name := method + " with " + likelihood
				near(t, name+": loss", []float64{loss}, []float64{plain + extra}, 1e-12)
				near(t, name+": evaluation", nll, clean, 0)
				for i, g := range x.Hidden.Grad().Float64s() {
					want[i] += g
				}
				near(t, name+": gradient", gradient, want, 1e-12)
			})
		}
	}
}

// The states that are penalised are those before the last dropout, where the network gives them.
func TestStatePenaltiesSeeRawStates(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(7, "data")
		a, b := s.Normal(0, 1, torch.Float64, device, 6, 4), s.Normal(0, 1, torch.Float64, device, 6, 4)
		column := []int64{0, 0, 0, 1, 1, 1}
		r := SimCTG(1, 0.5)
		got := penaltyOfStates(r, torch.States{Hidden: a, Raw: b, Column: column, Columns: 2}, 1).Item()
		want := penaltyOfStates(r, torch.States{Hidden: b, Column: column, Columns: 2}, 1).Item()
		near(t, "penalty", []float64{got}, []float64{want}, 0)
	})
}

// Gradients and values do not depend on how whole sentences are cut into batches, and mixed precision leaves them
// alone.
func TestStatePenaltiesOfSentences(t *testing.T) {
	for _, method := range []string{"simctg", "dispersion"} {
		torch.Test(t, func() {
			settings := unsmoothed()
			settings.Method = method
			r := resolved(settings).States[0]
			hidden := torch.NewStream(7, "data").Normal(0, 1, torch.Float32, device, 12, 8)
			column := []int64{0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2}
			value := func(from, to int64, autocast bool) (x float64) {
				torch.Autocast(autocast, device, func() {
					rows := slices.Clone(column[from:to])
					x = penaltyOfStates(r, torch.States{Hidden: hidden.Narrow(0, from, to-from), Column: rows,
						Columns: 3}, 1.0/12).Item()
				})
				return x
			}
			whole := value(0, 12, false)
			near(t, method, []float64{value(0, 5, false) + value(5, 12, false)}, []float64{whole}, 1e-6)
			near(t, method+" under autocast", []float64{value(0, 12, true)}, []float64{whole}, 0)
		})
	}
}

// Equal states, states of zero, single ones and none give finite values and gradients; a state of zero among others, of
// which cosines say nothing, gets no huge one.
func TestStatePenaltiesAtTheEdges(t *testing.T) {
	of := Of[DispersionSettings](Defaults())
	pieces := []StatePenalty{SimCTG(1, 0.5), SimCTG(1, 1.5), &IStar{Weight: 1}, &IStar{Weight: -1, Zeta: 0.3, Every: 2}}
	for _, kind := range []string{"angles", "orthogonality", "correlations", "distances"} {
		pieces = append(pieces, Dispersion(kind, of.Dispersion, of.DispersionTau))
	}
	for i, r := range pieces {
		for _, shape := range [][2]int64{{0, 4}, {1, 4}, {2, 1}, {5, 3}} {
			for _, c := range []struct {
				value float64 // of all states; NaN for random ones, the first of which is zero
				dtype torch.DType
			}{
				{0, torch.Float64}, {1, torch.Float64}, {math.NaN(), torch.Float64},
				{0, torch.Float32}, {1, torch.Float32}, {math.NaN(), torch.Float32},
			} {
				torch.Test(t, func() {
					p := config(9, shape[1], -1)
					p.DType = c.dtype
					p.kept = &kept{buffers: map[string]torch.Tensor{}}
					defer func() { torch.Free(p.kept.tensors...) }()
					if err := r.Init(p); err != nil {
						t.Fatal(err)
					}
					x := torch.NewStream(7, "data").Normal(0, 1, torch.Float64, device, shape[0], shape[1])
					if !math.IsNaN(c.value) {
						x = torch.Full(c.value, torch.Float64, device, shape[0], shape[1])
					} else if shape[0] > 0 {
						torch.ScopedNoGrad(func() { x.Narrow(0, 0, 1).Assign(x.Narrow(0, 0, 1).MulScalar(0)) })
					}
					hidden := leaf(x, c.dtype)
					penalty := penaltyOfStates(r, torch.States{Hidden: hidden, Column: make([]int64, shape[0]),
						Columns: 1}, 0.5)
					penalty.Add(hidden.Sum()).Backward()
					largest := 0.0
					for _, g := range hidden.Grad().Float64s() {
						largest = math.Max(largest, math.Abs(g))
					}
					if !penalty.AllFinite() || !(largest < 1e3) {
						t.Errorf("penalty %d of %v states of %+v: %v, a gradient of %g", i, shape, c, penalty.Float64s(),
							largest)
					}
				})
			}
		}
	}
}
