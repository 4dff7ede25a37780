package torch_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// asMixture gives a softmax the form of a mixture, without a prior.
func asMixture(latent, _, weight, bias, targets, shift torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll,
	shifted torch.Tensor) {
	if shift.Defined() {
		return torch.ShiftedSoftmaxLoss(latent, weight, bias, targets, shift, o)
	}
	loss, nll = torch.SoftmaxLoss(latent, weight, bias, targets, o)
	return loss, nll, shifted
}

// zForms are the losses that have a z-loss, fused and plain.
var zForms = map[string][2]mixtureFunction{
	"softmax": {asMixture, plainly(asMixture)},
	"mixture": {torch.MixtureLoss, plainMixture},
}

// newZCase is a case of a form with a z-loss that matters.
func newZCase(r *rand.Rand, form string, n, d, v int64, withBias, withShift bool) mixtureCase {
	c := newMixtureCase(r, n, 3, d, v, withBias, withShift)
	if form == "softmax" {
		c.latent, c.prior = c.latent.Narrow(1, 0, 1).Reshape(n, d), torch.Tensor{}
		if withShift {
			c.shift = c.shift.Narrow(1, 0, 1).Reshape(n)
		}
	}
	c.options.Terms = zLoss(0.05)
	return c
}

func TestZLossEqualsPyTorch(t *testing.T) {
	kinds := map[string]torch.SoftmaxLossOptions{
		"none":            {},
		"fairseq":         {Smoothing: torch.SmoothingFairseq, Epsilon: 0.1},
		"pytorch":         {Smoothing: torch.SmoothingPyTorch, Epsilon: 0.1},
		"t2t":             {Smoothing: torch.SmoothingT2T, Epsilon: 0.1},
		"shifted":         {},
		"shifted_fairseq": {Smoothing: torch.SmoothingFairseq, Epsilon: 0.1},
	}
	torch.Test(t, func() {
		g, meta := golden(t, "z_loss.safetensors")
		var settings struct {
			Ignored int64
			Zeta    float64
		}
		if err := json.Unmarshal([]byte(meta["settings"]), &settings); err != nil {
			t.Fatal(err)
		}
		n, d := g["latent"].Size(0), g["latent"].Size(2)
		first := func(x torch.Tensor, shape ...int64) torch.Tensor { return x.Narrow(1, 0, 1).Reshape(shape...) }
		for form, functions := range zForms {
			for _, head := range []string{"plain", "bias"} {
				for kind, o := range kinds {
					o.Ignore, o.Scale, o.Chunk, o.Terms = settings.Ignored, 1, 7, zLoss(settings.Zeta)
					c := mixtureCase{latent: g["latent"], prior: g["prior"], weight: g["weight"], targets: g["targets"],
						options: o}
					if head == "bias" {
						c.bias = g["bias"]
					}
					if strings.HasPrefix(kind, "shifted") {
						c.shift = g["shift"]
					}
					if form == "softmax" {
						c.latent, c.prior = first(c.latent, n, d), torch.Tensor{}
						if c.shift.Defined() {
							c.shift = first(c.shift, n)
						}
					}
					for i, f := range functions {
						for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
							prefix := strings.Join([]string{form, head, kind, ""}, "/")
							for name, x := range c.run(f, dtype) {
								near(t, fmt.Sprint(prefix, name, ", ", dtype, ", plain ", i == 1), x, g[prefix+name])
							}
						}
					}
				}
			}
		}
	})
}

func TestZLossGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			for i := range 6 {
				kind, withShift := torch.Smoothing(i%3), i/3 == 0
				c := newZCase(rand.New(rand.NewPCG(3, uint64(i))), form, 5, 3, 6, true, withShift)
				c.options.Smoothing, c.options.Epsilon, c.options.Chunk = kind, 0.1, 3
				operands := []torch.Tensor{c.latent, c.weight, c.bias}
				if withShift {
					operands = append(operands, c.shift)
				}
				if form == "mixture" {
					operands = append(operands, c.prior)
				}
				checkGradients(t, fmt.Sprint(form, ", smoothing ", kind, withShift), operands,
					func(in []torch.Tensor) torch.Tensor {
						loss, _, _ := functions[0](c.latent, c.prior, c.weight, c.bias, c.targets, c.shift, c.options)
						return loss.MulScalar(1.5)
					})
			}
		}
	})
}

func TestZLossChunks(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			c := newZCase(rand.New(rand.NewPCG(5, 6)), form, 50, 31, 47, true, true)
			c.options.Epsilon, c.options.Chunk = 0.1, 150
			want := c.run(functions[0], torch.Float64)
			for _, chunk := range []int64{0, 1, 7, 64, 99, 1000} {
				c.options.Chunk = chunk
				for name, x := range c.run(functions[0], torch.Float64) {
					near(t, fmt.Sprintf("%s, %s by chunks of %d", form, name, chunk), x, want[name])
				}
			}
		}
	})
}

// TestZLossLeavesTheRestAlone: the clean likelihood, the shifted one, and the
// gradients of shift and prior do not know of it, not by one bit. What the loss
// has more is zeta times (log Z)^2 of the rows that count, times the scale.
func TestZLossLeavesTheRestAlone(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			for _, epsilon := range []float64{0, 0.1} {
				for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
					c := newZCase(rand.New(rand.NewPCG(5, 8)), form, 40, 7, 11, true, true)
					c.options.Epsilon, c.options.Scale = epsilon, 0.25
					with := c.run(functions[0], dtype)
					c.options.Terms = nil
					without := c.run(functions[0], dtype)
					for _, name := range []string{"nll", "shifted", "g_shift", "g_prior"} {
						if x, there := without[name]; there && !slices.Equal(x.Float64s(), with[name].Float64s()) {
							t.Errorf("%s, smoothing %v, %v: %s differs", form, epsilon, dtype, name)
						}
					}
					if dtype == torch.BFloat16 {
						continue
					}
					logZ := torch.Linear(c.latent, c.weight, c.bias).LogSumExp(-1, false)
					squares := logZ.Square().Reshape(40, -1).MeanDim(1, false)
					want := squares.MaskedFill(c.targets.EqualScalar(ignoredTarget), 0).Sum().MulScalar(0.05 * 0.25)
					near(t, fmt.Sprint(form, ", ", dtype, ": what the loss has more"),
						with["loss"].Sub(without["loss"]), want)
				}
			}
		}
	})
}

// TestZLossOfNothing: ignored rows pay nothing, and one word has a normaliser too.
func TestZLossOfNothing(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			nothing := newZCase(rand.New(rand.NewPCG(5, 6)), form, 0, 3, 5, true, true)
			ignored := newZCase(rand.New(rand.NewPCG(5, 6)), form, 2, 3, 5, true, true)
			ignored.targets = torch.FromInt64s([]int64{ignoredTarget, ignoredTarget}, device, 2)
			for what, c := range map[string]mixtureCase{"no rows": nothing, "ignored rows": ignored} {
				c.options.Smoothing, c.options.Epsilon = torch.SmoothingFairseq, 0.1
				for name, x := range c.run(functions[0], torch.Float32) {
					nearWithin(t, form+", "+what+": "+name, x, torch.Zeros(torch.Float64, device, x.Shape()...), 0)
				}
			}
			word := newZCase(rand.New(rand.NewPCG(5, 6)), form, 4, 3, 1, true, true)
			word.options.Ignore = -1
			for kind := range torch.Smoothing(3) {
				word.options.Smoothing, word.options.Epsilon = kind, 0.1
				want := word.run(functions[1], torch.Float64)
				for name, x := range word.run(functions[0], torch.Float64) {
					near(t, form+", one word: "+name, x, want[name])
				}
			}
		}
	})
}

// TestZLossOfHugeLogits: logits of 1e4, and targets far below and far above the
// others, under any shift.
func TestZLossOfHugeLogits(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			for _, size := range []float64{100, 1e4, 1e6} {
				for _, withShift := range []bool{false, true} {
					c := newZCase(rand.New(rand.NewPCG(7, 8)), form, 20, 1, 7, true, withShift)
					c.weight = torch.Zeros(torch.Float64, device, 7, 1)
					c.bias = torch.FromFloat64s([]float64{1, 0.5, -1, 0.75, -0.25, 0, 0.875}, device, 7).MulScalar(size)
					if withShift {
						c.shift = c.shift.MulScalar(size)
					}
					want := c.run(functions[1], torch.Float64)
					for _, dtype := range []torch.DType{torch.Float64, torch.Float32, torch.BFloat16} {
						for name, x := range c.run(functions[0], dtype) {
							label := fmt.Sprintf("%s, logits of %v, shift %v, %v: %s", form, size, withShift, dtype,
								name)
							switch {
							case !x.AllFinite():
								t.Errorf("%s is not finite", label)
							case dtype == torch.Float64:
								nearWithin(t, label, x, want[name], 1e-9)
							// beyond, a logit itself is known to 0.1, and to 0.001 where kernels add it up in float32
							case dtype == torch.Float32 && (size <= 100 || size <= 1e4 && device == torch.CPU):
								nearWithin(t, label, x, want[name], 1e-4)
							}
						}
					}
				}
			}
		}
		// A broken model is seen, and a target that nothing can reach breaks no other row.
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			bias := torch.FromFloat64s([]float64{0, math.Inf(-1), 0}, device, 3).To(dtype, device)
			hidden, weight := torch.Zeros(dtype, device, 1, 1), torch.Zeros(dtype, device, 3, 1)
			weight.SetRequiresGrad(true)
			loss, _ := torch.SoftmaxLoss(hidden, weight, bias, torch.FromInt64s([]int64{0}, device, 1),
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1, Terms: zLoss(1)})
			if want := math.Log(2) + math.Log(2)*math.Log(2); math.Abs(loss.Item()-want) > 1e-6 {
				t.Errorf("%v: without the word in the middle the loss is %v, want %v", dtype, loss.Item(), want)
			}
			loss, _ = torch.SoftmaxLoss(torch.Full(1e30, dtype, device, 1, 1), torch.Full(1, dtype, device, 3, 1),
				torch.Tensor{},
				torch.FromInt64s([]int64{0}, device, 1),
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1, Terms: zLoss(1)})
			if v := loss.Item(); v < 1e59 {
				t.Errorf("%v: logits of 1e30 pay %v", dtype, v)
			}
		}
	})
}
