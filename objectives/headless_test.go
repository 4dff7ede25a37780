package objectives

import (
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// The authors add 1e-9 to sums of exponentials, which the limit leaves room for.
func TestHeadlessEqualsPyTorch(t *testing.T) { equalsForm(t, "headless", "batch", "headless", 1e-9) }

// TestHeadlessAtTheEdges: no target that counts, one, and the same one twice.
func TestHeadlessAtTheEdges(t *testing.T) {
	for _, method := range []string{"headless", "headless+spectrum"} {
		torch.Test(t, func() {
			s := unsmoothed()
			s.Method = method
			p := config(31, 7, 1)
			o := layer(t, s, p)
			defer release(o, p)
			for _, c := range []struct {
				ids  []int64
				loss float64
			}{{nil, 0}, {[]int64{1, 1}, 0}, {[]int64{1, 5}, 0}, {[]int64{5, 5}, 2 * 0.6931471805599453}} {
				n := int64(len(c.ids))
				h := leaf(torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, n, 7), torch.Float64)
				loss, nll := o.Loss(torch.States{Hidden: h}, torch.FromInt64s(c.ids, torch.CPU, n), 1)
				loss.Backward()
				near(t, method+": loss", loss.Float64s(), []float64{c.loss}, 1e-12)
				near(t, method+": by row", []float64{nll.Sum().Item()}, []float64{c.loss}, 1e-12)
				if !h.Grad().AllFinite() || nll.Size(0) != n {
					t.Errorf("%s: of targets %v, the gradient is %v", method, c.ids, h.Grad().Float64s())
				}
				torch.ZeroGrad(p.Params.Tensors())
			}
		})
	}
}

// TestHeadlessScoresAsMLE: from its weights mle goes on with the same probabilities, by the factors of W as by W, and
// without the bias that a preset asks for.
func TestHeadlessScoresAsMLE(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "headless+spectrum", "bias", true)
		p, q := config(31, 7, 1), config(31, 7, 1)
		o := layer(t, s, p)
		defer release(o, p)
		s = s.Simplified()
		simple := layer(t, s, q)
		defer release(simple, q)
		weights := p.Params.Map()
		o.Simplify(weights)
		if err := q.Params.Load(weights); err != nil || s.Method != "mle" {
			t.Fatalf("simplified it is %s: %v", s.Method, err)
		}
		h := torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, 5, 7)
		near(t, "log-probabilities", simple.LogProbs(h).Float64s(), o.LogProbs(h).Float64s(), 1e-12)
	})
}

func TestHeadlessWantsTiedInput(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Method = "headless"
		p := config(31, 7, 1)
		p.OutputOnly = true
		if _, err := New(s, p); err == nil || !strings.Contains(err.Error(), "tie the two with model.tying") {
			t.Errorf("the error is %v", err)
		}
		p.Params.Free()
	})
}
