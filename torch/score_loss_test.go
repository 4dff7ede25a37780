package torch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/torch"
)

// plainly keeps a loss from its fused kernel.
func plainly(f mixtureFunction) mixtureFunction {
	return func(latent, prior, weight, bias, targets, shift torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll,
		shifted torch.Tensor) {
		o.Plain = true
		return f(latent, prior, weight, bias, targets, shift, o)
	}
}

var plainMixture = plainly(torch.MixtureLoss)

func plainSoftmax(hidden, weight, bias, targets torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll torch.Tensor) {
	o.Plain = true
	return torch.SoftmaxLoss(hidden, weight, bias, targets, o)
}

func asItIs(scores torch.Tensor) torch.Tensor { return scores }

// zLoss is zeta (log Z)^2.
func zLoss(zeta float64) []torch.ScoreTerm {
	return []torch.ScoreTerm{{
		Loss: func(scores_NV, _ torch.Tensor) torch.Tensor {
			return scores_NV.LogSumExp(-1, false).Square().MulScalar(zeta)
		},
		Fused: torch.FusedZLoss(zeta),
	}}
}

// TestFusedEqualsPlain holds every fused kernel to the plain function of a chunk's scores, in values and all gradients,
// for all that can be asked of a loss, on odd shapes.
func TestFusedEqualsPlain(t *testing.T) {
	torch.Test(t, func() {
		r := rand.New(rand.NewPCG(1, 7))
		for form, functions := range zForms {
			for i := range 4 * 2 * 2 * 2 * 2 {
				kind, shift, withBias, withTerm, ignores := i%4, i/4%2, i/8%2 == 0, i/16%2 == 0, i/32 == 0
				n, d, v := r.Int64N(40), 1+r.Int64N(20), 1+r.Int64N(300)
				c := newZCase(r, form, n, d, v, withBias, shift > 0)
				c.options.Smoothing, c.options.Epsilon = torch.Smoothing(kind%3), 0.1
				if kind == 3 {
					c.options.Epsilon = 0
				}
				if !withTerm {
					c.options.Terms = nil
				}
				if !ignores {
					c.options.Ignore = -1
				}
				want := c.run(functions[1], torch.Float64)
				what := fmt.Sprintf("%s N %d D %d V %d, case %d", form, n, d, v, i)
				compare := func(of string, got map[string]torch.Tensor, limit float64) {
					if len(got) != len(want) {
						t.Errorf("%s: %d results, want %d", of, len(got), len(want))
					}
					for name, x := range got {
						nearWithin(t, of+": "+name, x, want[name], limit)
					}
				}
				for j, f := range functions {
					of := fmt.Sprint(what, ", plain ", j == 1)
					compare(of+", float64", c.run(f, torch.Float64), tolerances[torch.Float64])
					compare(of+", float32", c.run(f, torch.Float32), tolerances[torch.Float32])
					// Losses come in float32, of products in bfloat16.
					compare(of+", bfloat16", c.run(f, torch.BFloat16), 0.05)
					compare(of+", autocast", c.run(autocast(f), torch.Float32), 0.05)
				}
			}
		}
	})
}

func autocast(f mixtureFunction) mixtureFunction {
	return func(u, a, w, b, y, s torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll, shifted torch.Tensor) {
		torch.Autocast(true, device, func() { loss, nll, shifted = f(u, a, w, b, y, s, o) })
		return loss, nll, shifted
	}
}

// capped is 5 tanh(z/5) of scores z.
func capped(scores torch.Tensor) torch.Tensor { return scores.MulScalar(0.2).Tanh().MulScalar(5) }

// TestTransformedScores compares a softmax and a mixture of transformed scores with plain operators on all of them,
// where the shift comes before the transform and a term sees what comes out of it.
func TestTransformedScores(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			for i := range 2 * 2 {
				shift, withTerm := i%2, i/2 == 0
				c := newZCase(rand.New(rand.NewPCG(2, uint64(i))), form, 17, 5, 31, true, shift > 0)
				c.latent = c.latent.MulScalar(3)
				c.options.Smoothing, c.options.Epsilon = torch.SmoothingFairseq, 0.1
				c.options.Transform, c.options.Chunk = capped, 7
				if !withTerm {
					c.options.Terms = nil
				}
				want := c.run(wholeCapped, torch.Float64)
				what := fmt.Sprint(form, ", shift ", shift, ", term ", withTerm, ": ")
				for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
					for name, x := range c.run(functions[0], dtype) {
						near(t, fmt.Sprint(what, dtype, ", ", name), x, want[name])
					}
				}
				for name, x := range c.run(autocast(functions[0]), torch.Float32) {
					nearWithin(t, what+"under autocast, "+name, x, want[name], 0.1)
				}
			}
		}
	})
}

// wholeCapped is the loss of capped scores with fairseq's smoothing by 0.1, of all positions at once.
func wholeCapped(latent, prior, weight, bias, targets, shift torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll,
	shifted torch.Tensor) {
	const epsilon = 0.1
	n, v := targets.Size(0), weight.Size(0)
	ignored := targets.EqualScalar(float64(o.Ignore))
	index := targets.MaskedFill(ignored, 0).Reshape(n, 1)
	target := index.Equal(torch.Arange(v, device))
	k := int64(1)
	if prior.Defined() {
		k = prior.Size(1)
	} else {
		prior = torch.Zeros(latent.DType(), device, n, 1)
	}
	scores := torch.Linear(latent, weight, bias).Reshape(n, k, v)
	cost := func(scores torch.Tensor) torch.Tensor {
		return scores.LogSoftmax(2).Add(prior.LogSoftmax(1).Reshape(n, k, 1)).LogSumExp(1, false).Neg()
	}
	ofTarget := func(x torch.Tensor) torch.Tensor { return x.Gather(1, index).Reshape(n) }
	clean := cost(capped(scores))
	own := clean
	if shift.Defined() {
		own = cost(capped(scores.Sub(target.To(scores.DType(), device).Reshape(n, 1, v).Mul(shift.Reshape(n, k, 1)))))
		shifted = ofTarget(own).MaskedFill(ignored, 0).Detach()
	}
	row := ofTarget(own).MulScalar(1 - epsilon).Add(clean.MaskedFill(target, 0).SumDim(1,
		false).MulScalar(epsilon / float64(v-1)))
	if o.Terms != nil {
		row = row.Add(capped(scores).LogSumExp(2, false).Square().MeanDim(1, false).MulScalar(0.05))
	}
	return row.MaskedFill(ignored, 0).Sum().MulScalar(o.Scale), ofTarget(clean).MaskedFill(ignored, 0).Detach(), shifted
}

// TestTransformedLogProbs: decoding sees what training sees.
func TestTransformedLogProbs(t *testing.T) {
	torch.Test(t, func() {
		c := newMixtureCase(rand.New(rand.NewPCG(4, 5)), 2000, 3, 4, 31, true, false) // two chunks
		c.options.Ignore, c.options.Transform = -1, capped
		_, nll, _ := torch.MixtureLoss(c.latent, c.prior, c.weight, c.bias, c.targets, torch.Tensor{}, c.options)
		logP := torch.MixtureLogProbs(c.latent, c.prior, c.weight, c.bias, capped)
		near(t, "of targets", logP.Gather(1, c.targets.Reshape(-1, 1)).Reshape(-1).Neg(), nll)
		near(t, "their sum", logP.LogSumExp(1, false), torch.Zeros(torch.Float64, device, 2000))
	})
}

// gatedCase is a loss that no kernel knows: a softmax whose scores a gate of each position and a vector over the
// vocabulary scale.
type gatedCase struct {
	lossCase
	gate, vector torch.Tensor // [N,2], [V]
}

func newGatedCase() gatedCase {
	c := gatedCase{lossCase: newLossCase(rand.New(rand.NewPCG(5, 9)), 23, 5, 31, true)}
	draw := torch.NewStream(3, "gate")
	c.gate, c.vector = draw.Normal(0, 1, torch.Float64, device, 23, 2), draw.Normal(1, 0.3, torch.Float64, device, 31)
	c.options.Chunk = 7
	return c
}

func gated(scores, gate, vector, targets torch.Tensor) torch.Tensor {
	logP := scores.Mul(gate.SumDim(1, true).Sigmoid()).Mul(vector).LogSoftmax(1)
	return logP.Gather(1, targets.Reshape(-1, 1)).Reshape(-1).Neg()
}

func (c gatedCase) chunked(in []torch.Tensor) (loss, nll torch.Tensor) {
	x := torch.LossOperands{Hidden: in[0], Weight: in[1], Bias: in[2], Targets: c.targets, Rows: in[3:4], Whole: in[4:]}
	loss, values := torch.ScoreLoss(x, c.options, func(x torch.ScoreChunk) (torch.Tensor, []torch.Tensor) {
		loss := gated(x.Scores, x.Rows[0], in[4], x.Targets)
		return loss, []torch.Tensor{loss}
	})
	return loss, values[0]
}

func (c gatedCase) operands() []torch.Tensor {
	return []torch.Tensor{c.hidden, c.weight, c.bias, c.gate, c.vector}
}

// TestScoreLoss: any function of scores and of further operands, by rows and whole, gives what it gives of all scores
// at once, with all gradients.
func TestScoreLoss(t *testing.T) {
	torch.Test(t, func() {
		c := newGatedCase()
		whole := func(in []torch.Tensor) []torch.Tensor {
			ignored := c.targets.EqualScalar(ignoredTarget)
			rows := gated(torch.Linear(in[0], in[1], in[2]), in[3], in[4],
				c.targets.MaskedFill(ignored, 0)).MaskedFill(ignored, 0)
			return []torch.Tensor{rows.Sum().MulScalar(c.options.Scale), rows.Detach()}
		}
		want := withGradients(torch.Float64, whole, c.operands()...)
		for _, chunk := range []int64{0, 1, 7, 22, 100} {
			c.options.Chunk = chunk
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
				got := withGradients(dtype, func(in []torch.Tensor) []torch.Tensor {
					loss, nll := c.chunked(in)
					return []torch.Tensor{loss, nll}
				}, c.operands()...)
				for i, x := range got {
					near(t, fmt.Sprint("chunks of ", chunk, ", ", dtype, ": result ", i), x, want[i])
				}
			}
		}
		c.options.Chunk = 7
		checkGradients(t, "gated", c.operands(), func(in []torch.Tensor) torch.Tensor {
			loss, _ := c.chunked(in)
			return loss.MulScalar(1.5)
		})
	})
}

// TestScoreLossGivesGradientsOnce, to those that ask for them, and none in evaluation.
func TestScoreLossGivesGradientsOnce(t *testing.T) {
	torch.Test(t, func() {
		c := newGatedCase()
		for i := range 5 {
			all := withGradients(torch.Float64, func(in []torch.Tensor) []torch.Tensor {
				loss, nll := c.chunked(in)
				return []torch.Tensor{loss, nll}
			}, c.operands()...)
			in := c.operands()
			in[i] = in[i].Clone()
			in[i].SetRequiresGrad(true)
			loss, nll := c.chunked(in)
			loss.Backward()
			near(t, fmt.Sprint("the gradient of operand ", i, " alone"), in[i].Grad(), all[2+i])
			c.options.Evaluate = true
			evaluated, same := c.chunked(in)
			c.options.Evaluate = false
			if evaluated.Item() != loss.Item() || !slices.Equal(same.Float64s(), nll.Float64s()) {
				t.Error("evaluation gives another value")
			}
			var unrecorded torch.Tensor
			torch.NoGrad(func() { unrecorded, _ = c.chunked(in) })
			for what, x := range map[string]torch.Tensor{"a second backward pass": loss, "of evaluation": evaluated,
				"without gradients": unrecorded} {
				if err := torch.Try(func() error { x.Backward(); return nil }); err == nil || nll.RequiresGrad() {
					t.Errorf("%s: it can be differentiated", what)
				}
			}
		}
	})
}

// TestTermOfParameters: a term's own parameters get gradients, and a term that does not depend on scores is one.
func TestTermOfParameters(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			c := newZCase(rand.New(rand.NewPCG(5, 3)), form, 20, 3, 7, true, false)
			vector := torch.NewStream(3, "vector").Normal(0, 1, torch.Float64, device, 7)
			vector.SetRequiresGrad(true)
			c.options.Chunk, c.options.Terms = 6, []torch.ScoreTerm{
				{Loss: func(scores, targets torch.Tensor) torch.Tensor {
					return vector.IndexSelect(0, targets).MulScalar(2)
				}, Parameters: []torch.Tensor{vector}},
			}
			got := c.run(functions[0], torch.Float64)
			c.options.Terms = nil
			want := c.run(functions[0], torch.Float64)
			near(t, form+": the gradient of the bias", got["g_bias"], want["g_bias"])
			counts := make([]float64, 7)
			for _, id := range c.targets.Int64s() {
				if id != ignoredTarget {
					counts[id] += 2 * c.options.Scale
				}
			}
			near(t, form+": the gradient of the vector", vector.Grad(), torch.FromFloat64s(counts, device, 7))
			near(t, form+": what it pays", got["loss"].Sub(want["loss"]), vector.Detach().Mul(vector.Grad()).Sum())
		}
	})
}

// TestTermsShareAParameter: a parameter of two terms gets each one's gradient once.
func TestTermsShareAParameter(t *testing.T) {
	torch.Test(t, func() {
		c := newLossCase(rand.New(rand.NewPCG(5, 3)), 20, 3, 7, false)
		vector := torch.Zeros(torch.Float64, device, 7)
		vector.SetRequiresGrad(true)
		term := torch.ScoreTerm{Loss: func(_, targets torch.Tensor) torch.Tensor {
			return vector.IndexSelect(0, targets)
		}, Parameters: []torch.Tensor{vector}}
		gradient := func(terms ...torch.ScoreTerm) torch.Tensor {
			torch.ZeroGrad([]torch.Tensor{vector})
			c.options.Chunk, c.options.Terms = 6, terms
			loss, _ := torch.SoftmaxLoss(c.hidden, c.weight, c.bias, c.targets, c.options)
			loss.Backward()
			return vector.Grad()
		}
		near(t, "two terms", gradient(term, term), gradient(term).MulScalar(2))
	})
}

func TestScoreLossRefuses(t *testing.T) {
	torch.Test(t, func() {
		c := newGatedCase()
		x := torch.LossOperands{Hidden: c.hidden, Weight: c.weight, Targets: c.targets}
		before := torch.LiveHandles()
		for want, f := range map[string]func(){
			"must give one loss for each target": func() {
				torch.ScoreLoss(x, c.options,
					func(x torch.ScoreChunk) (torch.Tensor, []torch.Tensor) { return x.Scores.Sum(), nil })
			},
			"has other rows than the targets": func() {
				others := x
				others.Rows = []torch.Tensor{c.vector}
				torch.ScoreLoss(others, c.options, nil)
			},
		} {
			err := torch.Try(func() error { f(); return nil })
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "ScoreLoss of shapes ") {
				t.Errorf("got the error %v, want one with %q", err, want)
			}
		}
		if now := torch.LiveHandles(); now != before {
			t.Errorf("%d handles are left", now-before)
		}
		c.weight.SetRequiresGrad(true)
		if c.weight.MulScalar(2).RequiresGrad() == false {
			t.Error("gradients are no longer recorded")
		}
	})
}

// BenchmarkLosses takes training steps of a softmax by its fused kernel and by plain operators in turn. plain/fused is
// the median of the ratios of their times, with the smallest and the largest; MB are the peaks of memory that a step
// takes.
func BenchmarkLosses(b *testing.B) {
	for _, v := range []int64{10000, 37000} {
		for name, terms := range map[string][]torch.ScoreTerm{"mle": nil, "zloss": zLoss(1e-4)} {
			b.Run(fmt.Sprintf("%s/V=%d", name, v), func(b *testing.B) {
				torch.Do(func() { benchmarkLosses(b, v, terms) })
			})
		}
	}
}

func benchmarkLosses(b *testing.B, v int64, terms []torch.ScoreTerm) {
	const n, d = 1000, 512
	scope := torch.OpenScope()
	defer scope.Close()
	draw := torch.NewStream(1, "case")
	hidden, weight := draw.Normal(0, 1, torch.Float32, device, n, d), draw.Normal(0, 0.05, torch.Float32, device, v, d)
	targets := draw.Uniform(0, float64(v), torch.Float64, torch.CPU, n).To(torch.Int64, torch.CPU)
	hidden.SetRequiresGrad(true)
	weight.SetRequiresGrad(true)
	step := func(plain bool) float64 {
		scope := torch.OpenScope()
		defer scope.Close()
		start := time.Now()
		loss, _ := torch.SoftmaxLoss(hidden, weight, torch.Tensor{}, targets, torch.SoftmaxLossOptions{
			Ignore: -1, Scale: 1.0 / n, Epsilon: 0.1, Terms: terms, Plain: plain,
		})
		loss.Backward()
		_ = weight.Grad().Narrow(0, 0, 1).Float32s() // wait for it
		took := time.Since(start).Seconds()
		torch.ZeroGrad([]torch.Tensor{hidden, weight})
		return took
	}
	for _, plain := range []bool{false, true} { // and get warm
		before := torch.LiveBytes()
		torch.ResetPeakBytes()
		step(plain)
		b.ReportMetric(float64(torch.PeakBytes()-before)/1e6,
			map[bool]string{false: "MB-fused", true: "MB-plain"}[plain])
	}
	var ratios []float64
	for range b.N {
		fused := step(false)
		ratios = append(ratios, step(true)/fused)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "plain/fused")
	b.ReportMetric(ratios[0], "min")
	b.ReportMetric(ratios[len(ratios)-1], "max")
}
