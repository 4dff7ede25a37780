package main

import (
	"testing"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/chart"
	"github.com/aperture-ml/aperture/runs/internal/record"
)

// TestColours: a method keeps its colour whatever stands beside it, and rows of one method have nearly one colour.
func TestColours(t *testing.T) {
	numbers := func(methods ...string) (all []int) {
		var rows []*row
		for _, m := range methods {
			rows = append(rows, &row{runs: []*trained{{results: &record.Results{Method: m}}}})
		}
		colour(rows)
		for _, r := range rows {
			all = append(all, r.hue)
		}
		return all
	}
	known := map[string]bool{}
	for _, m := range objectives.Methods() {
		known[m.Name] = true
	}
	for _, name := range coloured {
		if !known[name] {
			t.Errorf("%s has a colour, and is no method", name)
		}
	}
	a, b := numbers("mle", "cosreg", "spectrum+adversarial", "spectrum"), numbers("spectrum", "mle")
	if a[0] != b[1] || a[3] != b[0] {
		t.Errorf("%v and %v: a method has two colours", a, b)
	}
	if a[2]%chart.Hues != a[3]%chart.Hues || a[2] == a[3] {
		t.Errorf("%v: spectrum+adversarial is not drawn as spectrum with dashes", a)
	}
	same := numbers("mos", "mos", "unheard of", "mos+cosreg")
	seen := map[int]bool{}
	for i, n := range same {
		if seen[n] {
			t.Errorf("%v: two rows have one colour", same)
		}
		seen[n] = true
		if i != 2 && n%chart.Hues != same[0]%chart.Hues {
			t.Errorf("%v: rows of mos have several hues", same)
		}
	}
}
