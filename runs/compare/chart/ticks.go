package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// tick is a number on an axis.
type tick struct {
	at    float64
	label string
}

// ticks are the numbers of an axis, or the names of its places.
func (s *span) ticks(names []string) (all []tick) {
	for i, name := range names {
		all = append(all, tick{float64(i), name})
	}
	if names != nil {
		return all
	}
	if s.log {
		return s.logTicks()
	}
	for _, t := range (plot.DefaultTicks{}).Ticks(s.low, s.high) {
		if !t.IsMinor() {
			all = append(all, tick{t.Value, plain(t.Value)})
		}
	}
	return all
}

// logTicks stand at powers of ten, or closer where the axis is short: at 1, 2 and 5 times these, or at more.
func (s *span) logTicks() (all []tick) {
	for _, steps := range [][]float64{{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9}} {
		all = nil
		for power := math.Floor(math.Log10(s.low)); power <= math.Ceil(math.Log10(s.high)); power++ {
			for _, step := range steps {
				if at := step * math.Pow(10, power); at >= s.low && at <= s.high {
					all = append(all, tick{at, plain(at)})
				}
			}
		}
		if len(all) >= 3 {
			break
		}
	}
	return all
}

// plain writes a number without an exponent where that is short: 20000, not 2e+04.
func plain(x float64) string {
	if x != 0 && (math.Abs(x) < 1e-4 || math.Abs(x) >= 1e7) {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(x*1e8)/1e8, 'f', -1, 64)
}
