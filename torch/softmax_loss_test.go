package torch_test

import (
	"encoding/json"
	"testing"

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
