package torch_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestContinuousLossAtTheEdges: hidden states that are zero, tiny, huge, equal to the target
// or its opposite, targets without a vector, no rows and ignored rows: no loss and no
// gradient is infinite or no number, and ignored rows count as nothing.
func TestContinuousLossAtTheEdges(t *testing.T) {
	torch.Test(t, func() {
		for _, m := range []int64{1, 2, 300} {
			table := sphere(torch.NewStream(5, "edges"), 3, m)
			one := table.Narrow(0, 2, 1)
			rows := []torch.Tensor{one.MulScalar(0), one.MulScalar(1e-40), one.MulScalar(1e-9), one, one.MulScalar(-1),
				one.MulScalar(1e18),
				one.MulScalar(-1e18), one.MulScalar(1e-30).AddScalar(1e-31)}
			huge := append(rows, one.MulScalar(1e160), one.MulScalar(-1e-170))
			for _, kind := range continuousKinds {
				for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
					for target := range int64(3) {
						at := fmt.Sprintf("m %d, %s, %v, target %d", m, kind.name, dtype, target)
						x := rows
						if dtype == torch.Float64 && device == torch.CPU { // elsewhere squares leave the range
							x = huge
						}
						o, n := kind.options, int64(len(x))
						o.Ignore, o.Scale = 1, 1
						if o.Kind == torch.MaxMargin {
							o.Negatives = torch.Full(2, torch.Int64, device, n)
						}
						h := torch.Cat(x, 0).To(dtype, device).Clone()
						h.SetRequiresGrad(true)
						loss, nll := torch.ContinuousLoss(h, table.To(dtype, device),
							torch.Full(float64(target), torch.Int64, device, n), o)
						loss.Backward()
						if (o.Kind != torch.SquaredL2 || dtype == torch.Float32) &&
							(!loss.AllFinite() || !nll.AllFinite()) || !h.Grad().AllFinite() {
							t.Errorf("%s: loss %v, by row %v, a finite gradient: %v", at, loss.Item(), nll.Float64s(),
								h.Grad().AllFinite())
						}
						if size := h.Grad().Abs().Sum().Item() + math.Abs(loss.Item()); target == 1 && size != 0 {
							t.Errorf("%s: ignored rows have loss and gradient %v", at, size)
						}
					}
				}
				o := kind.options
				if o.Kind == torch.MaxMargin {
					o.Negatives = torch.Zeros(torch.Int64, device, 0)
				}
				o.Scale = 1
				h := torch.Zeros(torch.Float32, device, 0, m)
				h.SetRequiresGrad(true)
				loss, nll := torch.ContinuousLoss(h, table.To(torch.Float32, device),
					torch.Zeros(torch.Int64, device, 0), o)
				loss.Backward()
				if loss.Item() != 0 || nll.Count() != 0 || h.Grad().Count() != 0 {
					t.Errorf("%s of no rows is %v", kind.name, loss.Item())
				}
			}
		}
	})
}

// TestContinuousLossShowsNaN: a model that broke must be seen in its loss, one number or a whole row.
func TestContinuousLossShowsNaN(t *testing.T) {
	torch.Test(t, func() {
		bad := float32(math.NaN())
		for _, kind := range continuousKinds {
			for _, row := range [][]float32{{bad, 1, 2}, {1, bad, 3}, {bad, bad, bad}} {
				for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
					o := kind.options
					o.Ignore, o.Scale = -1, 1
					if o.Kind == torch.MaxMargin {
						o.Negatives = torch.FromInt64s([]int64{2}, device, 1)
					}
					loss, nll := torch.ContinuousLoss(torch.FromFloat32s(row, device, 1, 3).To(dtype, device),
						sphere(torch.NewStream(5, "broken"), 3, 3).To(dtype, device),
						torch.FromInt64s([]int64{1}, device, 1), o)
					if loss.AllFinite() || nll.AllFinite() {
						t.Errorf("%s, %v, %v: loss %v, by row %v", kind.name, dtype, row, loss.Item(), nll.Float64s())
					}
				}
			}
		}
	})
}

// TestContinuousLossAtZero: kappa = 0 has the uniform density, and raw gradient -e.
func TestContinuousLossAtZero(t *testing.T) {
	torch.Test(t, func() {
		for i, factor := range []float64{-1, -1, -0.1, -0.1, -1} {
			table := sphere(torch.NewStream(5, "zero"), 2, 300).Narrow(0, 1, 1)
			h := torch.Zeros(torch.Float64, device, 1, 300)
			h.SetRequiresGrad(true)
			o := continuousKinds[i].options
			o.Ignore, o.Scale = -1, 1
			loss, nll := torch.ContinuousLoss(h, table, torch.Zeros(torch.Int64, device, 1), o)
			loss.Backward()
			within(t, continuousKinds[i].name, loss.Item(), -427.60684049736, 1e-10)
			within(t, continuousKinds[i].name+" by row", nll.Item(), -427.60684049736, 1e-10)
			near(t, continuousKinds[i].name+": gradient", h.Grad(), table.MulScalar(factor))
		}
	})
}

func TestContinuousLossRefuses(t *testing.T) {
	torch.Test(t, func() {
		h, table := torch.Zeros(torch.Float32, device, 2, 3), torch.Zeros(torch.Float32, device, 4, 3)
		ids := func(x ...int64) torch.Tensor { return torch.FromInt64s(x, device, int64(len(x))) }
		for what, f := range map[string]func(){
			"a target beyond the table": func() {
				torch.ContinuousLoss(h, table, ids(0, 4),
					torch.ContinuousLossOptions{Ignore: -1})
			},
			"a negative target": func() {
				torch.ContinuousLoss(h, table, ids(0, -2),
					torch.ContinuousLossOptions{Ignore: -1})
			},
			"another number of targets": func() {
				torch.ContinuousLoss(h, table, ids(0),
					torch.ContinuousLossOptions{})
			},
			"targets in float": func() {
				torch.ContinuousLoss(h, table, torch.Zeros(torch.Float32, device, 2), torch.ContinuousLossOptions{})
			},
			"another number of columns": func() {
				torch.ContinuousLoss(h, table.Narrow(1, 0, 2), ids(0, 0),
					torch.ContinuousLossOptions{})
			},
			"an unknown kind": func() {
				torch.ContinuousLoss(h, table, ids(0, 0),
					torch.ContinuousLossOptions{Kind: 10})
			},
			"a margin without negatives": func() {
				torch.ContinuousLoss(h, table, ids(0, 0),
					torch.ContinuousLossOptions{Kind: torch.MaxMargin})
			},
			"negatives without a margin": func() {
				torch.ContinuousLoss(h, table, ids(0, 0),
					torch.ContinuousLossOptions{Negatives: ids(0, 0)})
			},
			"a wrong word beyond the table": func() {
				torch.ContinuousLoss(h, table, ids(0, 0),
					torch.ContinuousLossOptions{Kind: torch.MaxMargin,
						Negatives: torch.FromInt64s([]int64{0, 4}, torch.CPU, 2)}) // on a device they are not checked
			},
			"a bias of another size": func() {
				torch.InformativeNegatives(h, table,
					torch.Zeros(torch.Float32, device, 3), ids(0, 0), -1)
			},
		} {
			var e *torch.Error
			if err := torch.Try(func() error { f(); return nil }); !errors.As(err, &e) {
				t.Errorf("%s: the error is %v", what, err)
			}
		}
	})
}
