package main

import (
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/runs/internal/chart"
)

// coloured are methods in the order of their colours. Those that are compared most come first: seven differ, and the
// eighth has dashes.
var coloured = []string{"mle", "cosreg", "spectrum", "adversarial", "mos", "zloss", "softcap", "centre", "agg", "sn",
	"adaptive", "mixtape", "drill", "headless"}

// methodHue is the number of a method's colour, the same in every picture: that of the first method that is joined,
// with dashes.
func methodHue(method string) int {
	first, _, joined := strings.Cut(method, "+")
	hue := slices.Index(coloured, first)
	if hue < 0 {
		hue = len(coloured)
	}
	if joined {
		hue += chart.Hues
	}
	return hue
}

// colour gives each row its method's colour, and other dashes to rows of one colour.
func colour(rows []*row) {
	taken := map[int]bool{}
	for _, r := range rows {
		r.hue = methodHue(r.method())
		for taken[r.hue] {
			r.hue += chart.Hues
		}
		taken[r.hue] = true
	}
}
