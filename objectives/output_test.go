package objectives

import (
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestScalingDoesNotDependOnBatches cuts 4,000 tokens into one batch and into
// four: gradients, penalties included, are the same.
func TestScalingDoesNotDependOnBatches(t *testing.T) {
	for name, settings := range trained() {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				const n, v, d = 4000, 31, 7
				p := config(v, d, 1)
				o := layer(t, settings, p)
				defer release(o, p)
				s := torch.NewStream(2, "data")
				hidden := s.Normal(0, 1, torch.Float64, device, n, d)
				targets := s.Uniform(0, v, torch.Float64, device, n).To(torch.Int64, device)
				update := func(batches int64) map[string][]float64 {
					for b := range batches {
						size := n / batches
						rows := torch.States{Hidden: hidden.Narrow(0, b*size, size)}
						loss, _ := o.Loss(rows, targets.Narrow(0, b*size, size), 1.0/n)
						loss.Backward()
					}
					o.Penalize()
					return gradients(p)
				}
				update(1)
				again := rewind(o)
				whole := update(1)
				again()
				for parameter, g := range update(4) {
					near(t, parameter, g, whole[parameter], 1e-12)
				}
			})
		})
	}
}

// TestNetworksBeginAlike: what is drawn after the layer is the same with every method.
func TestNetworksBeginAlike(t *testing.T) {
	all := trained()
	for name, settings := range continuousMethods() {
		all[name] = settings
	}
	torch.Test(t, func() {
		after := func(settings Settings) float64 {
			p := aimed(31, 7, 5, 1)
			if !resolved(settings).WordTargets {
				p.Vectors = torch.Tensor{}
			}
			defer release(layer(t, settings, p), p)
			return p.Stream.Uniform(0, 1, torch.Float64, torch.CPU, 1).Item()
		}
		want := after(unsmoothed())
		for name, settings := range all {
			if got := after(settings); got != want {
				t.Errorf("%s: the network begins with the draw %g, with mle %g", name, got, want)
			}
		}
	})
}

// TestLossAtTheEdges has no batch, no target that counts, and a vocabulary of one
// word: everything stays finite, gradients included.
func TestLossAtTheEdges(t *testing.T) {
	for name, settings := range trained() {
		for _, c := range []struct {
			what             string
			n, v, d, padding int64
			target           float64
		}{
			{"no rows", 0, 31, 7, 1, 1}, {"only padding", 5, 31, 7, 1, 1}, {"one word", 5, 1, 4, -1, 0},
			{"one word, padding", 5, 1, 4, 0, 0},
			{"two words", 3, 2, 1, 0, 1}, {"fewer words than columns", 6, 3, 9, 0, 2},
		} {
			t.Run(name+"/"+c.what, func(t *testing.T) {
				torch.Test(t, func() {
					p := config(c.v, c.d, c.padding)
					o := layer(t, settings, p)
					defer release(o, p)
					hidden := leaf(torch.NewStream(4, "data").Normal(0, 1, torch.Float64, device, c.n, c.d),
						torch.Float64)
					targets := torch.Full(c.target, torch.Int64, device, c.n)
					loss, nll := o.Loss(torch.States{Hidden: hidden}, targets, 0.5)
					loss.Backward()
					o.Penalize()
					for parameter, g := range gradients(p) {
						if !torch.FromFloat64s(g, device, int64(len(g))).AllFinite() {
							t.Errorf("the gradient of %s is %v", parameter, g)
						}
					}
					clean := o.NLL(torch.States{Hidden: hidden}, targets)
					near(t, "nll of training and evaluation", nll.Float64s(), clean.Float64s(), 1e-13)
					if clean.RequiresGrad() {
						t.Error("evaluation recorded gradients")
					}
					logProbs := o.LogProbs(hidden)
					if !loss.AllFinite() || !clean.AllFinite() || !logProbs.AllFinite() {
						t.Errorf("loss %v, nll %v, log-probabilities %v", loss.Item(), clean.Float64s(),
							logProbs.Float64s())
					}
					want := 0.0
					if c.v == 1 && c.padding != 0 && strings.Contains(settings.Method, "zloss") {
						want = 0.5 * Of[ZLossSettings](settings).Zeta * logZSquares(o, hidden, targets)
					}
					for _, r := range o.method.States {
						want += o.Report()[r.Name()]
					}
					if c.target == float64(c.padding) || c.n == 0 || c.v == 1 {
						near(t, "loss", loss.Float64s(), []float64{want}, 1e-12)
					}
				})
			})
		}
	}
}

// TestEvaluationIsClean compares nll with log-probabilities: no smoothing.
func TestEvaluationIsClean(t *testing.T) {
	for name, settings := range trained() {
		torch.Test(t, func() {
			p := config(31, 7, 1)
			o := layer(t, settings, p)
			defer release(o, p)
			moved(p)
			s := torch.NewStream(4, "data")
			hidden := s.Normal(0, 1, torch.Float64, device, 6, 7)
			ids := []int64{0, 1, 30, 4, 1, 9}
			logProbs := o.LogProbs(hidden).Float64s()
			want := make([]float64, len(ids))
			for row, id := range ids {
				if id != 1 {
					want[row] = -logProbs[row*31+int(id)]
				}
			}
			targets := torch.FromInt64s(ids, device, 6)
			near(t, name+": nll", o.NLL(torch.States{Hidden: hidden}, targets).Float64s(), want, 1e-13)
			_, nll := o.Loss(torch.States{Hidden: hidden}, targets, 0.25)
			near(t, name+": nll of the training loss", nll.Float64s(), want, 1e-13)
		})
	}
}

// TestBuffersContinue restores the vectors of power iteration into a new layer,
// which then pays what the old one pays.
func TestBuffersContinue(t *testing.T) {
	torch.Test(t, func() {
		s := unsmoothed()
		s.Set("method", "spectrum", "lambda_u_spectral", 1, "lambda_v_spectral", 1)
		p, q := config(31, 7, 1), config(31, 7, 1)
		q.Stream = torch.NewStream(2, "init")
		first, second := layer(t, s, p), layer(t, s, q)
		defer release(first, p)
		defer release(second, q)
		moved(p)
		for range 3 {
			first.Penalize()
		}
		if err := q.Params.Load(p.Params.Map()); err != nil {
			t.Fatal(err)
		}
		kept := first.Buffers()
		if len(kept) != 2 {
			t.Fatalf("the layer keeps %d vectors, want those of U and V", len(kept))
		}
		for name, x := range second.Buffers() {
			x.Assign(kept[name])
		}
		first.Penalize()
		second.Penalize()
		if a, b := first.Report()["orthogonality"], second.Report()["orthogonality"]; a != b {
			t.Errorf("the restored layer pays %v, the other %v", b, a)
		}
		first.Constrain(0.1) // this method has no constraint: nothing moves
		near(t, "U", p.Params.Get("decoder.embed_tokens.u").Float64s(),
			q.Params.Get("decoder.embed_tokens.u").Float64s(), 0)
		torch.ZeroGrad(append(p.Params.Tensors(), q.Params.Tensors()...))
	})
}

// TestAutocast asks for bfloat16 products: losses stay near those of float32, and
// penalties, which are differences from 1, are untouched.
func TestAutocast(t *testing.T) {
	for name, settings := range trained() {
		torch.Test(t, func() {
			p := config(31, 16, 1)
			p.DType = torch.Float32
			o := layer(t, settings, p)
			defer release(o, p)
			ids := torch.FromInt64s([]int64{0, 1, 30, 4, 1, 9}, device, 6)
			run := func(enabled bool) (losses []float64, penalties map[string]float64, g map[string][]float64) {
				torch.Autocast(enabled, device, func() {
					loss, nll := o.Loss(torch.States{Hidden: o.Lookup(ids)}, ids, 0.25)
					loss.Backward()
					o.Penalize()
					losses = append(append(loss.Float64s(), nll.Float64s()...),
						o.NLL(torch.States{Hidden: o.Lookup(ids)}, ids).Float64s()...)
				})
				return losses, o.Report(), gradients(p)
			}
			run(false)
			again := rewind(o)
			want, wantPenalties, wantGradients := run(false)
			again()
			got, penalties, g := run(true)
			near(t, name+": losses", got, want, 1e-2)
			near(t, name+": orthogonality", []float64{penalties["orthogonality"]},
				[]float64{wantPenalties["orthogonality"]}, 1e-12)
			for parameter := range wantGradients {
				near(t, name+": gradient of "+parameter, g[parameter], wantGradients[parameter], 2e-2)
			}
		})
	}
}
