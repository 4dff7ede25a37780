package models

import (
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestTablesInStretches: tables of more numbers than are computed at a time have the vectors of the whole one.
func TestTablesInStretches(t *testing.T) {
	torch.Test(t, func() {
		c := Config{DType: torch.Float64}
		c.MaxPositions, c.Width, c.Heads, c.Positions, c.PositionOffset = 3000, 102, 1, "sinusoidal", 5
		p := newPositions(initialiser{device: torch.CPU, dtype: c.DType}, "", c)
		defer torch.Free(p.table)
		if !slices.Equal(p.table.Float64s(), c.PositionTable()) {
			t.Error("sinusoids differ")
		}
		r := newRotation(c, torch.CPU)
		defer torch.Free(r.cos_PK, r.sin_PK)
		c.MaxPositions = 1200 // in one stretch
		first := newRotation(c, torch.CPU)
		defer torch.Free(first.cos_PK, first.sin_PK)
		cos, sin := r.cos_PK.Float64s(), r.sin_PK.Float64s()
		if !slices.Equal(cos[:1200*102], first.cos_PK.Float64s()) || !slices.Equal(sin[:1200*102], first.sin_PK.Float64s()) {
			t.Error("rotations differ in the first stretch")
		}
		for i := range cos { // a place's angle is the sum of those of two places
			at, k := i/102, i%51
			if at < 2000 {
				continue
			}
			a, b := 1000*102+k+51, (at-1000)*102+k+51
			want := cos[a]*cos[b] - sin[a]*sin[b]
			if d := cos[i] - want; d > 1e-9 || d < -1e-9 {
				t.Fatalf("place %d, element %d: the cosine is %g, want %g", at, i%102, cos[i], want)
			}
		}
	})
}
