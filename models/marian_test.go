package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// marian is a network with Marian's switches and the weights of a golden of transformers.
func marian(t *testing.T, activation, weights string, dtype torch.DType) (
	m *models.Transformer, p *torch.Params, golden map[string]torch.Tensor,
) {
	t.Helper()
	golden, _, err := torch.ReadSafetensors("testdata/marian_"+weights+".safetensors", device)
	if err != nil {
		t.Fatal(err)
	}
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	table := pieces(p, "decoder.embed_tokens.weight", 25, 12, s, dtype)
	c := transformer(2, 2, 12, 20, 3, 32, dtype)
	c.Activation, c.PositionOffset, c.Sinusoids, c.ZeroStart, c.NormEpsilon = activation, -2, "paper", true, 1e-3
	if m, err = models.NewTransformer(c, table, table, p, s, device); err != nil {
		t.Fatal(err)
	}
	values := map[string]torch.Tensor{}
	for key, x := range golden {
		if name, found := strings.CutPrefix(key, "param/"); found {
			values[name] = x
		}
	}
	if err := p.Load(values); err != nil {
		t.Fatal(err)
	}
	return m, p, golden
}

// TestMarianEqualsTransformers: hidden states and every gradient of transformers' MarianMTModel, with each activation.
// Its table of positions was rounded to float32.
func TestMarianEqualsTransformers(t *testing.T) {
	for _, activation := range []string{"swish", "gelu", "gelu_tanh"} {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-5, torch.Float32: 1e-4} {
			t.Run(activation+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					m, p, golden := marian(t, activation, activation, dtype)
					defer p.Free()
					defer m.Free()
					states := m.Forward(tokens(golden["source"]), tokens(golden["prev"]), nil)
					near(t, "hidden states", states.Hidden, golden["hidden"], limit)
					states.Hidden.Mul(golden["factor"].To(dtype, device)).Sum().Backward()
					for _, name := range p.Names() {
						near(t, "gradient of "+name, p.Get(name).Grad(), golden["grad/"+name], limit)
					}
				})
			})
		}
	}
}

// TestMarianDecodes: step by step equals the whole, in the fused decoder (ReLU), in that of plain operators, and with
// the cache; int8 refuses what its kernels lack.
func TestMarianDecodes(t *testing.T) {
	for _, activation := range []string{"relu", "swish", "gelu", "gelu_tanh"} {
		t.Run(activation, func(t *testing.T) {
			torch.Test(t, func() {
				m, p, golden := marian(t, activation, "swish", torch.Float32)
				defer p.Free()
				defer m.Free()
				source, prev := tokens(golden["source"]), tokens(golden["prev"])
				torch.NoGrad(func() {
					whole := m.Forward(source, prev, nil).Hidden
					for name, d := range map[string]models.Decoder{"own": m.Decoder(), "unfused": m.UnfusedDecoder()} {
						steps := d.Start(source)
						for i := range prev.Width {
							words := []int64{prev.IDs[i], prev.IDs[prev.Width+i]}
							hidden, _ := steps.Step(words, false)
							want := whole.IndexSelect(0, torch.FromInt64s([]int64{int64(i), int64(prev.Width + i)}, device, 2))
							near(t, fmt.Sprintf("step %d of the decoder %s", i, name), hidden, want, 1e-4)
						}
						steps.Free()
						d.Free()
					}
				})
				if activation == "relu" {
					return
				}
				_, err := m.Int8Decoder()
				want := fmt.Sprintf("weights of eight bits want model.activation = \"relu\", and it is %q", activation)
				if err == nil || err.Error() != want && device == torch.CPU {
					t.Errorf("int8: %v, want %q", err, want)
				}
			})
		})
	}
}

// TestZeroStart: the vector of </s> in front gets no gradient.
func TestZeroStart(t *testing.T) {
	torch.Test(t, func() {
		m, p, _ := marian(t, "swish", "swish", torch.Float64)
		defer p.Free()
		defer m.Free()
		states := m.Forward(models.Tokens{IDs: []int64{4, 5}, Rows: 1, Width: 2},
			models.Tokens{IDs: []int64{tokenize.Pad, tokenize.EOS, 7}, Rows: 1, Width: 3}, nil)
		states.Hidden.Square().Sum().Backward()
		for i, x := range p.Get("decoder.embed_tokens.weight").Grad().Narrow(0, tokenize.EOS, 1).Float64s() {
			if x != 0 {
				t.Errorf("element %d has the gradient %v", i, x)
			}
		}
	})
}
