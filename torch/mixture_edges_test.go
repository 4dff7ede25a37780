package torch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestMixtureLossOfNothing(t *testing.T) {
	torch.Test(t, func() {
		random := func() *rand.Rand { return rand.New(rand.NewPCG(5, 6)) }
		nothing := newMixtureCase(random(), 0, 3, 4, 5, true, true)
		ignored := newMixtureCase(random(), 4, 3, 4, 5, true, true)
		ignored.targets = torch.FromInt64s([]int64{ignoredTarget, ignoredTarget, ignoredTarget, ignoredTarget}, device,
			4)
		word := newMixtureCase(random(), 4, 3, 4, 1, true, true)
		word.options.Ignore = -1
		for what, c := range map[string]mixtureCase{"no rows": nothing, "ignored rows": ignored, "one word": word} {
			for kind := range torch.Smoothing(3) {
				c.options.Smoothing, c.options.Epsilon = kind, 0.1
				for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
					for name, x := range c.run(torch.MixtureLoss, dtype) {
						nearWithin(t, fmt.Sprint(what, ", smoothing ", kind, ", ", dtype, ": ", name), x,
							torch.Zeros(torch.Float64, device, x.Shape()...), 1e-6)
					}
				}
			}
		}
	})
}

// TestMixtureLossOfHugeAndTinyValues: logits whose exponentials are far out of
// range, priors that are all but certain, and rows of zeros.
func TestMixtureLossOfHugeAndTinyValues(t *testing.T) {
	torch.Test(t, func() {
		for what, factor := range map[string]float64{"huge": 1e3, "tiny": 1e-30, "zero": 0} {
			for _, epsilon := range []float64{0, 0.1} {
				for _, withShift := range []bool{false, true} {
					c := newMixtureCase(rand.New(rand.NewPCG(7, 8)), 9, 3, 4, 300, true, withShift)
					c.latent, c.prior, c.bias = c.latent.MulScalar(factor), c.prior.MulScalar(factor),
						c.bias.MulScalar(factor)
					c.options.Epsilon = epsilon
					want := c.run(plainMixture, torch.Float64)
					for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
						for name, x := range c.run(torch.MixtureLoss, dtype) {
							label := fmt.Sprintf("%s, smoothing %v, shift %v, %v: %s", what, epsilon, withShift, dtype,
								name)
							switch {
							case !x.AllFinite():
								t.Errorf("%s is not finite", label)
							case dtype == torch.Float64:
								nearWithin(t, label, x, want[name], 1e-9)
							case dtype == torch.Float32 && (factor < 1 || !strings.HasPrefix(name, "g_")):
								// A huge logit is known to 1e-4, so that its gradient is another; its loss is as right as the logit.
								nearWithin(t, label, x, want[name], 1e-4)
							}
						}
					}
				}
			}
		}
	})
}

// TestMixtureLossForbidsWords: a bias of minus infinity takes a word out.
func TestMixtureLossForbidsWords(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(dtype, device, shape...) }
			bias := torch.FromFloat64s([]float64{0, math.Inf(-1), 0}, device, 3).To(dtype, device)
			loss, _, _ := torch.MixtureLoss(zeros(1, 2, 1), zeros(1, 2), zeros(3, 1), bias,
				torch.FromInt64s([]int64{0}, device, 1), torch.Tensor{},
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
			if math.Abs(loss.Item()-math.Log(2)) > 1e-6 {
				t.Errorf("%v: the loss is %v", dtype, loss.Item())
			}
			for name, transform := range map[string]func(torch.Tensor) torch.Tensor{"fused": nil, "plain": asItIs} {
				got := torch.MixtureLogProbs(zeros(1, 2, 1), zeros(1, 2), zeros(3, 1), bias, transform).Float64s()
				if !math.IsInf(got[1], -1) || math.Abs(got[0]+math.Log(2)) > 1e-6 {
					t.Errorf("%v, %s: the log-probabilities are %v", dtype, name, got)
				}
			}
			smoothed, _, _ := torch.MixtureLoss(zeros(1, 2, 1), zeros(1, 2), zeros(3, 1), bias,
				torch.FromInt64s([]int64{0}, device, 1), torch.Tensor{},
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1, Epsilon: 0.1})
			if !math.IsInf(smoothed.Item(), 1) {
				t.Errorf("%v: with smoothing the loss is %v", dtype, smoothed.Item())
			}
		}
	})
}

// TestMixtureLossForbidsWordsInTraining: what a bias forbids takes no gradient from the other words, by kernels and by
// plain operators.
func TestMixtureLossForbidsWordsInTraining(t *testing.T) {
	torch.Test(t, func() {
		c := newMixtureCase(rand.New(rand.NewPCG(5, 3)), 9, 3, 4, 6, true, true)
		values := c.bias.Float64s()
		values[5] = math.Inf(-1)
		c.bias = torch.FromFloat64s(values, device, 6)
		c.targets = torch.FromInt64s([]int64{0, 1, 2, 3, 4, 0, 1, 2, 3}, device, 9)
		c.options.Epsilon = 0
		want := c.run(torch.MixtureLoss, torch.Float64)
		for name, got := range c.run(plainMixture, torch.Float64) {
			near(t, name, got, want[name])
		}
	})
}

// TestMixtureLossShowsNaN: a model that broke must be seen in its loss.
func TestMixtureLossShowsNaN(t *testing.T) {
	torch.Test(t, func() {
		for _, epsilon := range []float64{0, 0.1} {
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				weight := torch.FromFloat32s([]float32{1, float32(bad), 2}, device, 3, 1)
				loss, _, _ := torch.MixtureLoss(torch.Full(1, torch.Float32, device, 1, 2, 1),
					torch.Zeros(torch.Float32, device, 1, 2), weight, torch.Tensor{},
					torch.FromInt64s([]int64{0}, device, 1), torch.Tensor{},
					torch.SoftmaxLossOptions{Ignore: -1, Epsilon: epsilon, Scale: 1})
				if v := loss.Item(); !math.IsNaN(v) && !math.IsInf(v, 1) {
					t.Errorf("a logit of %v gives a loss of %v", bad, v)
				}
			}
		}
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			none := func(shape ...int64) torch.Tensor { return torch.Full(math.NaN(), dtype, device, shape...) }
			ones := func(shape ...int64) torch.Tensor { return torch.Full(1, dtype, device, shape...) }
			for what, operands := range map[string][2]torch.Tensor{"states": {none(1, 2, 1), ones(1, 2)},
				"a prior": {ones(1, 2, 1), none(1, 2)}} {
				loss, nll, _ := torch.MixtureLoss(operands[0], operands[1], ones(3, 1), torch.Tensor{},
					torch.FromInt64s([]int64{0}, device, 1), torch.Tensor{}, torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
				if !math.IsNaN(loss.Item()) || !math.IsNaN(nll.Item()) {
					t.Errorf("%v: %s of NaN give the loss %v and %v", dtype, what, loss.Item(), nll.Item())
				}
			}
		}
	})
}

func TestMixtureLossRefuses(t *testing.T) {
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		ids := func(list ...int64) torch.Tensor { return torch.FromInt64s(list, device, int64(len(list))) }
		u, a, w, y, none := zeros(2, 3, 4), zeros(2, 3), zeros(5, 4), ids(0, 1), torch.Tensor{}
		for want, f := range map[string]func(){
			"do not fit a weight of shape [5, " +
				"3]": func() {
				torch.MixtureLoss(u, a, zeros(5, 3), none, y, none,
					torch.SoftmaxLossOptions{})
			},
			"latent states of shape [2, 0, 4] do not " +
				"fit": func() { torch.MixtureLoss(zeros(2, 0, 4), a, w, none, y, none, torch.SoftmaxLossOptions{}) },
			"do not fit a prior of shape [2, " +
				"2]": func() {
				torch.MixtureLoss(u, zeros(2, 2), w, none, y, none,
					torch.SoftmaxLossOptions{})
			},
			"do not fit targets of shape [1]": func() {
				torch.MixtureLoss(u, a, w, none, ids(0), none,
					torch.SoftmaxLossOptions{})
			},
			"does not fit a bias of shape [4]": func() {
				torch.MixtureLoss(u, a, w, zeros(4), y, none,
					torch.SoftmaxLossOptions{})
			},
			"do not fit shifts of shape [2]": func() {
				torch.MixtureLoss(u, a, w, none, y, zeros(2),
					torch.SoftmaxLossOptions{})
			},
			"targets must be int64": func() {
				torch.MixtureLoss(u, a, w, none, zeros(2), none,
					torch.SoftmaxLossOptions{})
			},
			"a target of 5 is outside the vocabulary": func() {
				torch.MixtureLoss(u, a, w, none, ids(0, 5), none,
					torch.SoftmaxLossOptions{Ignore: -1})
			},
			"do not fit a weight of type": func() {
				torch.MixtureLoss(u, a, w.To(torch.Float64, device), none, y, none, torch.SoftmaxLossOptions{})
			},
		} {
			err := torch.Try(func() error { f(); return nil })
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "MixtureLoss of shapes ") {
				t.Errorf("got the error %v, want one with %q", err, want)
			}
		}
	})
}

// TestMixtureLossOnce: a loss gives its gradients once, an evaluated one none.
func TestMixtureLossOnce(t *testing.T) {
	torch.Test(t, func() {
		c := newMixtureCase(rand.New(rand.NewPCG(8, 9)), 20, 3, 7, 31, false, false)
		c.weight.SetRequiresGrad(true)
		run := func(o torch.SoftmaxLossOptions) torch.Tensor {
			loss, _, _ := torch.MixtureLoss(c.latent, c.prior, c.weight, c.bias, c.targets, c.shift, o)
			return loss
		}
		loss := run(c.options)
		loss.Backward()
		c.options.Evaluate = true
		for what, x := range map[string]torch.Tensor{"a second backward pass": loss,
			"the backward pass of an evaluated loss": run(c.options)} {
			if err := torch.Try(func() error { x.Backward(); return nil }); err == nil {
				t.Errorf("%s is no error", what)
			}
		}
		if evaluated := run(c.options); evaluated.Item() != loss.Item() {
			t.Errorf("evaluation gives %v, training %v", evaluated.Item(), loss.Item())
		}
	})
}

// TestMixtureLossNeverKeepsLogits measures the peak of a training step.
func TestMixtureLossNeverKeepsLogits(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		const n, k, d, v = 200, 5, 16, 2000
		c := newMixtureCase(rand.New(rand.NewPCG(8, 9)), n, k, d, v, false, false)
		c.options.Epsilon, c.options.Chunk = 0.1, 128
		c.latent, c.prior, c.weight = c.latent.To(torch.Float32, device), c.prior.To(torch.Float32, device),
			c.weight.To(torch.Float32, device)
		peak := func(f mixtureFunction) int64 {
			s := torch.OpenScope()
			defer s.Close()
			before := torch.LiveBytes()
			torch.ResetPeakBytes()
			c.run(f, torch.Float32)
			return torch.PeakBytes() - before
		}
		const logits = n * k * v * 4
		if got := peak(torch.MixtureLoss); got > logits*3/10 {
			t.Errorf("the peak is %d bytes, the logits alone would be %d", got, logits)
		}
		c.options.Chunk = 64
		if got := peak(plainMixture); got > logits*6/10 {
			t.Errorf("the peak of plain operators is %d bytes, the logits alone would be %d", got, logits)
		}
		c.options.Chunk = n * k
		if got := peak(plainMixture); got < logits {
			t.Errorf("the measure is wrong: one chunk keeps the logits of %d bytes in %d", logits, got)
		}
	})
}

func TestMixtureLogProbs(t *testing.T) {
	torch.Test(t, func() {
		r := rand.New(rand.NewPCG(4, 4))
		for i := range 12 {
			c := newMixtureCase(r, r.Int64N(30), 1+r.Int64N(5), 1+r.Int64N(9), 1+r.Int64N(600), i%2 == 0, false)
			if i == 11 { // exponentials far out of range
				c.latent = c.latent.MulScalar(1e3)
			}
			want := torch.MixtureLogProbs(c.latent, c.prior, c.weight, c.bias, asItIs)
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
				to := func(x torch.Tensor) torch.Tensor {
					if x.Defined() {
						x = x.To(dtype, device)
					}
					return x
				}
				got := torch.MixtureLogProbs(to(c.latent), to(c.prior), to(c.weight), to(c.bias), nil)
				if dtype == torch.BFloat16 {
					nearWithin(t, "bfloat16", got, want, 0.05)
					continue
				}
				near(t, dtype.String(), got, want)
			}
		}
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, device, shape...) }
		for want, f := range map[string]func(){
			"do not fit a weight of shape [5, " +
				"3]": func() { torch.MixtureLogProbs(zeros(2, 3, 4), zeros(2, 3), zeros(5, 3), torch.Tensor{}, nil) },
			"do not fit a prior of shape [2, " +
				"2]": func() { torch.MixtureLogProbs(zeros(2, 3, 4), zeros(2, 2), zeros(5, 4), torch.Tensor{}, nil) },
		} {
			if err := torch.Try(func() error { f(); return nil }); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want one with %q", err, want)
			}
		}
	})
}

// TestMixtureLossOfFewGradients: an operand's gradient is the same whichever
// others want one.
func TestMixtureLossOfFewGradients(t *testing.T) {
	torch.Test(t, func() {
		for _, epsilon := range []float64{0, 0.1} {
			c := newMixtureCase(rand.New(rand.NewPCG(8, 9)), 20, 3, 7, 31, true, true)
			c.options.Epsilon = epsilon
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
				all := c.run(torch.MixtureLoss, dtype)
				for i, name := range []string{"latent", "prior", "weight", "bias", "shift"} {
					in := []torch.Tensor{c.latent, c.prior, c.weight, c.bias, c.shift}
					for j := range in {
						in[j] = in[j].To(dtype, device).Clone()
					}
					in[i].SetRequiresGrad(true)
					loss, _, _ := torch.MixtureLoss(in[0], in[1], in[2], in[3], c.targets, in[4], c.options)
					loss.Backward()
					nearWithin(t, fmt.Sprintf("smoothing %v, %v: gradient of %s alone", epsilon, dtype, name),
						in[i].Grad(), all["g_"+name], 1e-6)
				}
			}
		}
	})
}
