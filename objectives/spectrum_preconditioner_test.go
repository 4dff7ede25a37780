package objectives

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestPreconditioner: plain gradient descent has column k of V's gradient divided by the present s_k^2, or by the mean
// of these where that is larger, times a gain where there is one; U's is divided by c^2 times the mean where that is
// above 1, and so is that of clusters, which are scored as U's rows are; the others stay as they are.
func TestPreconditioner(t *testing.T) {
	const u, v, clusters = "decoder.embed_tokens.u", "decoder.embed_tokens.v", "decoder.output_projection.clusters.weight"
	for _, method := range []string{"spectrum", "sn", "adaptive+spectrum", "adaptive+sn"} {
		torch.Test(t, func() {
			var slower float64
			const large = 20 // a prior whose scale leaves U too fast
			update := func(sgd bool) (map[string][]float64, []float64) {
				p := config(13, 5, -1)
				p.SGD = sgd
				s := unsmoothed()
				s.Set("method", method, "sn_gain", true, "prior_scale", large, "adaptive_cutoffs", "3,8")
				o := layer(t, s, p)
				defer release(o, p)
				e := o.Embedding().(*Factored)
				moved(p)
				square, mean, gain := e.s.Square().Float64s(), 0.0, 1.0
				if e.gain.Defined() {
					gain = e.gain.Item() * e.gain.Item()
				}
				for _, x := range square {
					mean += x / float64(len(square))
				}
				for i, x := range square {
					square[i] = gain * math.Max(x, mean)
				}
				slower = math.Max(1, gain*mean*5/13)
				data := torch.NewStream(4, "data")
				loss, _ := o.Loss(torch.States{Hidden: data.Normal(0, 1, torch.Float64, device, 6, 5)},
					torch.FromInt64s([]int64{1, 12, 0, 7, 7, 3}, device, 6), 1)
				loss.Backward()
				o.Penalize()
				return gradients(p), square
			}
			want, square := update(false)
			got, _ := update(true)
			if strings.HasSuffix(method, "spectrum") && slower < 2 {
				t.Errorf("U's gradient is divided by %g only, so that this test sees nothing", slower)
			}
			for _, name := range []string{u, clusters} {
				for i := range want[name] {
					want[name][i] /= slower
				}
			}
			for i := range want[v] {
				want[v][i] /= square[i%len(square)]
			}
			if len(got) != len(want) || len(want[v]) == 0 || (len(want[clusters]) > 0) != strings.HasPrefix(method, "adaptive") {
				t.Fatalf("%s: there are %d gradients, want %d", method, len(got), len(want))
			}
			for name := range want {
				near(t, method+": the gradient of "+name, got[name], want[name], 1e-12)
			}
		})
	}
}

// TestSGDTrainsTheSpectrum: at the rate and the clipping of AWD-LSTM every weight that the paper tried trains, of the
// prior where retractions hold U and V, which then need none, of all five terms where proximal steps hold them.
func TestSGDTrainsTheSpectrum(t *testing.T) {
	const v, d, n, rate, clip = 10000, 8, 64, 30, 0.25
	for _, c := range []struct {
		hold, prior string
		weight      float64 // of the prior; of the others a tenth of it
		orthogonal  float64 // how far from orthonormal U and V may be
	}{
		{"retraction", "exponential", 0.1, 1e-3}, {"retraction", "exponential", 1, 1e-3},
		{"retraction", "exponential", 10, 1e-3},
		{"retraction", "exponential", 100, 1e-3},
		{"retraction", "polynomial", 0.1, 1e-3}, {"retraction", "polynomial", 1, 1e-3},
		{"retraction", "polynomial", 10, 1e-3},
		{"retraction", "polynomial", 100, 1e-3},
		{"proximal", "exponential", 0.1, 1}, {"proximal", "exponential", 1, 0.2}, {"proximal", "exponential", 10, 0.02},
		{"proximal", "exponential", 100, 0.003},
		{"proximal", "polynomial", 0.1, 1}, {"proximal", "polynomial", 1, 0.2}, {"proximal", "polynomial", 10, 0.02},
		{"proximal", "polynomial", 100, 0.003},
	} {
		torch.Test(t, func() {
			what := fmt.Sprintf("%s, %s prior of weight %g", c.hold, c.prior, c.weight)
			p := config(v, d, -1)
			p.Uniform, p.DType, p.SGD = 0.1, torch.Float32, true
			s := unsmoothed()
			s.Set("method", "spectrum", "spectrum_hold", c.hold, "retract_every", 10, "bias", true)
			s.Set("prior", c.prior, "lambda_prior", c.weight)
			s.Set("lambda_u", c.weight/10, "lambda_v", c.weight/10, "lambda_u_spectral", c.weight/10,
				"lambda_v_spectral", c.weight/10)
			o := layer(t, s, p)
			scope := torch.OpenScope()
			data := torch.NewStream(4, "data")
			hidden := data.Normal(0, 0.3, torch.Float32, device, n, d)
			targets := make([]int64, n)
			for i := range targets {
				targets[i] = int64(i % 7)
			}
			y := torch.FromInt64s(targets, device, n)
			var first, last float64
			for i := range 40 {
				step := torch.OpenScope()
				loss, _ := o.Loss(torch.States{Hidden: hidden}, y, 1.0/n)
				last = loss.Item()
				if i == 0 {
					first = last
				}
				loss.Backward()
				o.Penalize()
				o.ClipGrad(p.Params.Tensors(), clip)
				torch.SGD(p.Params.Tensors(), rate, 0)
				torch.ZeroGrad(p.Params.Tensors())
				o.Constrain(rate)
				step.Close()
			}
			if !(last < first-1) || math.IsNaN(last) {
				t.Errorf("%s: the loss goes from %.3f to %.3f", what, first, last)
			}
			if u, vv := o.Embedding().(*Factored).Orthogonality(); !(u < c.orthogonal && vv < c.orthogonal) {
				t.Errorf("%s: |U^T U - I| is %.2g and |V^T V - I| %.2g", what, u, vv)
			}
			scope.Close()
			release(o, p)
		})
	}
}
