package objectives

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestDOptimalEqualsPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, _ := golden(t)
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-14, torch.Float32: 1e-6} {
			s := leaf(g["s"], dtype)
			value := (&DOptimal{Weight: 1, s: s}).Penalty()
			value.Backward()
			near(t, "value", value.Float64s(), g["penalty/d_optimal/value"].Float64s(), limit)
			near(t, "gradient", s.Grad().Float64s(), g["penalty/d_optimal/grad"].Float64s(), limit)
		}
	})
}

// TestDOptimalIsALogDeterminant checks the paper's form, -1/2 log det(W^T W), and
// values that have no logarithm.
func TestDOptimalIsALogDeterminant(t *testing.T) {
	torch.Test(t, func() {
		p := config(11, 4, 1)
		s := unsmoothed()
		s.Set("method", "sn-doptimal", "lambda_d_optimal", 2, "sn_gain", false)
		o := layer(t, s, p)
		defer release(o, p)
		e := o.Embedding().(*Factored)
		e.s.Assign(torch.FromFloat64s([]float64{1, -0.5, 0.25, 0.125}, device, 4))
		o.Penalize()
		values, _ := e.Matrix().Gram().Eigh()
		half := -0.5 * values.Log().Sum().Item()
		near(t, "the penalty", []float64{o.Report()["d_optimal"]}, []float64{2 * half / 4}, 1e-12)
		near(t, "the gradient", e.s.Grad().Float64s(), []float64{-0.5, 1, -2, -4}, 1e-12)
		torch.ZeroGrad(p.Params.Tensors())
		e.s.Assign(torch.FromFloat64s([]float64{0, 1e-30, -1e30, 1}, device, 4))
		o.Penalize()
		near(t, "the gradient at 0", e.s.Grad().Float64s(), []float64{0, 0, 0.5e-30, -0.5}, 1e-12)
		torch.ZeroGrad(p.Params.Tensors())
	})
}

func TestSpectralNormalisationEqualsPyTorch(t *testing.T) {
	torch.Test(t, func() {
		g, _ := golden(t)
		s := leaf(g["s"], torch.Float64)
		(&SpectralNormalisation{e: &Factored{s: s}}).Constrain(0.3)
		near(t, "s", s.Float64s(), g["normalised/s"].Float64s(), 1e-15)
		if !s.RequiresGrad() {
			t.Error("s is no parameter any more")
		}
		for _, size := range []float64{0, 1e-300, 1e300} {
			x := torch.FromFloat64s([]float64{-size, 0, size / 2}, device, 3)
			if normaliseLargest(x, torch.Tensor{}); !x.AllFinite() {
				t.Errorf("values up to %v become %v", size, x.Float64s())
			}
		}
	})
}

// TestNormalisedFromTheStart checks the largest singular value of W before the
// first update, after an update, and of an average; and the trained gain.
func TestNormalisedFromTheStart(t *testing.T) {
	for _, method := range []string{"sn", "sn-doptimal"} {
		for _, gain := range []bool{false, true} {
			torch.Test(t, func() {
				s := unsmoothed()
				s.Set("method", method, "sn_gain", gain, "spectrum_init", "svd")
				p := config(31, 6, 2)
				o := layer(t, s, p)
				defer release(o, p)
				e := o.Embedding().(*Factored)
				largest := 1.0
				if gain {
					largest = math.Sqrt(30.0 / 6) // |W|_F is that of 30 rows of a dense matrix
				}
				near(t, method+" at the start", singularValues(e).Float64s(),
					[]float64{largest, largest, largest, largest, largest, largest}, 1e-12)
				moved(p)
				retract(e.u, e.c)
				retract(e.v, 1)
				o.Constrain(0.1)
				if gain {
					largest = e.gain.Item()
				}
				near(t, method+" after an update", singularValues(e).Float64s()[:1], []float64{largest}, 1e-12)
				moved(p)
				if gain {
					largest = singularValues(e).Float64s()[0] // the gain keeps what W is
				}
				o.FixAverage(p.Params.Map())
				near(t, method+": s of an average", []float64{e.s.Abs().MaxDim(0, true).Item()}, []float64{1}, 1e-12)
				near(t, method+" of an average", singularValues(e).Float64s()[:1], []float64{largest}, 1e-12)
				if names := p.Params.Names(); (len(names) == 4) != gain {
					t.Errorf("the parameters are %v", names)
				}
			})
		}
	}
}

// TestNormalisedMatrixStartsAsLongAsADenseOne: at the defaults scores start as large as mle's.
func TestNormalisedMatrixStartsAsLongAsADenseOne(t *testing.T) {
	for _, method := range []string{"sn", "sn-doptimal"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Method = method
			p := config(31, 6, -1)
			o := layer(t, s, p)
			defer release(o, p)
			near(t, method+": |W|_F", []float64{o.Embedding().Matrix().Norm(0, false).Norm(0, false).Item()},
				[]float64{math.Sqrt(31)}, 1e-12)
		})
	}
}

// TestGainIsTrained compares the gain's gradient, through scores and lookups, with
// a finite difference.
func TestGainIsTrained(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "sn", "sn_gain", true)
		p := config(13, 4, 1)
		o := layer(t, s, p)
		defer release(o, p)
		moved(p)
		gain := o.Embedding().(*Factored).gain
		ids := torch.FromInt64s([]int64{4, 2, 12, 0, 7}, device, 5)
		loss := func() torch.Tensor {
			loss, _ := o.Loss(torch.States{Hidden: o.Lookup(ids).AddScalar(0.3)}, ids, 0.25)
			return loss
		}
		loss().Backward()
		analytic := gain.Grad().Item()
		at := func(value float64) float64 {
			gain.Assign(torch.Full(value, torch.Float64, device, 1))
			return loss().Item()
		}
		g := gain.Item()
		near(t, "the gradient", []float64{analytic}, []float64{(at(g+1e-5) - at(g-1e-5)) / 2e-5}, 1e-8)
		torch.ZeroGrad(p.Params.Tensors())
	})
}
