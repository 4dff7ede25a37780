package models_test

import (
	"fmt"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// TestRecomputation: networks that compute their layers once more give the same loss and gradients, dropout and noise
// included, from less memory; what a Transformer-XL carries on is the same, too.
func TestRecomputation(t *testing.T) {
	type forward func(s *torch.Stream) torch.States
	type made struct {
		network interface {
			models.Recomputer
			Free()
		}
		params  *torch.Params
		forward forward
	}
	set := func(c *models.Config) {
		c.Dropout, c.AttentionDropout, c.ActivationDropout, c.InputNoise = 0.2, 0.1, 0.1, 0.1
	}
	gpt := func(l models.LayerSettings) func(t *testing.T) made {
		return func(t *testing.T) made {
			m, p := newGPT(t, l, torch.Float32)
			set(&m.Config)
			return made{m, p, func(s *torch.Stream) torch.States {
				states, _ := m.Forward(tinyText(), nil, s)
				return states
			}}
		}
	}
	networks := map[string]func(t *testing.T) made{
		"gpt":         gpt(models.LayerSettings{Positions: "learned", Activation: "gelu_tanh"}),
		"gpt, rotary": gpt(models.LayerSettings{Positions: "rotary"}),
		"transformer-xl": func(t *testing.T) made {
			m, p := newTransformerXL(t, 2, models.XLContext{Memory: 5}, torch.Float32)
			set(&m.Config)
			return made{m, p, func(s *torch.Stream) torch.States {
				_, carried := m.Forward(steps(tinyText(), 0, 3), nil, s)
				states, _ := m.Forward(steps(tinyText(), 3, 7), carried, s)
				return states
			}}
		},
	}
	for _, name := range fixtures {
		networks["transformer, "+name] = func(t *testing.T) made {
			f := load(t, name, torch.Float32)
			set(&f.model.Config)
			return made{f.model, f.params, func(s *torch.Stream) torch.States { return f.model.Forward(f.source, f.prev, s) }}
		}
	}
	for name, make := range networks {
		for _, autocast := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, autocast %t", name, autocast), func(t *testing.T) {
				torch.Test(t, func() {
					m := make(t)
					defer m.params.Free()
					defer m.network.Free()
					// learn gives the loss, then the parameters' gradients, and how much memory was held in between.
					learn := func() (found []torch.Tensor, draws uint64, held int64) {
						s := torch.NewStream(3, "dropout")
						var states torch.States
						var loss torch.Tensor
						before := torch.LiveBytes()
						scope := torch.OpenScope()
						torch.Autocast(autocast, device, func() {
							states = m.forward(s)
							target := torch.NewStream(4, "target").Normal(0, 1, torch.Float32, device, states.Hidden.Shape()...)
							loss = states.Hidden.Sub(target).Square().Mean()
						})
						held = torch.LiveBytes() - before
						states.Backward(loss)
						found = append(found, loss.Detach())
						for _, p := range m.params.Tensors() {
							if g := p.Grad(); g.Defined() {
								found = append(found, g.Clone())
							}
						}
						torch.Keep(found...)
						torch.ZeroGrad(m.params.Tensors())
						scope.Close()
						return found, s.Offset, held
					}
					want, drawn, kept := learn()
					m.network.SetRecompute(true)
					got, again, held := learn()
					defer torch.Free(append(want, got...)...)
					if len(want) < 10 || len(got) != len(want) || again != drawn {
						t.Fatalf("%d gradients from %d draws, want %d from %d", len(got), again, len(want), drawn)
					}
					for i := range want {
						near(t, fmt.Sprint("gradient ", i), got[i], want[i], 1e-6)
					}
					if device == torch.CPU && float64(held) > 0.7*float64(kept) { // what is counted is the host's
						t.Errorf("%d bytes are kept, %d without", held, kept)
					}
				})
			})
		}
	}
}
