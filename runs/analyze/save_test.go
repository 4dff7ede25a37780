package main

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/runs/internal/record"
)

// TestGroups: words of like rank make a group, each word belongs to one, and the first words are groups of their own.
func TestGroups(t *testing.T) {
	for _, n := range []int{1, 7, 1000} {
		order, ones := make([]int, n), make([]float64, n)
		ranks := make([]float64, n)
		for i := range order {
			order[i], ones[i], ranks[i] = i, 1, float64(i+1)
		}
		p := &record.Picture{}
		group(p, order, ones, ranks)
		if p.Ranks[0] != 1 || len(p.Ranks) > 40 || math.Abs(p.Norms[len(p.Norms)-1]-1) > 1e-4 ||
			p.Ranks[len(p.Ranks)-1] > float64(n) {
			t.Errorf("%d words: %v", n, p.Ranks)
		}
	}
}
