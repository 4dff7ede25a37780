package score

import (
	"math"
	"math/big"
	"slices"
)

// DefaultSeed and DefaultSamples are sacreBLEU's choices for resampling.
const (
	DefaultSeed    = 12345
	DefaultSamples = 1000
)

// resample draws samples corpora of as many segments as there are, with
// replacement, and scores each (Koehn, 2004).
func resample(m Metric, counts [][]float64, samples int, seed uint64) []float64 {
	generator := newPCG64(seed)
	scores := make([]float64, samples)
	sum := make([]float32, len(counts[0]))
	wide := make([]float64, len(sum))
	for s := range scores {
		clear(sum)
		for range counts {
			for j, c := range counts[generator.below(uint32(len(counts)))] {
				sum[j] += float32(c)
			}
		}
		for j, c := range sum {
			wide[j] = float64(c)
		}
		scores[s] = m.fromCounts(wide, single).Score
	}
	return scores
}

// addInterval sets the 95 % interval: its mean is that of all resamples, its
// half width half the distance between the 2.5 % and 97.5 % order statistics.
func (r *Result) addInterval(m Metric, counts [][]float64, samples int, seed uint64) {
	if seed == 0 {
		seed = DefaultSeed
	}
	r.Samples, r.Seed = samples, seed
	scores := resample(m, counts, samples, seed)
	slices.Sort(scores)
	r.Mean = rounding(m)(exactMean(scores))
	r.HalfWidth = halfWidth(m, scores)
}

// halfWidth is half the distance between the order statistics of sorted scores
// that leave out one score in forty at each end.
func halfWidth(m Metric, sorted []float64) float64 {
	tail := len(sorted) / 40
	return 0.5 * rounding(m)(sorted[len(sorted)-tail-1]-sorted[tail])
}

// exactMean adds without rounding error, which makes it independent of order.
func exactMean(xs []float64) float64 {
	// 2200 bits hold every sum of float64 values.
	sum := new(big.Float).SetPrec(2200)
	for _, x := range xs {
		sum.Add(sum, big.NewFloat(x))
	}
	mean, _ := sum.Quo(sum, big.NewFloat(float64(len(xs)))).Float64()
	return mean
}

// rounding is the precision that resampled scores of m are held in.
func rounding(m Metric) func(float64) float64 {
	if m.singleScores() {
		return single
	}
	return exact
}

// Paired is the comparison of a system with a baseline.
type Paired struct {
	Baseline, System Result // each with its interval
	// P is the probability of a difference of scores at least as large, were
	// both systems the same but for chance.
	P float64
}

// PairedBootstrap compares two systems by scoring both on the same resamples
// (Koehn, 2004), as sacreBLEU 2.6.0 does: P = (1 + the number of resamples
// whose absolute difference exceeds its own mean by more than the difference of
// the whole corpus) / (1 + samples). samples 0 means DefaultSamples, seed 0
// DefaultSeed. See Metric for shapes and errors.
func PairedBootstrap(m Metric, baseline, system []string, refs [][]string, samples int, seed uint64) (Paired, error) {
	if samples == 0 {
		samples = DefaultSamples
	}
	if seed == 0 {
		seed = DefaultSeed
	}
	m, err := m.resolve()
	if err != nil {
		return Paired{}, err
	}
	var scores [2][]float64
	var results [2]Result
	for i, hyps := range [][]string{baseline, system} {
		segments, references, err := transpose(hyps, refs)
		if err != nil {
			return Paired{}, err
		}
		counts := count(m, hyps, segments)
		r := m.fromCounts(total(counts), exact)
		scores[i] = resample(m, counts, samples, seed)
		r.references, r.Samples, r.Seed = references, samples, seed
		// The paired test of sacreBLEU takes its means with NumPy, of sorted scores.
		sorted := slices.Sorted(slices.Values(scores[i]))
		r.Mean, r.HalfWidth = pairwiseMean(sorted, rounding(m)), halfWidth(m, sorted)
		results[i] = r
	}
	observed := math.Abs(results[0].Score - results[1].Score)
	return Paired{results[0], results[1], pValue(scores[0], scores[1], observed, rounding(m))}, nil
}

func pValue(a, b []float64, observed float64, round func(float64) float64) float64 {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = math.Abs(round(b[i] - a[i]))
	}
	mean := pairwiseMean(differences, round)
	larger := 0
	for _, d := range differences {
		if round(d-mean) > round(observed) {
			larger++
		}
	}
	return float64(larger+1) / float64(len(a)+1)
}

func pairwiseMean(xs []float64, round func(float64) float64) float64 {
	return round(pairwiseSum(xs, round) / float64(len(xs)))
}

// pairwiseSum adds in the order of NumPy, because in single precision the order
// shows: halves are added recursively down to 128 numbers, those eight abreast.
func pairwiseSum(xs []float64, round func(float64) float64) float64 {
	n := len(xs)
	switch {
	case n < 8:
		sum := 0.0
		for _, x := range xs {
			sum = round(sum + x)
		}
		return sum
	case n > 128:
		half := n / 2
		half -= half % 8
		return round(pairwiseSum(xs[:half], round) + pairwiseSum(xs[half:], round))
	}
	var lane [8]float64
	copy(lane[:], xs)
	i := 8
	for ; i+8 <= n; i += 8 {
		for j := range lane {
			lane[j] = round(lane[j] + xs[i+j])
		}
	}
	sum := round(round(round(lane[0]+lane[1])+round(lane[2]+lane[3])) + round(round(lane[4]+lane[5])+round(lane[6]+lane[7])))
	for _, x := range xs[i:] {
		sum = round(sum + x)
	}
	return sum
}
