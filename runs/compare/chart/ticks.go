package chart

import (
	"math"

	"gonum.org/v1/plot"

	"github.com/aperture-ml/aperture/runs/internal/report"
)

// tick is a number on an axis.
type tick struct {
	at    float64
	label string
}

// ticks are the numbers of an axis, as in the pictures of a run, or the names of its places.
func (s *span) ticks(names []string) (all []tick) {
	for i, name := range names {
		all = append(all, tick{float64(i), name})
	}
	if names != nil {
		return all
	}
	var found []plot.Tick
	if s.log { // there the axis holds logarithms
		found = report.LogTicks(math.Log10(s.low), math.Log10(s.high))
	} else {
		found = report.LinearTicks(s.low, s.high)
	}
	for _, t := range found {
		if s.log {
			t.Value = math.Pow(10, t.Value)
		}
		all = append(all, tick{t.Value, t.Label})
	}
	return all
}
