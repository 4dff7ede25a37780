package torch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

type lstm func(x, h, c torch.Tensor, w torch.LSTMWeights, o torch.LSTMOptions) (out, hN, cN torch.Tensor)

var lstms = map[string]lstm{"fused": torch.LSTM, "reference": torch.LSTMReference}

// TestLSTMEqualsPyTorch: values and every gradient, plain, ragged and backwards.
func TestLSTMEqualsPyTorch(t *testing.T) {
	for _, name := range []string{"plain", "ragged", "reverse"} {
		for kind, f := range lstms {
			for _, dtype := range []torch.DType{torch.Float64, torch.Float32} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, kind, dtype), func(t *testing.T) {
					torch.Test(t, func() {
						g, _ := golden(t, "lstm.safetensors")
						get := func(key string) torch.Tensor { return g[name+"/"+key].To(dtype, torch.CPU) }
						leaf := func(key string) torch.Tensor {
							x := get(key).Clone()
							x.SetRequiresGrad(true)
							return x
						}
						keys := []string{"x", "h", "c", "weight_ih", "weight_hh", "bias_ih", "bias_hh"}
						var in []torch.Tensor
						for _, key := range keys {
							in = append(in, leaf(key))
						}
						o := torch.LSTMOptions{Reverse: name == "reverse"}
						if name != "plain" {
							o.Lengths = g[name+"/lengths"].Int64s()
						}
						out, h, c := f(in[0], in[1], in[2], torch.LSTMWeights{Input: in[3], Hidden: in[4], InputBias: in[5], HiddenBias: in[6]}, o)
						near(t, "output", out, get("out"))
						near(t, "h", h, get("h_n"))
						near(t, "c", c, get("c_n"))
						out.Mul(get("seed/out")).Sum().Add(h.Mul(get("seed/h_n")).Sum()).Add(c.Mul(get("seed/c_n")).Sum()).Backward()
						for i, key := range keys {
							near(t, "gradient of "+key, in[i].Grad(), get("grad/"+key))
						}
					})
				})
			}
		}
	}
}

func TestLSTMRefusesLengths(t *testing.T) {
	torch.Test(t, func() {
		zeros := func(shape ...int64) torch.Tensor { return torch.Zeros(torch.Float32, torch.CPU, shape...) }
		w := torch.LSTMWeights{Input: zeros(12, 2), Hidden: zeros(12, 3), InputBias: zeros(12), HiddenBias: zeros(12)}
		for kind, f := range lstms {
			err := torch.Try(func() error {
				f(zeros(4, 5, 2), torch.Tensor{}, torch.Tensor{}, w, torch.LSTMOptions{Lengths: []int64{1, 2}})
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "2 lengths for 5 columns") {
				t.Errorf("%s: the error is %v", kind, err)
			}
		}
	})
}
