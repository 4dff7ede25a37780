package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

func transformerXL(layers, width, heads, ffn int, context models.XLContext, dtype torch.DType) models.Config {
	return models.Config{DType: dtype, Settings: models.Settings{
		Layers: layers, Width: width, AttentionSettings: models.AttentionSettings{Heads: heads, FFNWidth: ffn},
		XLContext: context,
	}}
}

func newTransformerXL(t *testing.T, layers int, context models.XLContext, dtype torch.DType) (*models.TransformerXL,
	*torch.Params) {
	t.Helper()
	p, s := &torch.Params{}, torch.NewStream(1, "init")
	m, err := models.NewTransformerXL(transformerXL(layers, 6, 2, 10, context, dtype),
		words(p, "word_emb.emb_layers.0.weight", textWords, 6, s, dtype), p, s, device)
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

// TestTransformerXLEqualsEquations: three chunks with memory, and every gradient,
// against attention computed pair by pair.
func TestTransformerXLEqualsEquations(t *testing.T) {
	for name, context := range map[string]models.XLContext{"plain": {Memory: 5},
		"clamped": {Memory: 5, Clamp: 3, SameLength: true}} {
		for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-10, torch.Float32: 1e-4} {
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				torch.Test(t, func() {
					golden, _, err := torch.ReadSafetensors("testdata/transformer_xl.safetensors", device)
					if err != nil {
						t.Fatal(err)
					}
					m, p := newTransformerXL(t, 2, context, dtype)
					defer p.Free()
					defer m.Free()
					values := map[string]torch.Tensor{"word_emb.emb_layers.0.weight": golden[name+"/words"]}
					for key, x := range golden {
						if parameter, found := strings.CutPrefix(key, name+"/param/"); found {
							values[parameter] = x
						}
					}
					if err := p.Load(values); err != nil {
						t.Fatal(err)
					}
					ids := golden[name+"/ids"]
					steps, columns := int(ids.Size(1)), int(ids.Size(2))
					all := ids.Int64s()
					var carried models.Carried
					for n := range 3 {
						states, next := m.Forward(models.Chunk{IDs: all[n*steps*columns : (n+1)*steps*columns],
							Time: steps, Columns: columns}, carried, nil)
						near(t, "states", states.Hidden, golden[fmt.Sprintf("%s/hidden/%d", name, n)], limit)
						carried = next
						if n == 2 {
							states.Hidden.Mul(golden[name+"/seed"].To(dtype, device)).Sum().Backward()
						}
					}
					for _, parameter := range p.Names() {
						key := name + "/grad/" + parameter
						if strings.HasPrefix(parameter, "word_emb") {
							key = name + "/grad/words"
						}
						near(t, "gradient of "+parameter, p.Get(parameter).Grad(), golden[key], limit)
					}
				})
			})
		}
	}
}

// TestTransformerXLParameterCounts checks the published totals; the output layer
// has 267,735 tied rows of width 410 with a bias, and three clusters of their own.
func TestTransformerXLParameterCounts(t *testing.T) {
	for layers, want := range map[int]int64{16: 151107538, 4: 120307738} {
		torch.Test(t, func() {
			p := &torch.Params{}
			defer p.Free()
			_, err := models.NewTransformerXL(transformerXL(layers, 410, 10, 2100, models.XLContext{Memory: 150},
				torch.Float32), nil, p, torch.NewStream(1, "init"), device)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Count() + 267735*(410+1) + 3*(410+1); got != want {
				t.Errorf("%d layers have %d parameters, want %d", layers, got, want)
			}
		})
	}
}

// TestTransformerXLRemembers: with a memory that reaches back to the start, chunks
// give what one long chunk does, and no gradient reaches the memory.
func TestTransformerXLRemembers(t *testing.T) {
	torch.Test(t, func() {
		m, p := newTransformerXL(t, 3, models.XLContext{Memory: 7}, torch.Float64)
		defer p.Free()
		defer m.Free()
		x := tinyText()
		whole, _ := m.Forward(x, nil, nil)
		var carried models.Carried
		var parts []torch.Tensor
		for _, part := range [][2]int{{0, 2}, {2, 3}, {3, 7}} {
			states, next := m.Forward(steps(x, part[0], part[1]), carried, nil)
			parts = append(parts, states.Hidden)
			carried = next
		}
		near(t, "states", torch.Cat(parts, 0), whole.Hidden, 1e-12)
		for i, memory := range carried {
			if memory.RequiresGrad() || memory.Size(0) != 7 {
				t.Errorf("memory %d has shape %v, a history: %t", i, memory.Shape(), memory.RequiresGrad())
			}
		}
		if err := m.SetContext(models.XLContext{}); err != nil {
			t.Fatal(err)
		}
		without, empty := m.Forward(steps(x, 3, 7), nil, nil)
		again, _ := m.Forward(steps(x, 3, 7), empty, nil)
		near(t, "without a memory", again.Hidden, without.Hidden, 0)
	})
}

// TestTransformerXLSeesAsFarAsItShould: with one layer and the same length for all,
// a step sees Memory steps, itself included; a step further back changes nothing.
func TestTransformerXLSeesAsFarAsItShould(t *testing.T) {
	torch.Test(t, func() {
		const memory = 3
		m, p := newTransformerXL(t, 1, models.XLContext{Memory: memory, SameLength: true}, torch.Float64)
		defer p.Free()
		defer m.Free()
		x := tinyText()
		last := func(x models.Chunk) torch.Tensor {
			_, carried := m.Forward(steps(x, 0, 5), nil, nil)
			states, _ := m.Forward(steps(x, 5, 7), carried, nil)
			return states.Hidden.Narrow(0, int64(x.Columns), int64(x.Columns)) // of step 6
		}
		before := last(x)
		for step := range 7 {
			changed := models.Chunk{IDs: append([]int64(nil), x.IDs...), Time: x.Time, Columns: x.Columns}
			for c := range x.Columns {
				changed.IDs[step*x.Columns+c] = (changed.IDs[step*x.Columns+c] + 1) % textWords
			}
			differs := last(changed).Sub(before).Abs().Sum().Item() != 0
			if sees := step > 6-memory; differs != sees {
				t.Errorf("a change at step %d moves step 6: %t, want %t", step, differs, sees)
			}
		}
	})
}

func TestTransformerXLRefusesSizes(t *testing.T) {
	torch.Test(t, func() {
		for name, c := range map[string]struct {
			width   int
			context models.XLContext
			want    string
		}{
			"odd width":                   {9, models.XLContext{}, "even width"},
			"heads that do not divide it": {8, models.XLContext{}, "heads divide"},
			"negative memory":             {6, models.XLContext{Memory: -1}, "model.memory = -1"},
			"same length, nothing to see": {6, models.XLContext{SameLength: true}, "needs a memory"},
		} {
			p := &torch.Params{}
			_, err := models.NewTransformerXL(transformerXL(1, c.width, 3, 10, c.context, torch.Float32), nil, p,
				torch.NewStream(1, "init"), device)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: the error is %v", name, err)
			}
			p.Free()
		}
	})
}

func TestTransformerXLTrains(t *testing.T) {
	torch.Test(t, func() {
		m, p := newTransformerXL(t, 2, models.XLContext{Memory: 4}, torch.Float32)
		defer p.Free()
		defer m.Free()
		m.Dropout, m.AttentionDropout = 0.2, 0.2
		trains(t, m, p)
	})
}
