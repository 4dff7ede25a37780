package models_test

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// inPlane checks that states are what the last layer normalisation of a network leaves: sum_j (h_j - b_j) / g_j is 0 in
// each.
func inPlane(t *testing.T, network any, hidden_ND torch.Tensor) {
	t.Helper()
	gain_D, bias_D := models.LastNorm(network)
	if !gain_D.Defined() {
		t.Fatal("it has no last layer normalisation")
	}
	for i, x := range hidden_ND.Sub(bias_D).Div(gain_D).SumDim(1, false).Float64s() {
		if math.Abs(x) > 1e-9 {
			t.Errorf("state %d is %v off the plane", i, x)
		}
	}
}

func TestLastNorm(t *testing.T) {
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) {
			torch.Test(t, func() {
				x := load(t, name, torch.Float64)
				defer x.free()
				inPlane(t, x.model, x.model.Forward(x.source, x.prev, nil).Hidden)
			})
		})
	}
	torch.Test(t, func() {
		m, p := newTransformerXL(t, 2, models.XLContext{Memory: 5}, torch.Float64)
		defer p.Free()
		defer m.Free()
		for _, name := range p.Names() { // the bias starts at 0, where any plane goes through the origin
			torch.NoGrad(func() {
				p.Get(name).Assign(p.Get(name).Add(torch.NewStream(2, name).Normal(0, 0.1, torch.Float64, device,
					p.Get(name).Shape()...)))
			})
		}
		states, _ := m.Forward(models.Chunk{IDs: []int64{1, 2, 3, 4, 0, 2}, Time: 3, Columns: 2}, nil, nil)
		inPlane(t, m, states.Hidden)
	})
	if gain, _ := models.LastNorm(nil); gain.Defined() {
		t.Error("nothing has a layer normalisation")
	}
}
