package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// TestGRUEqualsPyTorch: two chunks with the state carried, and every gradient.
func TestGRUEqualsPyTorch(t *testing.T) {
	for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-11, torch.Float32: 5e-5} {
		t.Run(dtype.String(), func(t *testing.T) {
			torch.Test(t, func() {
				golden, _, err := torch.ReadSafetensors("testdata/gru.safetensors", device)
				if err != nil {
					t.Fatal(err)
				}
				p, s := &torch.Params{}, torch.NewStream(1, "init")
				defer p.Free()
				e := words(p, "words", textWords, 5, s, dtype)
				m, err := models.NewGRU(recurrent(5, 9, 0, 2, textWords, dtype), e, p, s, device)
				if err != nil {
					t.Fatal(err)
				}
				values := map[string]torch.Tensor{"words": golden["words"]}
				for name, x := range golden {
					if name, found := strings.CutPrefix(name, "param/"); found {
						values[name] = x
					}
				}
				if err := p.Load(values); err != nil {
					t.Fatal(err)
				}
				ids := golden["ids"]
				var carried models.Carried
				for chunk := range int64(2) {
					x := models.Chunk{IDs: ids.Narrow(0, chunk, 1).Reshape(-1).Int64s(), Time: int(ids.Size(1)),
						Columns: int(ids.Size(2))}
					var states torch.States
					states, carried = m.Forward(x, carried, nil)
					near(t, fmt.Sprintf("hidden states of chunk %d", chunk), states.Hidden,
						golden[fmt.Sprintf("hidden/%d", chunk)], limit)
					if chunk == 1 {
						states.Hidden.Mul(golden["seed"].To(dtype, device)).Sum().Backward()
					}
				}
				for i, x := range carried {
					near(t, fmt.Sprintf("the state of layer %d", i), x, golden[fmt.Sprintf("state/%d", i)], limit)
				}
				for _, name := range p.Names() {
					near(t, "the gradient of "+name, p.Get(name).Grad(), golden["grad/"+name], limit)
				}
			})
		})
	}
}

// TestGRUCarriesItsState: two chunks give what one long one does.
func TestGRUCarriesItsState(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewGRU, noise{}, torch.Float64)
		defer p.Free()
		x := tinyText()
		whole, end := m.Forward(x, nil, nil)
		first, carried := m.Forward(steps(x, 0, 3), nil, nil)
		second, last := m.Forward(steps(x, 3, 7), carried, nil)
		near(t, "states", torch.Cat([]torch.Tensor{first.Hidden, second.Hidden}, 0), whole.Hidden, 1e-12)
		for i := range end {
			near(t, "carried state", last[i], end[i], 1e-12)
		}
		empty, same := m.Forward(models.Chunk{Columns: x.Columns}, carried, nil)
		if empty.Hidden.Size(0) != 0 {
			t.Errorf("an empty chunk has %d states", empty.Hidden.Size(0))
		}
		for i := range carried {
			near(t, "state carried by an empty chunk", same[i], carried[i], 0)
		}
	})
}

// TestGRUNoise: without noise training is evaluation; dropped recurrent weights leave the first step alone and move the
// second, and all noise together trains.
func TestGRUNoise(t *testing.T) {
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewGRU, noise{}, torch.Float64)
		defer p.Free()
		x, stream := tinyText(), torch.NewStream(1, "dropout")
		train, _ := m.Forward(x, nil, stream)
		eval, _ := m.Forward(x, nil, nil)
		near(t, "states without noise", train.Hidden, eval.Hidden, 0)
		noise{WeightDrop: 0.5}.of(&m.Config)
		a, _ := m.Forward(x, nil, stream)
		b, _ := m.Forward(x, nil, stream)
		n := int64(x.Columns)
		near(t, "first step", a.Hidden.Narrow(0, 0, n), b.Hidden.Narrow(0, 0, n), 0)
		if a.Hidden.Narrow(0, n, n).Sub(b.Hidden.Narrow(0, n, n)).Abs().Sum().Item() == 0 {
			t.Error("two masks give the same second step")
		}
	})
	torch.Test(t, func() {
		m, p := newRecurrent(t, models.NewGRU, allNoise, torch.Float32)
		defer p.Free()
		trains(t, m, p)
	})
}
