package torch_test

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// gradient gives x the gradient g.
func gradient(x torch.Tensor, g []float64) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.ZeroGrad([]torch.Tensor{x})
	x.Mul(torch.FromFloat64s(g, device, int64(len(g))).To(x.DType(), device)).Sum().Backward()
}

// A step with given statistics, by hand, in both precisions: the float32 kernel and the plain operators.
func TestDynamicStep(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			parameter := func(values ...float64) torch.Tensor {
				return torch.Parameter(torch.FromFloat64s(values, device, int64(len(values))).To(dtype, device))
			}
			a, b, still := parameter(1.1, 1.9), parameter(3), parameter(5)
			params := []torch.Tensor{a, b}
			d := torch.NewDynamic(params)
			// Two chunks whose root mean squares are .1, .2 and .3.
			for _, sign := range []float64{1, -1} {
				gradient(a, []float64{0.1 * sign, 0.2})
				gradient(b, []float64{0.3 * sign})
				d.Collect()
			}
			d.Finish()
			d.Rate, d.Decay, d.Epsilon = 0.01, 0.5, 0.001
			a.Assign(torch.FromFloat64s([]float64{1, 2}, device, 2).To(dtype, device))
			gradient(a, []float64{0.05, -0.1})
			gradient(b, []float64{0.2})
			d.Step()
			got := append(a.Detach().Float64s(), b.Detach().Float64s()...)
			for i, want := range []float64{1.0172717, 1.9605307, 2.9933555} {
				if math.Abs(got[i]-want) > 1e-6 {
					t.Errorf("%v: element %d is %.7f, want %.7f", dtype, i, got[i], want)
				}
			}
			// Without a gradient a weight goes back by exactly min(decay rms / mean, 1) of its way.
			d.Decay = 1.5
			gradient(b, []float64{0})
			torch.ZeroGrad([]torch.Tensor{a})
			a.Assign(torch.FromFloat64s([]float64{2, 3}, device, 2).To(dtype, device))
			d.Step()
			for i, want := range []float64{2 + 1.5*0.1/0.225*(1.1-2), 1.9} {
				if x := a.Detach().Float64s()[i]; math.Abs(x-want) > 1e-6 {
					t.Errorf("%v: element %d went back to %v, want %v", dtype, i, x, want)
				}
			}
			d.Reset()
			if x := a.Detach().Float64s(); math.Abs(x[0]-1.1) > 1e-7 || math.Abs(x[1]-1.9) > 1e-7 {
				t.Errorf("after a reset the weights are %v", x)
			}
			d.Free()

			// Weights that never have a gradient neither move nor become no number.
			none := torch.NewDynamic([]torch.Tensor{still})
			none.Collect()
			none.Finish()
			none.Rate, none.Decay = 1, 1
			none.Step()
			if x := still.Detach().Item(); x != 5 {
				t.Errorf("a weight without gradient is %v", x)
			}
			none.Free()
			// Where it cannot copy all weights it leaves none, as Test finds.
			huge := torch.Zeros(dtype, device, 1).Expand(1 << 50)
			if err := torch.Try(func() error { torch.NewDynamic([]torch.Tensor{still, huge}); return nil }); err == nil {
				t.Error("2^50 weights are copied")
			}
			torch.Free(huge)
			torch.Free(a, b, still)
		}
	})
}
