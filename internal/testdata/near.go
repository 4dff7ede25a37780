package testdata

import (
	"math"
	"testing"
)

// Near fails unless got equals want to within limit, relative to the largest of want.
func Near(t testing.TB, what string, got, want []float64, limit float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d elements, want %d", what, len(got), len(want))
		return
	}
	scale := 1.0
	for _, v := range want {
		scale = math.Max(scale, math.Abs(v))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= limit*scale) {
			t.Errorf("%s: element %d is %v, want %v (difference %.3g, allowed %.3g)", what, i, got[i], want[i], d, limit*scale)
			return
		}
	}
}
