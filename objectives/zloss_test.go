package objectives

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestZLoss: a target pays zeta (log Z)^2 beside its cross-entropy, of clean scores where a perturbation lowers the
// target's; of a mixture, the mean over its components; of an adaptive softmax, of the head and of the target's tail.
// The clean loss and evaluation do not know of it.
func TestZLoss(t *testing.T) {
	const v, d, n, zeta = 31, 7, 5, 0.03
	for _, method := range []string{"mle", "adversarial", "spectrum", "mos", "mos+adversarial", "adaptive"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("method", method, "zeta", zeta, "mixture_components", 3, "mixture_dropout", 0, "bias", true)
			p, q := config(v, d, -1), config(v, d, -1)
			without := layer(t, s, p)
			defer release(without, p)
			s.Method += "+zloss"
			with := layer(t, s, q)
			defer release(with, q)
			moved(p)
			if err := q.Params.Load(p.Params.Map()); err != nil {
				t.Fatal(err)
			}
			h := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, n, d)
			targets := torch.FromInt64s([]int64{0, 30, 4, 17, 0}, device, n)
			a, clean := without.Loss(torch.States{Hidden: h}, targets, 0.5)
			b, same := with.Loss(torch.States{Hidden: h}, targets, 0.5)
			near(t, method+": the clean loss", same.Float64s(), clean.Float64s(), 1e-12)
			near(t, method+": evaluation", with.NLL(torch.States{Hidden: h}, targets).Float64s(), clean.Float64s(),
				1e-12)
			near(t, method+": the term", []float64{b.Item() - a.Item()},
				[]float64{0.5 * zeta * logZSquares(with, h, targets)}, 1e-12)
		})
	}
}

// logZSquares sums (log Z)^2 over targets, made of plain operators.
func logZSquares(o *Output, h, targets torch.Tensor) (sum float64) {
	square := func(hidden, weight, bias torch.Tensor) torch.Tensor {
		return torch.Linear(hidden, weight, bias).LogSumExp(-1, false).Square()
	}
	switch l := o.method.Likelihood.(type) {
	case *Softmax:
		return square(l.head.Map(h), l.head.Weight, l.bias_V).Sum().Item()
	case *Mixture:
		return square(l.head.Map(l.states(h)), l.head.Weight, l.bias).Sum().Item() / float64(l.Components)
	case *Adaptive:
		own := l.places(targets)
		for i, x := range l.layers(h) {
			sum += square(x.hidden, x.weight, x.bias).MaskedFill(outside(own[i], device), 0).Sum().Item()
		}
	}
	return sum
}
