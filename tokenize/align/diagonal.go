package align

import "math"

// Legend (Dyer et al.): m target words, n source words; i a place in the target, j one in the source, both from 1.

// feature is minus the distance of a link from the diagonal, relative to the lengths.
func feature(i, j, m, n int) float64 {
	return -math.Abs(float64(j)/float64(n) - float64(i)/float64(m))
}

// halves gives, for the source places above the diagonal and for those up to it, the place next to the diagonal and
// their number: the first and length of two geometric series.
//
// The counts wrap around at 2^32 if i exceeds m, as fast_align's do; only slope, which swaps m and n, asks for that,
// and the series is then summed to infinity.
func halves(i, m, n int) (above, below int, countAbove, countBelow float64) {
	split := uint32(float64(i) * float64(n) / float64(m))
	return int(split) + 1, int(split), float64(uint32(n) - split), float64(split)
}

// normaliser is the sum over all source places of exp(tension feature), in closed form (section 3.1).
func normaliser(i, m, n int, tension float64) float64 {
	above, below, countAbove, countBelow := halves(i, m, n)
	ratio := math.Exp(-tension / float64(n))
	sum := 0.0
	if countBelow > 0 {
		sum += math.Exp(feature(i, below, m, n)*tension) * (1 - math.Pow(ratio, countBelow)) / (1 - ratio)
	}
	if countAbove > 0 {
		sum += math.Exp(feature(i, above, m, n)*tension) * (1 - math.Pow(ratio, countAbove)) / (1 - ratio)
	}
	return sum
}

// slope is the derivative of the normaliser's logarithm, the model's mean feature (section 3.2). As in fast_align, m
// and n are swapped in its divisor.
func slope(i, m, n int, tension float64) float64 {
	above, below, countAbove, countBelow := halves(i, m, n)
	ratio := math.Exp(-tension / float64(n))
	sum := 0.0
	if countAbove > 0 {
		sum += series(feature(i, above, m, n), tension, ratio, n, countAbove)
	}
	if countBelow > 0 {
		sum += series(feature(i, below, m, n), tension, ratio, n, countBelow)
	}
	return sum / normaliser(i, n, m, tension)
}

// series is the sum of f exp(tension f) over features f that begin at first and fall by 1/n.
func series(first, tension, ratio float64, n int, count float64) float64 {
	d := -1 / float64(n)
	term := math.Exp(first * tension)
	beyond := term * math.Pow(ratio, count) // the term after the last
	last := d*(count-1) + first
	return (last*beyond-first*term)/(ratio-1) - d*(beyond-term*ratio)/((ratio-1)*(ratio-1))
}
