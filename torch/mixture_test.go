package torch_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// mixtureCase is a random loss of a mixture: float64 operands and options. Bias
// and shift may be zero Tensors.
type mixtureCase struct {
	latent, prior, weight, bias, targets, shift torch.Tensor
	options                                     torch.SoftmaxLossOptions
}

func newMixtureCase(r *rand.Rand, n, k, d, v int64, withBias, withShift bool) mixtureCase {
	plain := newLossCase(r, n, d, v, withBias)
	draw := torch.NewStream(r.Uint64(), "case")
	c := mixtureCase{
		latent: draw.Normal(0, 1, torch.Float64, device, n, k, d),
		prior:  draw.Normal(0, 1, torch.Float64, device, n, k),
		weight: plain.weight, bias: plain.bias, targets: plain.targets, options: plain.options,
	}
	if withShift {
		c.shift = draw.Uniform(-1, 4, torch.Float64, device, n, k).ClampMin(0)
	}
	return c
}

type mixtureFunction func(latent, prior, weight, bias, targets, shift torch.Tensor, o torch.SoftmaxLossOptions) (loss,
	nll, shifted torch.Tensor)

// run returns what f gives by name, and the gradients of the operands, which are
// converted to dtype.
func (c mixtureCase) run(f mixtureFunction, dtype torch.DType) map[string]torch.Tensor {
	leaves := map[string]torch.Tensor{}
	leaf := func(name string, x torch.Tensor) torch.Tensor {
		if !x.Defined() {
			return x
		}
		y := x.To(dtype, device).Clone()
		y.SetRequiresGrad(true)
		leaves[name] = y
		return y
	}
	loss, nll, shifted := f(leaf("latent", c.latent), leaf("prior", c.prior), leaf("weight", c.weight),
		leaf("bias", c.bias), c.targets,
		leaf("shift", c.shift), c.options)
	loss.Backward()
	out := map[string]torch.Tensor{"loss": loss, "nll": nll}
	if shifted.Defined() {
		out["shifted"] = shifted
	}
	for name, x := range leaves {
		out["g_"+name] = x.Grad()
	}
	return out
}

// TestMixtureLossEqualsPyTorch checks every definition of label smoothing and
// shifts, with ignored targets, in value and every gradient, fused and plain.
func TestMixtureLossEqualsPyTorch(t *testing.T) {
	kinds := map[string]torch.SoftmaxLossOptions{
		"none":            {},
		"fairseq":         {Smoothing: torch.SmoothingFairseq, Epsilon: 0.1},
		"pytorch":         {Smoothing: torch.SmoothingPyTorch, Epsilon: 0.1},
		"t2t":             {Smoothing: torch.SmoothingT2T, Epsilon: 0.1},
		"shifted":         {},
		"shifted_fairseq": {Smoothing: torch.SmoothingFairseq, Epsilon: 0.1},
	}
	torch.Test(t, func() {
		g, meta := golden(t, "mixture.safetensors")
		var settings struct{ Ignored int64 }
		if err := json.Unmarshal([]byte(meta["settings"]), &settings); err != nil {
			t.Fatal(err)
		}
		for form, f := range map[string]mixtureFunction{"fused": torch.MixtureLoss, "plain": plainMixture} {
			for _, head := range []string{"plain", "bias"} {
				for kind, o := range kinds {
					o.Ignore, o.Scale, o.Chunk = settings.Ignored, 1, 7
					c := mixtureCase{latent: g["latent"], prior: g["prior"], weight: g["weight"], targets: g["targets"],
						options: o}
					if head == "bias" {
						c.bias = g["bias"]
					}
					if strings.HasPrefix(kind, "shifted") {
						c.shift = g["shift"]
					}
					for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
						for name, x := range c.run(f, dtype) {
							near(t, strings.Join([]string{form, head, kind, dtype.String(), name}, "/"), x,
								g[head+"/"+kind+"/"+name])
						}
					}
				}
			}
		}
	})
}

// TestMixtureLossGoldenMixture is a published mixture of two softmaxes over three words.
func TestMixtureLossGoldenMixture(t *testing.T) {
	torch.Test(t, func() {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			latent := torch.FromFloat64s([]float64{1, 0, -1, 0, 2, 0}, device, 1, 2, 3).To(dtype, device).Expand(3, 2,
				3)
			prior := torch.FromFloat64s([]float64{math.Log(0.25), math.Log(0.75)}, device, 1, 2).To(dtype,
				device).Expand(3, 2)
			identity := torch.FromFloat64s([]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, device, 3, 3).To(dtype, device)
			_, nll, _ := torch.MixtureLoss(latent, prior, identity, torch.Tensor{}, torch.Arange(3, device),
				torch.Tensor{}, torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
			nearWithin(t, "P", nll.Neg().Exp(), torch.FromFloat64s([]float64{0.246190, 0.651422, 0.102388}, device, 3),
				1e-6)
		}
	})
}

func TestMixtureLossGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		for kind := range torch.Smoothing(3) {
			c := newMixtureCase(rand.New(rand.NewPCG(3, uint64(kind))), 5, 2, 3, 6, true, true)
			c.options.Smoothing, c.options.Epsilon, c.options.Chunk = kind, 0.1, 3
			operands := []torch.Tensor{c.latent, c.prior, c.weight, c.bias, c.shift}
			checkGradients(t, fmt.Sprint("smoothing ", kind), operands, func(in []torch.Tensor) torch.Tensor {
				loss, _, _ := torch.MixtureLoss(in[0], in[1], in[2], in[3], c.targets, in[4], c.options)
				return loss.MulScalar(1.5)
			})
		}
	})
}

// TestMixtureLossChunks: positions are independent, so the chunk changes nothing
// for them; sums over positions may round otherwise.
func TestMixtureLossChunks(t *testing.T) {
	torch.Test(t, func() {
		c := newMixtureCase(rand.New(rand.NewPCG(5, 6)), 50, 3, 31, 47, true, true)
		c.options.Epsilon, c.options.Chunk = 0.1, 150
		want := c.run(torch.MixtureLoss, torch.Float64)
		for _, chunk := range []int64{0, 1, 7, 64, 99, 1000} {
			c.options.Chunk = chunk
			for name, x := range c.run(torch.MixtureLoss, torch.Float64) {
				near(t, fmt.Sprintf("%s by chunks of %d", name, chunk), x, want[name])
			}
		}
	})
}

// TestMixtureOfOneIsSoftmax: with one component, and with components that are
// all equal, the prior means nothing.
func TestMixtureOfOneIsSoftmax(t *testing.T) {
	torch.Test(t, func() {
		for _, smoothing := range []float64{0, 0.1} {
			c := newLossCase(rand.New(rand.NewPCG(5, 7)), 30, 7, 47, true)
			c.options.Epsilon = smoothing
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
				want := c.run(torch.SoftmaxLoss, dtype)
				for _, k := range []int64{1, 4} {
					m := mixtureCase{
						latent: c.hidden.Reshape(30, 1, 7).Expand(30, k, 7), weight: c.weight, bias: c.bias,
						targets: c.targets, options: c.options,
						prior: torch.NewStream(1, "prior").Normal(0, 1, torch.Float64, device, 30, k),
					}
					got := m.run(torch.MixtureLoss, dtype)
					what := fmt.Sprintf("%v, K %d, smoothing %v: ", dtype, k, smoothing)
					near(t, what+"loss", got["loss"], want[0])
					near(t, what+"nll", got["nll"], want[1])
					near(t, what+"gradient of hidden", got["g_latent"].SumDim(1, false), want[2])
					near(t, what+"gradient of weight", got["g_weight"], want[3])
					near(t, what+"gradient of bias", got["g_bias"], want[4])
					near(t, what+"gradient of prior", got["g_prior"], torch.Zeros(torch.Float64, device, 30, k))
				}
			}
		}
	})
}

// TestMixtureShiftOfNothing: a shift of 0 changes nothing.
func TestMixtureShiftOfNothing(t *testing.T) {
	torch.Test(t, func() {
		c := newMixtureCase(rand.New(rand.NewPCG(5, 6)), 20, 3, 31, 47, true, false)
		c.options.Epsilon = 0.1
		want := c.run(torch.MixtureLoss, torch.Float64)
		c.shift = torch.Zeros(torch.Float64, device, 20, 3)
		got := c.run(torch.MixtureLoss, torch.Float64)
		near(t, "shifted", got["shifted"], want["nll"])
		for name, x := range want {
			near(t, name, got[name], x)
		}
	})
}
