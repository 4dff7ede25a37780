package torch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// lossCase is a random softmax loss: float64 operands and options.
type lossCase struct {
	hidden, weight, bias, targets torch.Tensor
	options                       torch.SoftmaxLossOptions
}

const ignoredTarget = 1

func newLossCase(r *rand.Rand, n, d, v int64, withBias bool) lossCase {
	draw := torch.NewStream(r.Uint64(), "case")
	targets := make([]int64, n)
	for i := range targets {
		targets[i] = r.Int64N(v)
	}
	c := lossCase{
		hidden:  draw.Normal(0, 1, torch.Float64, device, n, d),
		weight:  draw.Normal(0, 1, torch.Float64, device, v, d),
		targets: torch.FromInt64s(targets, device, n),
		options: torch.SoftmaxLossOptions{
			Ignore: ignoredTarget, Smoothing: torch.Smoothing(r.IntN(3)), Epsilon: []float64{0, 0.1, 0.3}[r.IntN(3)],
			Scale: []float64{1, 1.0 / 31}[r.IntN(2)], Chunk: r.Int64N(5) * 13,
		},
	}
	if withBias {
		c.bias = draw.Normal(0, 1, torch.Float64, device, v)
	}
	return c
}

type lossFunction func(hidden, weight, bias, targets torch.Tensor, o torch.SoftmaxLossOptions) (loss, nll torch.Tensor)

// run returns loss, nll and the gradients of the operands, converted to dtype.
func (c lossCase) run(f lossFunction, dtype torch.DType) []torch.Tensor {
	return withGradients(dtype, func(in []torch.Tensor) []torch.Tensor {
		loss, nll := f(in[0], in[1], in[2], c.targets, c.options)
		return []torch.Tensor{loss, nll}
	}, c.hidden, c.weight, c.bias)
}

// withGradients returns what f gives for operands converted to dtype, and the
// gradients of the first of it; an operand may be the zero Tensor.
func withGradients(dtype torch.DType, f func(in []torch.Tensor) []torch.Tensor,
	operands ...torch.Tensor) []torch.Tensor {
	leaves := slices.Clone(operands)
	for i, x := range operands {
		if x.Defined() {
			leaves[i] = x.To(dtype, device).Clone()
			leaves[i].SetRequiresGrad(true)
		}
	}
	out := f(leaves)
	out[0].Backward()
	for _, x := range leaves {
		if x.Defined() {
			out = append(out, x.Grad())
		}
	}
	return out
}

var lossResults = []string{"loss", "nll", "gradient of hidden", "gradient of weight", "gradient of bias"}

func TestSoftmaxLossGradientsByDifferences(t *testing.T) {
	torch.Test(t, func() {
		for kind := range torch.Smoothing(3) {
			c := newLossCase(rand.New(rand.NewPCG(3, uint64(kind))), 7, 3, 5, true)
			c.options.Smoothing, c.options.Epsilon, c.options.Chunk = kind, 0.1, 3
			checkGradients(t, fmt.Sprint("smoothing ", kind), []torch.Tensor{c.hidden, c.weight, c.bias},
				func(in []torch.Tensor) torch.Tensor {
					loss, _ := torch.SoftmaxLoss(in[0], in[1], in[2], c.targets, c.options)
					return loss.MulScalar(1.5)
				})
		}
	})
}

// TestSoftmaxLossChunks: rows are independent, so the chunk changes nothing for
// them; sums over rows may round otherwise.
func TestSoftmaxLossChunks(t *testing.T) {
	torch.Test(t, func() {
		c := newLossCase(rand.New(rand.NewPCG(5, 6)), 100, 31, 47, true)
		c.options.Epsilon = 0.1
		c.options.Chunk = 100
		want := c.run(torch.SoftmaxLoss, torch.Float64)
		for _, chunk := range []int64{0, 1, 7, 64, 99, 1000} {
			c.options.Chunk = chunk
			for i, got := range c.run(torch.SoftmaxLoss, torch.Float64) {
				near(t, fmt.Sprintf("%s by chunks of %d", lossResults[i], chunk), got, want[i])
			}
		}
	})
}

func TestSoftmaxLossOfNothing(t *testing.T) {
	torch.Test(t, func() {
		nothing := newLossCase(rand.New(rand.NewPCG(5, 6)), 0, 3, 5, true)
		ignored := newLossCase(rand.New(rand.NewPCG(5, 6)), 4, 3, 5, true)
		ignored.targets = torch.FromInt64s([]int64{ignoredTarget, ignoredTarget, ignoredTarget, ignoredTarget}, device,
			4)
		for what, c := range map[string]lossCase{"no rows": nothing, "ignored rows": ignored} {
			for i, x := range c.run(torch.SoftmaxLoss, torch.Float32) {
				for _, v := range x.Float64s() {
					if v != 0 {
						t.Errorf("%s: %s has %v, want 0", what, lossResults[i], v)
					}
				}
			}
		}
	})
}

// TestSoftmaxLossOfOneWord: the only word is certain.
func TestSoftmaxLossOfOneWord(t *testing.T) {
	torch.Test(t, func() {
		for kind := range torch.Smoothing(3) {
			c := newLossCase(rand.New(rand.NewPCG(5, 6)), 7, 3, 1, false)
			c.options = torch.SoftmaxLossOptions{Ignore: -1, Smoothing: kind, Epsilon: 0.1, Scale: 1}
			for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
				for i, x := range c.run(torch.SoftmaxLoss, dtype) {
					for _, v := range x.Float64s() {
						if math.Abs(v) > 1e-6 {
							t.Errorf("%s has %v, want 0", lossResults[i], v)
						}
					}
				}
			}
		}
	})
}

// TestSmoothingKnownValues has the worked example of the three definitions, and
// what every one gives on a uniform distribution.
func TestSmoothingKnownValues(t *testing.T) {
	torch.Test(t, func() {
		logits := torch.FromFloat64s([]float64{1, 2, 3, 0.5}, device, 4, 1)
		hidden := torch.Full(1, torch.Float64, device, 1, 1)
		target := torch.FromInt64s([]int64{2}, device, 1)
		loss := func(weight torch.Tensor, kind torch.Smoothing, epsilon float64) float64 {
			l, nll := torch.SoftmaxLoss(hidden, weight, torch.Tensor{}, target,
				torch.SoftmaxLossOptions{Ignore: -1, Smoothing: kind, Epsilon: epsilon, Scale: 1})
			if weight == logits && math.Abs(nll.Item()-0.460773) > 5e-7 {
				t.Errorf("the clean loss is %v, want 0.460773", nll.Item())
			}
			return l.Item()
		}
		entropy := -(0.9*math.Log(0.9) + 0.1*math.Log(0.1/3))
		uniform := torch.Zeros(torch.Float64, device, 4, 1)
		for kind, want := range map[torch.Smoothing][2]float64{
			torch.SmoothingFairseq: {0.644107, math.Log(4)},
			torch.SmoothingPyTorch: {0.598273, math.Log(4)},
			torch.SmoothingT2T:     {0.644107 - entropy, math.Log(4) - entropy},
		} {
			if got := loss(logits, kind, 0.1); math.Abs(got-want[0]) > 5e-7 {
				t.Errorf("smoothing %d gives %v, want %v", kind, got, want[0])
			}
			if got := loss(uniform, kind, 0.1); math.Abs(got-want[1]) > 1e-12 {
				t.Errorf("smoothing %d of uniform logits gives %v, want %v", kind, got, want[1])
			}
			if got := loss(logits, kind, 0); math.Abs(got-0.460773) > 5e-7 {
				t.Errorf("smoothing %d by nothing gives %v", kind, got)
			}
		}
	})
}

// TestSoftmaxLossOfHugeLogits: differences beyond the range of exp are a loss of
// their size, not infinity or NaN.
func TestSoftmaxLossOfHugeLogits(t *testing.T) {
	torch.Test(t, func() {
		for _, size := range []float64{100, 1e4, 1e18, 1e30, 3e38} {
			for _, sign := range []float64{1, -1} {
				hidden := torch.Full(1, torch.Float32, device, 2, 1)
				weight := torch.FromFloat32s([]float32{float32(size * sign), 0, 0}, device, 3, 1)
				hidden.SetRequiresGrad(true)
				weight.SetRequiresGrad(true)
				loss, nll := torch.SoftmaxLoss(hidden, weight, torch.Tensor{},
					torch.FromInt64s([]int64{0, 1}, device, 2), torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
				loss.Backward()
				want := []float64{0, size}
				if sign < 0 {
					want = []float64{size + math.Log(2), math.Log(2)}
				}
				for i, v := range nll.Float64s() {
					if math.Abs(v-want[i]) > 1e-6*math.Max(1, want[i]) {
						t.Errorf("logits of %v: nll %v, want %v", size*sign, v, want[i])
					}
				}
				for _, x := range []torch.Tensor{loss, hidden.Grad(), weight.Grad()} {
					if !x.AllFinite() {
						t.Errorf("logits of %v give %v", size*sign, x.Float64s())
					}
				}
			}
		}
		// A sum that its type does not hold.
		weight := torch.FromFloat32s([]float32{-3e38, 0}, device, 2, 1)
		sum, _ := torch.SoftmaxLoss(torch.Full(1, torch.Float32, device, 2, 1), weight, torch.Tensor{},
			torch.FromInt64s([]int64{0, 0}, device, 2), torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
		if !math.IsInf(sum.Item(), 1) {
			t.Errorf("two losses of 3e38 add up to %v", sum.Item())
		}
		// A word that a bias of -Inf excludes.
		for _, dtype := range []torch.DType{torch.Float32, torch.Float64} {
			hidden := torch.Zeros(dtype, device, 1, 1)
			weight := torch.Zeros(dtype, device, 3, 1)
			bias := torch.FromFloat64s([]float64{0, math.Inf(-1), 0}, device, 3).To(dtype, device)
			loss, _ := torch.SoftmaxLoss(hidden, weight, bias, torch.FromInt64s([]int64{0}, device, 1),
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
			if math.Abs(loss.Item()-math.Log(2)) > 1e-6 {
				t.Errorf("%v: with a bias of -Inf the loss is %v", dtype, loss.Item())
			}
			// Smoothing that leaves the target nothing of its own: 0 times infinity is no number.
			loss, _ = torch.SoftmaxLoss(hidden, weight, bias, torch.FromInt64s([]int64{1}, device, 1),
				torch.SoftmaxLossOptions{Ignore: -1, Scale: 1, Smoothing: torch.SmoothingPyTorch, Epsilon: 1})
			if !math.IsInf(loss.Item(), 1) {
				t.Errorf("%v: an excluded target of weight 0 among all words gives a loss of %v", dtype, loss.Item())
			}
		}
	})
}

// TestSoftmaxLossShowsNaN: a model that broke must be seen in its loss.
func TestSoftmaxLossShowsNaN(t *testing.T) {
	torch.Test(t, func() {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			weight := torch.FromFloat32s([]float32{1, float32(bad), 2}, device, 3, 1)
			loss, _ := torch.SoftmaxLoss(torch.Full(1, torch.Float32, device, 1, 1), weight, torch.Tensor{},
				torch.FromInt64s([]int64{0}, device, 1), torch.SoftmaxLossOptions{Ignore: -1, Scale: 1})
			if v := loss.Item(); !math.IsNaN(v) && !math.IsInf(v, 1) {
				t.Errorf("a logit of %v gives a loss of %v", bad, v)
			}
		}
	})
}

func TestSoftmaxLossRefuses(t *testing.T) {
	torch.Test(t, func() {
		h, w, b := torch.Zeros(torch.Float32, device, 2, 3), torch.Zeros(torch.Float32, device, 5, 3),
			torch.Zeros(torch.Float32, device, 5)
		ids := func(list ...int64) torch.Tensor { return torch.FromInt64s(list, device, int64(len(list))) }
		for want, f := range map[string]func(){
			"a target of 5 is outside the vocabulary of " +
				"5": func() { torch.SoftmaxLoss(h, w, b, ids(0, 5), torch.SoftmaxLossOptions{Ignore: -1}) },
			"a target of -2 is outside the vocabulary of " +
				"5": func() { torch.SoftmaxLoss(h, w, b, ids(-2, 0), torch.SoftmaxLossOptions{Ignore: -1}) },
			"do not fit targets": func() {
				torch.SoftmaxLoss(h, w, b, ids(0),
					torch.SoftmaxLossOptions{})
			},
			"do not fit a weight of shape": func() {
				torch.SoftmaxLoss(h, b, b, ids(0, 1),
					torch.SoftmaxLossOptions{})
			},
			"does not fit a bias": func() {
				torch.SoftmaxLoss(h, w, h, ids(0, 1),
					torch.SoftmaxLossOptions{})
			},
			"targets must be int64": func() {
				torch.SoftmaxLoss(h, w, b, torch.Zeros(torch.Float32, device, 2), torch.SoftmaxLossOptions{})
			},
			"there is no label smoothing 7": func() {
				torch.SoftmaxLoss(h, w, b, ids(0, 1), torch.SoftmaxLossOptions{Smoothing: 7})
			},
			"there is no label smoothing 8": func() {
				torch.SoftmaxLoss(h, w, b, ids(0, 1), torch.SoftmaxLossOptions{Smoothing: 8, Plain: true})
			},
			"do not fit a weight of type": func() {
				torch.SoftmaxLoss(h, w.To(torch.Float64, device), b, ids(0, 1), torch.SoftmaxLossOptions{})
			},
		} {
			err := torch.Try(func() error { f(); return nil })
			if err == nil || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "SoftmaxLoss of shapes [2 3], ") {
				t.Errorf("got the error %v, want one with %q", err, want)
			}
		}
	})
}

// TestSoftmaxLossAccumulates: gradients add up over batches, a loss gives its
// gradients once, and without being asked for there are none.
func TestSoftmaxLossAccumulates(t *testing.T) {
	torch.Test(t, func() {
		c := newLossCase(rand.New(rand.NewPCG(8, 9)), 20, 7, 31, false)
		c.options.Scale = 0.5
		want := c.run(torch.SoftmaxLoss, torch.Float64)
		c.weight.SetRequiresGrad(true)
		c.hidden.SetRequiresGrad(true)
		for range 2 {
			loss, _ := torch.SoftmaxLoss(c.hidden, c.weight, c.bias, c.targets, c.options)
			loss.MulScalar(3).Backward()
			if err := torch.Try(func() error { loss.Backward(); return nil }); err == nil {
				t.Error("a second backward pass over one loss is no error")
			}
		}
		near(t, "gradient of hidden", c.hidden.Grad(), want[2].MulScalar(6))
		near(t, "gradient of weight", c.weight.Grad(), want[3].MulScalar(6))

		torch.ZeroGrad([]torch.Tensor{c.weight, c.hidden})
		c.hidden.SetRequiresGrad(false)
		loss, nll := torch.SoftmaxLoss(c.hidden, c.weight, c.bias, c.targets, c.options)
		loss.Backward()
		near(t, "gradient of weight", c.weight.Grad(), want[3])
		if c.hidden.Grad().Defined() || nll.RequiresGrad() {
			t.Error("something got a gradient that should not")
		}
		c.options.Evaluate = true
		evaluated, clean := torch.SoftmaxLoss(c.hidden, c.weight, c.bias, c.targets, c.options)
		if evaluated.Item() != loss.Item() || !slices.Equal(clean.Float64s(), nll.Float64s()) {
			t.Error("evaluation gives another value")
		}
		if err := torch.Try(func() error { evaluated.Backward(); return nil }); err == nil {
			t.Error("an evaluated loss can be differentiated")
		}
	})
}

// TestSoftmaxLossNeverKeepsLogits measures the peak of a training step.
func TestSoftmaxLossNeverKeepsLogits(t *testing.T) {
	ofCPU(t)
	torch.Test(t, func() {
		const n, d, v = 1400, 64, 5000
		c := newLossCase(rand.New(rand.NewPCG(8, 9)), n, d, v, false)
		h, w := c.hidden.To(torch.Float32, device), c.weight.To(torch.Float32, device)
		h.SetRequiresGrad(true)
		w.SetRequiresGrad(true)
		peak := func(f lossFunction, o torch.SoftmaxLossOptions) int64 {
			s := torch.OpenScope()
			defer s.Close()
			before := torch.LiveBytes()
			torch.ResetPeakBytes()
			loss, _ := f(h, w, torch.Tensor{}, c.targets, o)
			if !o.Evaluate {
				loss.Backward()
			}
			torch.ZeroGrad([]torch.Tensor{h, w})
			return torch.PeakBytes() - before
		}
		const logits = n * v * 4
		options := torch.SoftmaxLossOptions{Ignore: ignoredTarget, Scale: 1, Chunk: 256}
		if got := peak(torch.SoftmaxLoss, options); got > logits*6/10 {
			t.Errorf("the peak is %d bytes, the logits alone would be %d", got, logits)
		}
		options.Chunk = 64
		if got := peak(plainSoftmax, options); got > logits*6/10 {
			t.Errorf("the peak of plain operators is %d bytes, the logits alone would be %d", got, logits)
		}
		options.Chunk = n
		if got := peak(plainSoftmax, options); got < logits {
			t.Errorf("the measure is wrong: one chunk keeps the logits of %d bytes in %d", logits, got)
		}
		options.Chunk, options.Evaluate = 256, true
		for form, f := range map[string]lossFunction{"fused": torch.SoftmaxLoss, "plain": plainSoftmax} {
			if got := peak(f, options); got > logits*4/10 {
				t.Errorf("%s: the peak of evaluation is %d bytes, the logits alone would be %d", form, got, logits)
			}
		}
	})
}

// TestSoftmaxLossBoundsItsDefaultChunk: however large the processor's cache is, the
// chunk that shapes alone choose holds a part of a large vocabulary's logits.
func TestSoftmaxLossBoundsItsDefaultChunk(t *testing.T) {
	torch.Test(t, func() {
		const n, d, v = 1400, 4, 33278
		c := newLossCase(rand.New(rand.NewPCG(8, 9)), n, d, v, false)
		h, w := c.hidden.To(torch.Float32, device), c.weight.To(torch.Float32, device)
		w.SetRequiresGrad(true)
		before := torch.LiveBytes()
		torch.ResetPeakBytes()
		loss, _ := torch.SoftmaxLoss(h, w, torch.Tensor{}, c.targets,
			torch.SoftmaxLossOptions{Ignore: ignoredTarget, Scale: 1})
		loss.Backward()
		const logits = n * v * 4
		if got := torch.PeakBytes() - before; got > logits*4/10 {
			t.Errorf("the peak is %d bytes, the logits alone would be %d", got, logits)
		}
	})
}
