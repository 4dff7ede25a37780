package torch_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// Scores of these tests: the first own words of the vocabulary have components, which gates of another layer weigh, the
// others the product of a hidden state and their row.
const own, components = 11, 3

// composedCase holds hidden [N,D], weight [V,D], bias [V], latent [N,K,D], gates [N,K,2], and their weight [own,2].
type composedCase struct {
	lossCase
	latent, gates, gatesWeight torch.Tensor
}

func newComposedCase() composedCase {
	c := composedCase{lossCase: newLossCase(rand.New(rand.NewPCG(5, 9)), 23, 5, 31, true)}
	draw := torch.NewStream(3, "composed")
	normal := func(shape ...int64) torch.Tensor { return draw.Normal(0, 1, torch.Float64, device, shape...) }
	c.latent, c.gates, c.gatesWeight = normal(23, components, 5), normal(23, components, 2), normal(own, 2)
	return c
}

func (c composedCase) operands() []torch.Tensor {
	return []torch.Tensor{c.hidden, c.weight, c.bias, c.latent, c.gates, c.gatesWeight}
}

func (c composedCase) given(in []torch.Tensor) torch.LossOperands {
	return torch.LossOperands{
		Hidden: in[0], Weight: in[1], Targets: c.targets, From: own, Whole: in[2:3], Beside: []torch.LinearLayer{
			{Hidden: in[3], Weight: in[1].Narrow(0, 0, own)}, {Hidden: in[4], Weight: in[5]},
		},
	}
}

func composed(bias torch.Tensor) func(torch.ScoreChunk) torch.Tensor {
	return func(x torch.ScoreChunk) torch.Tensor {
		first := x.Beside[0].Mul(x.Beside[1].Sigmoid()).SumDim(1, false)
		return torch.Cat([]torch.Tensor{first, x.Scores}, 1).Add(bias)
	}
}

// TestComposedLoss: scores made of several linear layers give what they give of all positions at once, with all
// gradients.
func TestComposedLoss(t *testing.T) {
	torch.Test(t, func() {
		c := newComposedCase()
		c.options.Smoothing, c.options.Epsilon = torch.SmoothingPyTorch, 0.1
		scores := func(in []torch.Tensor) torch.Tensor {
			linear := func(x, weight torch.Tensor) torch.Tensor { return torch.Linear(x, weight, torch.Tensor{}) }
			return composed(in[2])(torch.ScoreChunk{
				Scores: linear(in[0], in[1].Narrow(0, own, 31-own)),
				Beside: []torch.Tensor{linear(in[3], in[1].Narrow(0, 0, own)), linear(in[4], in[5])},
			})
		}
		ignored := c.targets.EqualScalar(ignoredTarget)
		whole := func(in []torch.Tensor) []torch.Tensor {
			logP := scores(in).LogSoftmax(1)
			nll := logP.Gather(1, c.targets.MaskedFill(ignored, 0).Reshape(-1, 1)).Reshape(-1).Neg()
			row := nll.MulScalar(0.9).Sub(logP.MeanDim(1, false).MulScalar(0.1))
			sum := row.MaskedFill(ignored, 0).Sum()
			return []torch.Tensor{sum.MulScalar(c.options.Scale), nll.MaskedFill(ignored, 0).Detach()}
		}
		chunked := func(in []torch.Tensor) []torch.Tensor {
			loss, nll, _ := torch.ComposedSoftmaxLoss(c.given(in), c.options, composed(in[2]))
			return []torch.Tensor{loss, nll}
		}
		want := withGradients(torch.Float64, whole, c.operands()...)
		for _, chunk := range []int64{0, 1, 7, 22, 100} {
			c.options.Chunk = chunk
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
				for i, x := range withGradients(dtype, chunked, c.operands()...) {
					near(t, fmt.Sprint("chunks of ", chunk, ", ", dtype, ": result ", i), x, want[i])
				}
			}
		}
		c.options.Chunk = 7
		checkGradients(t, "composed", c.operands(), func(in []torch.Tensor) torch.Tensor { return chunked(in)[0] })

		in := c.operands()
		near(t, "log-probabilities", torch.ComposedLogProbs(c.given(in), capped, composed(in[2])),
			capped(scores(in)).LogSoftmax(1))
		wrong := c.given(in)
		wrong.Beside[1].Hidden = c.latent
		err := torch.Try(func() error { torch.ComposedSoftmaxLoss(wrong, c.options, composed(in[2])); return nil })
		if err == nil || !strings.Contains(err.Error(), "does not fit the targets or its weight") {
			t.Errorf("of a layer that does not fit, the error is %v", err)
		}
	})
}

// TestWeightGate: the gradient of the weight goes through the gate, and nothing else changes; in a mixture every
// component's does.
func TestWeightGate(t *testing.T) {
	torch.Test(t, func() {
		for form, functions := range zForms {
			c := newZCase(rand.New(rand.NewPCG(5, 3)), form, 20, 3, 7, true, false)
			factors := torch.NewStream(3, "gate").Uniform(0, 1, torch.Float64, device, 2, 7)
			gate := func(targets torch.Tensor) torch.Tensor { // of targets below 4, and of the others
				rows := targets.Less(torch.Full(4, torch.Int64, device, 1)).Not().To(torch.Int64, device)
				return factors.IndexSelect(0, rows)
			}
			c.options.Chunk, c.options.WeightGate = 6, gate
			got := c.run(functions[0], torch.Float64)
			c.options.WeightGate = nil
			plain := c.run(functions[0], torch.Float64)
			// The same, as a sum over the two groups of targets: each is the loss that ignores the other.
			want := torch.Zeros(torch.Float64, device, 7, 3)
			all := c.targets
			ignore := func(mask torch.Tensor) map[string]torch.Tensor {
				c.targets = all.MaskedFill(mask, float64(c.options.Ignore))
				return c.run(functions[0], torch.Float64)
			}
			low := all.Less(torch.Full(4, torch.Int64, all.Device(), 20))
			for group, mask := range []torch.Tensor{low.Not(), low} {
				g := ignore(mask)["g_weight"]
				want = want.Add(g.Mul(factors.Narrow(0, int64(group), 1).Reshape(7, 1)))
			}
			for name, x := range got {
				if name == "g_weight" {
					near(t, form+": "+name, x, want)
				} else {
					near(t, form+": "+name, x, plain[name])
				}
			}
		}
	})
}
