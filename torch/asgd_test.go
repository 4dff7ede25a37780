package torch_test

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// The steps and averages are those of torch.optim.ASGD with lambd 0 and t0 0 for a gradient of 1 and these rates.
func TestASGD(t *testing.T) {
	torch.Test(t, func() {
		for _, c := range []struct {
			lag              bool
			weights, average []float64
		}{
			{true, []float64{0.9, 0.8, 0.6, 0.5}, []float64{0.9, 0.8, 0.7, 1.9 / 3}},
			{false, []float64{0.9, 0.7, 0.6, 0.2}, []float64{0.9, 0.7, 0.65, 0.5}},
		} {
			p := torch.Parameter(torch.FromFloat64s([]float64{1}, device, 1))
			still := torch.Parameter(torch.FromFloat64s([]float64{3}, device, 1)) // never has a gradient
			a := torch.NewASGD([]torch.Tensor{p, still}, 0, c.lag)
			if a.Averages() != nil {
				t.Error("there is an average before the first step")
			}
			for i, rate := range []float64{0.1, 0.2, 0.1, 0.4} {
				scope := torch.OpenScope()
				p.Sum().Backward()
				a.Step(rate)
				a.Average()
				torch.ZeroGrad([]torch.Tensor{p})
				if w, m := p.Detach().Item(), a.Averages()[0].Item(); math.Abs(w-c.weights[i]) > 1e-12 ||
					math.Abs(m-c.average[i]) > 1e-12 {
					t.Errorf("lag %v, step %d: %v and %v, want %v and %v", c.lag, i+1, w, m, c.weights[i], c.average[i])
				}
				if m := a.Averages()[1].Item(); m != 3 {
					t.Errorf("the average of a weight that does not move is %v", m)
				}
				scope.Close()
			}
			// An optimizer that is given the state of another goes on as that one.
			b := torch.NewASGD([]torch.Tensor{p, still}, 0, c.lag)
			b.Restore(a.Averages())
			b.Steps, b.Rate = a.Steps, a.Rate
			scope := torch.OpenScope()
			p.Sum().Backward()
			before := p.Detach().Item()
			b.Step(0.1)
			b.Average()
			used := map[bool]float64{true: 0.4, false: 0.1}[c.lag]
			want := c.average[3] + (before-used-c.average[3])/4
			if m := b.Averages()[0].Item(); math.Abs(m-want) > 1e-12 {
				t.Errorf("after restoring, the average is %v, want %v", m, want)
			}
			scope.Close()
			a.Free()
			b.Free()
			torch.Free(p, still)
		}
	})
}

// Weight decay is part of the gradient.
func TestASGDWeightDecay(t *testing.T) {
	torch.Test(t, func() {
		p := torch.Parameter(torch.FromFloat64s([]float64{2}, device, 1))
		defer torch.Free(p)
		a := torch.NewASGD([]torch.Tensor{p}, 0.5, true)
		defer a.Free()
		p.Sum().Backward()
		a.Step(0.1)
		if w := p.Detach().Item(); math.Abs(w-(2-0.1*(1+0.5*2))) > 1e-12 {
			t.Errorf("the weight is %v", w)
		}
	})
}
