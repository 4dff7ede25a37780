package objectives

import (
	"slices"
	"testing"
)

// TestJoinsAreMutual: what a method joins with joins with it, and nothing joins with itself.
func TestJoinsAreMutual(t *testing.T) {
	for _, a := range names {
		if slices.Contains(Joins(a), a) {
			t.Errorf("%s joins with itself", a)
		}
		for _, b := range names {
			if a != "mle" && b != "mle" && slices.Contains(Joins(a), b) != slices.Contains(Joins(b), a) {
				t.Errorf("%s and %s join in one order only", a, b)
			}
		}
	}
	if got := Joins("spectrum"); !slices.Contains(got, "adversarial") || !slices.Contains(got, "cosreg") || slices.Contains(got, "spectrum-poly") {
		t.Errorf("spectrum joins with %v", got)
	}
}
