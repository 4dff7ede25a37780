package torch_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/torch"
)

// TestSoftmaxLossEqualsPyTorch checks the three definitions of label smoothing,
// with ignored targets, in value and every gradient, fused and plain.
func TestSoftmaxLossEqualsPyTorch(t *testing.T) {
	kinds := map[string]torch.SoftmaxLossOptions{
		"none":    {},
		"fairseq": {Smoothing: torch.SmoothingFairseq, Epsilon: 0.1},
		"pytorch": {Smoothing: torch.SmoothingPyTorch, Epsilon: 0.1},
		"t2t":     {Smoothing: torch.SmoothingT2T, Epsilon: 0.1},
	}
	type function func(h, w, b, y torch.Tensor, o torch.SoftmaxLossOptions) (torch.Tensor, torch.Tensor)
	for _, form := range []struct {
		name string
		f    function
	}{{"fused", torch.SoftmaxLoss}, {"plain", plainSoftmax}} {
		for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
			for name, o := range kinds {
				for _, layer := range []string{"dense", "dense_bias"} {
					t.Run(form.name+"/"+dtype.String()+"/"+layer+"/"+name, func(t *testing.T) {
						torch.Test(t, func() {
							g, meta := golden(t, "softmax_loss.safetensors")
							var settings struct{ Ignored int64 }
							if err := json.Unmarshal([]byte(meta["settings"]), &settings); err != nil {
								t.Fatal(err)
							}
							leaf := func(name string) torch.Tensor {
								x := g[name].To(dtype, device).Clone()
								x.SetRequiresGrad(true)
								return x
							}
							h, w := leaf("hidden"), leaf("weight")
							var b torch.Tensor
							if layer == "dense_bias" {
								b = leaf("bias")
							}
							o.Ignore, o.Scale, o.Chunk = settings.Ignored, 1, 7
							loss, nll := form.f(h, w, b, g["targets"], o)
							prefix := layer + "/" + name + "/"
							near(t, "loss", loss, g[prefix+"loss"])
							near(t, "nll", nll, g[prefix+"nll"])
							loss.Backward()
							near(t, "gradient of hidden", h.Grad(), g[prefix+"g_hidden"])
							near(t, "gradient of weight", w.Grad(), g[prefix+"g_weight"])
							if b.Defined() {
								near(t, "gradient of bias", b.Grad(), g[prefix+"g_bias"])
							}
						})
					})
				}
			}
		}
	}
}

// TestManyWords: sums over a vocabulary of 300,000 words, nearly all alike, lose little to rounding. They are our own
// on the CPU alone: libtorch adds a row as floats.
func TestManyWords(t *testing.T) {
	ofCPU(t)
	const v = 300_000
	torch.Test(t, func() {
		logits := torch.Zeros(torch.Float32, device, v, 1)
		logits.Narrow(0, 7, 1).Assign(torch.Full(3.2, torch.Float32, device, 1, 1))
		one, none := torch.Full(1, torch.Float32, device, 1, 1), torch.Tensor{}
		target := torch.FromInt64s([]int64{5}, device, 1)
		want := []float64{math.Log(v - 1 + math.Exp(3.2))}
		o := torch.SoftmaxLossOptions{Ignore: -1, Scale: 1}
		for name, evaluate := range map[string]bool{"training": false, "evaluation": true} {
			o.Evaluate = evaluate
			_, nll := torch.SoftmaxLoss(one, logits, none, target, o)
			fixtures.Near(t, name, nll.Float64s(), want, 3e-6)
		}
		mixed := one.Reshape(1, 1, 1)
		o.Evaluate = false
		_, nll, _ := torch.MixtureLoss(mixed, one, logits, none, target, none, o)
		fixtures.Near(t, "a mixture", nll.Float64s(), want, 3e-6)
		b := torch.BeamTopK{Count: 1, Pad: -1, End: 0, Scores: []float64{0}, Rules: make([]torch.EndRule, 1)}
		found := b.FromHidden(one, torch.Pack(logits), none)
		fixtures.Near(t, "a search", found.LogProbs, []float64{3.2 - want[0]}, 3e-6)
	})
}
