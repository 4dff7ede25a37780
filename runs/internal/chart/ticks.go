package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// Flat is the least range of an axis, as a share of its largest number. Below it the numbers that could stand at the
// ticks differ in nothing that a reader tells apart, and near 1e-16 they cannot be counted in steps at all.
const Flat = 1e-9

// Room returns the range of an axis for values from low to high: this range itself, or, where it is flat, one that has
// the values in its middle, and for zeros alone 0 to 1, since what is measured of a run is seldom negative.
func Room(low, high float64) (from, to float64) {
	largest := max(math.Abs(low), math.Abs(high))
	switch {
	case !finite(low) || !finite(high):
		return low, high
	case largest < 1e-300: // as good as zero, and too small to be divided
		return min(low, 0), 1
	case high-low > Flat*largest:
		return low, high
	}
	return max(low-largest/10, -math.MaxFloat64), min(high+largest/10, math.MaxFloat64)
}

// LinearTicks stand at round numbers between two numbers, about four to nine of them, with plain labels: 20000, not
// 2e+04. A range that has no room for them (see Flat) gets one tick, at low; one with an end that is NaN or infinite
// gets none.
func LinearTicks(low, high float64) []plot.Tick {
	if !finite(low) || !finite(high) {
		return nil
	}
	largest := max(math.Abs(low), math.Abs(high))
	width := high - low
	if math.IsInf(width, 1) { // the ends are further apart than a number can say
		return []plot.Tick{plainTick(low), plainTick(0), plainTick(high)}
	}
	step := math.Pow(10, math.Floor(math.Log10(width)))
	if !(width > Flat*largest) || !(step > 0) || math.IsInf(largest/step, 0) {
		return []plot.Tick{plainTick(low)}
	}
	for _, divisor := range []float64{0.5, 1, 2, 5} {
		if width/(step/divisor) >= 4 {
			step /= divisor
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	label := func(x float64) string { return strconv.FormatFloat(x, 'f', digits, 64) }
	if digits > 12 || largest >= 1e15 { // too long for an axis
		significant := 2 + max(0, int(math.Log10(largest/step)))
		label = func(x float64) string { return strconv.FormatFloat(x, 'g', significant, 64) }
	}
	const slack = 1e-9 // of a step, for ends that rounding moved
	first, last := math.Ceil(low/step-slack), math.Floor(high/step+slack)
	var ticks []plot.Tick
	for i := range int(last-first) + 1 { // a float that counts stands still from 2^53 on
		value := (first+float64(i))*step + 0 // never -0
		ticks = append(ticks, plot.Tick{Value: min(max(value, low), high), Label: label(value)})
	}
	return ticks
}

// LogTicks stand at powers of ten between two logarithms to the base ten, or closer where the axis is short: at 1, 2
// and 5 times these, or more. An end that is NaN or infinite gives none.
func LogTicks(low, high float64) []plot.Tick {
	if !finite(low) || !finite(high) {
		return nil
	}
	const most = 12 // powers of ten on an axis
	first, last := max(math.Floor(low), -324), min(math.Ceil(high), 308)
	every := max(1, int(math.Ceil((last-first)/most)))
	for _, steps := range [][]float64{{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 8}} {
		var ticks []plot.Tick
		for i := 0; i <= int(last-first); i += every {
			power := first + float64(i)
			for _, step := range steps {
				if at := power + math.Log10(step); at >= low && at <= high {
					ticks = append(ticks, plot.Tick{Value: at, Label: plainTick(step * math.Pow(10, power)).Label})
				}
			}
		}
		if len(ticks) >= 4 {
			return ticks
		}
	}
	ticks := LinearTicks(math.Pow(10, low), math.Pow(10, high)) // within a factor of three round numbers do
	for i := range ticks {
		ticks[i].Value = min(max(math.Log10(ticks[i].Value), low), high)
	}
	return ticks
}

func plainTick(x float64) plot.Tick {
	return plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', 6, 64)}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
