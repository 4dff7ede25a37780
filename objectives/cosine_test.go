package objectives

import (
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestCosineOfFactorsIsThatOfW compares a factored penalty with that of the matrix
// it stands for, and its gradients with those that reach the factors through it.
func TestCosineOfFactorsIsThatOfW(t *testing.T) {
	for _, size := range sizes {
		for _, padding := range []int64{-1, 0} {
			torch.Test(t, func() {
				s := unsmoothed()
				s.Set("method", "spectrum+cosreg", "gamma", 7, "prior", "none", "lambda_u", 0, "lambda_v", 0)
				p := config(size[0], size[1], padding)
				o := layer(t, s, p)
				defer release(o, p)
				moved(p)
				if padding >= 0 {
					zeroPadding(o)
				}
				e := o.Embedding().(*Factored)
				reference := torch.CosinePenaltyReference(e.u.Mul(e.s.MulScalar(e.c)).MatMul(e.v.Transpose(0, 1)), 7)
				reference.Backward()
				want := gradients(p)
				o.Penalize()
				got := gradients(p)
				near(t, "the penalty", []float64{o.Report()["mean_cosine_penalty"]}, reference.Float64s(), 1e-12)
				for name := range want {
					near(t, "the gradient of "+name, got[name], want[name], 1e-11)
				}
			})
		}
	}
}

func zeroPadding(o *Output) {
	torch.NoGrad(func() {
		row := o.Embedding().(*Factored).u.Narrow(0, 0, 1)
		row.Assign(row.MulScalar(0))
	})
}

// TestCosineLeavesPaddingAlone: a row of zeros pays nothing and stays.
func TestCosineLeavesPaddingAlone(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Method = "cosreg"
		p := config(31, 7, 1)
		o := layer(t, s, p)
		defer release(o, p)
		o.Penalize()
		g := gradients(p)["decoder.embed_tokens.weight"]
		near(t, "the gradient of padding", g[7:14], make([]float64, 7), 0)
		without := torch.Cat([]torch.Tensor{o.Embedding().Matrix().Narrow(0, 0, 1),
			o.Embedding().Matrix().Narrow(0, 2, 29)}, 0)
		near(t, "the penalty", []float64{o.Report()["mean_cosine_penalty"]},
			torch.CosinePenaltyReference(without, 900.0/961).Float64s(), 1e-12)
	})
}

// frozen is an embedding of another kind.
type frozen struct{ Embedding }

func TestCosineNeedsAMatrix(t *testing.T) {
	if err := (&Cosine{}).Init(frozen{}, Config{}); err == nil ||
		!strings.Contains(err.Error(), "matrices that are trained") {
		t.Errorf("the error is %v", err)
	}
}
