package models_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// newGPT is a GPT of the goldens' sizes: two layers of width 12 with three heads, and 16 positions.
func newGPT(t *testing.T, l models.LayerSettings, dtype torch.DType) (*models.GPT, *torch.Params) {
	t.Helper()
	l.MaxPositions = 16
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	m, err := models.NewGPT(models.Config{DType: dtype, Settings: models.Settings{
		Layers: 2, Width: 12, AttentionSettings: models.AttentionSettings{Heads: 3, FFNWidth: 20}, LayerSettings: l,
	}}, words(p, "words", textWords, 12, s, dtype), p, s, device)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// positionKinds are the kinds of positions that a GPT has.
var positionKinds = []string{"learned", "rotary", "sinusoidal"}

// TestGPTEqualsTransformers: logits, loss and every gradient of transformers' GPT-2, with either GELU, and with rotary
// positions in the place of its own.
func TestGPTEqualsTransformers(t *testing.T) {
	for name, settings := range map[string]models.LayerSettings{
		"gelu_tanh": {Positions: "learned", Activation: "gelu_tanh"}, "gelu": {Positions: "learned", Activation: "gelu"},
		"rotary": {Positions: "rotary", Activation: "gelu_tanh"},
	} {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-10, torch.Float32: 1e-5} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					golden, _, err := torch.ReadSafetensors("testdata/gpt_"+name+".safetensors", device)
					if err != nil {
						t.Fatal(err)
					}
					m, p := newGPT(t, settings, dtype)
					defer p.Free()
					defer m.Free()
					values := map[string]torch.Tensor{}
					for key, x := range golden {
						if name, found := strings.CutPrefix(key, "param/"); found {
							values[name] = x
						}
					}
					if err := p.Load(values); err != nil {
						t.Fatal(err)
					}
					ids := golden["ids"]
					steps, columns := int(ids.Size(0)), int(ids.Size(1))
					states, carried := m.Forward(models.Chunk{IDs: ids.Int64s(), Time: steps, Columns: columns}, nil, nil)
					if carried != nil {
						t.Error("something is carried")
					}
					logits := states.Hidden.MatMul(p.Get("words").Transpose(0, 1))
					near(t, "logits", logits, golden["logits"], limit)
					targets := torch.FromInt64s(ids.Int64s()[columns:], device, int64((steps-1)*columns))
					nll := logits.LogSoftmax(1).Narrow(0, 0, int64((steps-1)*columns)).Gather(1, targets.Reshape(-1, 1))
					loss := nll.Mean().Neg()
					near(t, "loss", loss, golden["loss"], limit)
					loss.Backward()
					for _, name := range p.Names() {
						near(t, "gradient of "+name, p.Get(name).Grad(), golden["grad/"+name], limit)
					}
				})
			})
		}
	}
}

// TestGPTReadsOn: a text read part by part with a cache gives the states of the whole, with all kinds of positions.
func TestGPTReadsOn(t *testing.T) {
	for _, positions := range positionKinds {
		t.Run(positions, func(t *testing.T) {
			torch.Test(t, func() {
				m, p := newGPT(t, models.LayerSettings{Positions: positions}, torch.Float64)
				defer p.Free()
				defer m.Free()
				x := tinyText()
				whole, _ := m.Forward(x, nil, nil)
				cache := m.NewTextCache(x.Columns)
				defer cache.Free()
				torch.NoGrad(func() {
					var parts []torch.Tensor
					for _, part := range [][2]int{{0, 3}, {3, 4}, {4, 6}, {6, 7}} {
						parts = append(parts, m.Read(steps(x, part[0], part[1]), cache).Hidden)
					}
					near(t, "states", torch.Cat(parts, 0), whole.Hidden, 1e-12)
				})
			})
		})
	}
}

// TestGPTIsCausal: what a step sees are the steps up to it.
func TestGPTIsCausal(t *testing.T) {
	torch.Test(t, func() {
		m, p := newGPT(t, models.LayerSettings{Positions: "learned"}, torch.Float64)
		defer p.Free()
		defer m.Free()
		x := tinyText()
		before, _ := m.Forward(x, nil, nil)
		x.IDs[4*x.Columns] = (x.IDs[4*x.Columns] + 1) % textWords // step 4 of column 0
		after, _ := m.Forward(x, nil, nil)
		for n, change := range after.Hidden.Sub(before.Hidden).Abs().SumDim(1, false).Float64s() {
			if sees := before.Time[n] >= 4 && before.Column[n] == 0; (change != 0) != sees {
				t.Errorf("step %d of column %d changes by %v", before.Time[n], before.Column[n], change)
			}
		}
	})
}

// TestGPTStartsAsGPT2 checks deviations of the weights and the published count of GPT-2's parameters, 124,439,808.
func TestGPTStartsAsGPT2(t *testing.T) {
	torch.Test(t, func() {
		p := &torch.Params{}
		defer p.Free()
		m, err := models.NewGPT(models.Config{DType: torch.Float32, Settings: models.Settings{
			Layers: 12, Width: 768, AttentionSettings: models.AttentionSettings{Heads: 12, FFNWidth: 3072},
			LayerSettings: models.LayerSettings{Positions: "learned", MaxPositions: 1024},
		}}, nil, p, torch.NewStream(1, "init"), device)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Free()
		if got := p.Count() + 50257*768; got != 124439808 {
			t.Errorf("%d parameters", got)
		}
		for name, want := range map[string]float64{
			"layers.3.self_attn.q_proj.weight": 0.02, "layers.3.fc1.weight": 0.02, "embed_positions.weight": 0.02,
			"layers.3.self_attn.out_proj.weight": 0.02 / math.Sqrt(24), "layers.3.fc2.weight": 0.02 / math.Sqrt(24),
			"layers.3.fc2.bias": 0, "layers.3.self_attn.k_proj.bias": 0,
		} {
			got := math.Sqrt(p.Get(name).Square().Mean().Item())
			if math.Abs(got-want) > 0.01*want {
				t.Errorf("%s starts with a deviation of %v, want %v", name, got, want)
			}
		}
	})
}

func TestGPTRefusesSizes(t *testing.T) {
	torch.Test(t, func() {
		for want, change := range map[string]func(*models.Settings){
			"does not divide":    func(s *models.Settings) { s.Heads = 5 },
			"model.last_hidden":  func(s *models.Settings) { s.LastHidden = 3 },
			"needs layers":       func(s *models.Settings) { s.Layers = 0 },
			"positions want it":  func(s *models.Settings) { s.Width, s.Heads, s.Positions = 9, 3, "rotary" },
			"positions want it ": func(s *models.Settings) { s.Width, s.Heads, s.Positions = 9, 3, "sinusoidal" },
		} {
			s := models.Settings{Layers: 1, Width: 12, AttentionSettings: models.AttentionSettings{Heads: 3, FFNWidth: 5}}
			change(&s)
			if err := s.CheckGPT(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
				t.Errorf("%+v: %v, want %q", s, err, want)
			}
		}
		m, p := newGPT(t, models.LayerSettings{Positions: "learned"}, torch.Float32)
		defer p.Free()
		defer m.Free()
		err := torch.Try(func() error {
			m.Forward(models.Chunk{IDs: make([]int64, 17), Time: 17, Columns: 1}, nil, nil)
			return nil
		})
		if err == nil || !strings.Contains(fmt.Sprint(err), "17 steps are more than the model's 16 positions") {
			t.Errorf("too long a chunk: %v", err)
		}
	})
}

func TestGPTTrains(t *testing.T) {
	for _, positions := range positionKinds {
		torch.Test(t, func() {
			m, p := newGPT(t, models.LayerSettings{Positions: positions, Activation: "gelu_tanh"}, torch.Float32)
			defer p.Free()
			defer m.Free()
			m.Dropout, m.AttentionDropout = 0.2, 0.2
			trains(t, m, p)
		})
	}
}

// TestTextCacheInLittleMemory: where there is no memory for all layers, those that were made go too.
func TestTextCacheInLittleMemory(t *testing.T) {
	if device != torch.CPU {
		t.Skip("tests compute on " + string(device) + ", and torch.Within limits the CPU's tensors alone")
	}
	torch.Test(t, func() {
		m, p := newGPT(t, models.LayerSettings{Positions: "learned", Activation: "gelu"}, torch.Float32)
		defer p.Free()
		defer m.Free()
		whole := m.NewTextCache(1)
		defer whole.Free()
		for what, build := range map[string]func(columns int) *models.TextCache{"new": m.NewTextCache,
			"repeated": whole.Repeated} {
			handles, failed := torch.LiveHandles(), 0
			for limit := int64(0); ; limit += 500 {
				var c *models.TextCache
				err := torch.Within(limit, func() error {
					torch.ScopedNoGrad(func() { c = build(3) })
					return nil
				})
				if err == nil {
					c.Free()
					break
				}
				failed++
				if now := torch.LiveHandles(); now != handles {
					t.Fatalf("%s: %d tensors are left after %v", what, now-handles, err)
				}
			}
			if failed < 2 {
				t.Errorf("%s: it failed %d times, so that this test sees nothing", what, failed)
			}
		}
	})
}
