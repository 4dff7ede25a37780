package chart

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"
)

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		ticks     func(low, high float64) []plot.Tick
		low, high float64
		want      string
	}{
		{LinearTicks, 0, 8000, "0 2000 4000 6000 8000"},
		{LinearTicks, 2.2, 8.7, "3 4 5 6 7 8"},
		{LinearTicks, -0.25, 0.68, "-0.2 0.0 0.2 0.4 0.6"},
		{LinearTicks, 20000, 100000, "20000 40000 60000 80000 100000"},
		{LinearTicks, 0.0101, 0.0149, "0.011 0.012 0.013 0.014"},
		{LinearTicks, 3, 3, "3"},
		{LogTicks, 0, 4, "1 10 100 1000 10000"},
		{LogTicks, math.Log10(3.7), math.Log10(1500), "5 10 20 50 100 200 500 1000"},
		{LogTicks, math.Log10(18), math.Log10(70), "20 30 40 50 60"},
		{LogTicks, math.Log10(50), math.Log10(58), "50 51 52 53 54 55 56 57 58"},
	} {
		var labels []string
		for _, tick := range test.ticks(test.low, test.high) {
			labels = append(labels, tick.Label)
			if tick.Value < test.low-1e-9 || tick.Value > test.high+1e-9 {
				t.Errorf("tick %s lies outside %v to %v", tick.Label, test.low, test.high)
			}
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("from %v to %v: %s, want %s", test.low, test.high, got, test.want)
		}
	}
}

// oddNumbers are what an axis may have to end at: random bits, which hold all magnitudes, infinities and NaN, and small
// numbers.
func oddNumbers(n int) []float64 {
	random := rand.New(rand.NewPCG(1, 2))
	all := []float64{0, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(), 1, 0.9999999999999996, 1 << 53}
	for len(all) < n {
		all = append(all, math.Float64frombits(random.Uint64()), random.NormFloat64(), 1e-320*random.Float64())
	}
	return all
}

// Ticks are few, rise and lie within the range whatever that is, between neighbouring numbers too, where counting in
// steps does not get from one to the next.
func TestTicksOfAnyRange(t *testing.T) {
	numbers := oddNumbers(3000)
	type axis struct{ low, high float64 }
	var axes []axis
	for i, x := range numbers {
		y := numbers[(7*i+3)%len(numbers)]
		axes = append(axes, axis{x, x}, axis{min(x, y), max(x, y)}, axis{x, math.Nextafter(x, math.Inf(1))},
			axis{x, math.Nextafter(math.Nextafter(x, 9), 9)},
			axis{x, x + 1e-8*math.Abs(x)}, axis{x, x + 1e-10*math.Abs(x)}, axis{x, -x}, axis{x, x + 1})
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for _, a := range axes {
			for name, ticks := range map[string][]plot.Tick{"linear": LinearTicks(a.low, a.high),
				"logarithmic": LogTicks(a.low, a.high)} {
				most := 12
				if name == "logarithmic" {
					most = 100
				}
				if len(ticks) > most {
					t.Errorf("%s from %v to %v: %d ticks", name, a.low, a.high, len(ticks))
					return
				}
				for i, tick := range ticks {
					if a.low <= a.high && !(tick.Value >= a.low && tick.Value <= a.high) || i > 0 &&
						!(tick.Value > ticks[i-1].Value) || len(tick.Label) > 40 {
						t.Errorf("%s from %v to %v: tick %d of %v", name, a.low, a.high, i, ticks)
						return
					}
					if i > 0 && name == "linear" && tick.Label == ticks[i-1].Label {
						t.Errorf("from %v to %v: two ticks are %s", a.low, a.high, tick.Label)
						return
					}
				}
			}
		}
	}()
	select {
	case <-finished:
	case <-time.After(time.Minute):
		t.Fatal("ticks without end")
	}
}

// A range has room for its values, however near they are to each other, and zeros do not reach below zero.
func TestRoom(t *testing.T) {
	for _, test := range []struct{ low, high, from, to float64 }{
		{1, 2, 1, 2}, {0, 0, 0, 1}, {5, 5, 4.5, 5.5}, {0.9999999999999996, 1, 0.8999999999999996, 1.1},
		{-2, -2, -2.2, -1.8}, {0.02, 0.02, 0.018, 0.022},
	} {
		if from, to := Room(test.low, test.high); math.Abs(from-test.from) > 1e-12 || math.Abs(to-test.to) > 1e-12 {
			t.Errorf("%v to %v gets %v to %v, want %v to %v", test.low, test.high, from, to, test.from, test.to)
		}
	}
	for _, x := range oddNumbers(3000) {
		if from, to := Room(x, x); finite(x) && !(from < to && from <= x && x <= to && finite(from) && finite(to)) {
			t.Errorf("%v gets %v to %v", x, from, to)
		}
	}
}
