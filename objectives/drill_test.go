package objectives

import (
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/aperture-ml/aperture/torch"
)

func TestDrillEqualsPyTorch(t *testing.T) {
	equalsForm(t, "drill", "sigmoid", "drill", 1e-12, "bias", true)
	equalsForm(t, "drill", "relu", "drill", 1e-12, "bias", true, "drill_depth", 3, "drill_activation", "relu")
}

// TestDrillFollowsItsParameters: what evaluation keeps is made anew when any parameter has changed, and only then.
func TestDrillFollowsItsParameters(t *testing.T) {
	for _, method := range []string{"drill", "drill+spectrum", "drill+sn"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Set("method", method)
			p := config(31, 7, 2)
			o := layer(t, s, p)
			defer release(o, p)
			h := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 7)
			l := o.method.Likelihood.(*Drill)
			check := func(what string) {
				t.Helper()
				var want torch.Tensor
				torch.NoGrad(func() { want = torch.Linear(h, l.encode(0), l.bias_V).LogSoftmax(-1) })
				near(t, method+": log-probabilities "+what, o.LogProbs(h).Float64s(), want.Float64s(), 1e-12)
			}
			check("at first")
			for _, name := range p.Params.Names() {
				torch.NoGrad(func() { p.Params.Get(name).Assign(p.Params.Get(name).MulScalar(1.01).AddScalar(0.01)) })
				check("after a change of " + name)
			}
			torch.NoGrad(func() { l.kept_VD.Assign(l.kept_VD.MulScalar(2)) })
			spoilt := o.LogProbs(h).Float64s()
			var want torch.Tensor
			torch.NoGrad(func() { want = torch.Linear(h, l.kept_VD, l.bias_V).LogSoftmax(-1) })
			near(t, method+": log-probabilities of what was kept", spoilt, want.Float64s(), 1e-12)
		})
	}
}

// TestDrillDropout: a batch draws one mask of D numbers for each layer, evaluation none.
func TestDrillDropout(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "drill", "drill_dropout", 0.5, "drill_depth", 3)
		p := config(31, 8, -1)
		o := layer(t, s, p)
		defer release(o, p)
		states := torch.States{Hidden: torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 8)}
		targets := torch.FromInt64s([]int64{0, 1, 30, 4, 9}, torch.CPU, 5)
		nll := o.NLL(states, targets).Float64s()
		near(t, "evaluation", o.NLL(states, targets).Float64s(), nll, 0)
		_, first := o.Loss(states, targets, 1)
		offset := o.Streams()["label dropout"].Offset
		_, second := o.Loss(states, targets, 1)
		if a, b := first.Sum().Item(), second.Sum().Item(); a == b || a == floats.Sum(nll) {
			t.Errorf("losses under dropout are %v and %v, without it %v", a, b, floats.Sum(nll))
		}
		o.Streams()["label dropout"].Offset = 0
		_, again := o.Loss(states, targets, 1)
		near(t, "the first batch again", again.Float64s(), first.Float64s(), 0)
		if again := o.Streams()["label dropout"].Offset; again != offset {
			t.Errorf("a batch draws %d numbers, and then %d", offset, again)
		}
		torch.NoGrad(func() { // words with one vector keep one, since they share the masks
			w_VD := p.Params.Get("decoder.embed_tokens.weight")
			w_VD.Assign(w_VD.Narrow(0, 3, 1).Expand(31, 8))
			l := o.method.Likelihood.(*Drill)
			e_VD := l.encode(l.Dropout)
			near(t, "vectors of equal words", e_VD.Float64s(), e_VD.Narrow(0, 0, 1).Expand(31, 8).Float64s(), 1e-12)
		})
	})
}
