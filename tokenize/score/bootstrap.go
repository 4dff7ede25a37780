package score

import (
	"cmp"
	"math/big"
	"slices"
)

// DefaultSeed and DefaultSamples are sacreBLEU's choices for resampling.
const (
	DefaultSeed    = 12345
	DefaultSamples = 1000
)

// resample draws samples corpora of equal size, with replacement, and scores each (Koehn, 2004).
func resample(m Metric, counts [][]float64, samples int, seed uint64) []float64 {
	generator := NewPCG64(seed)
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

// addInterval sets the 95 % interval: the mean of all resamples, and half the distance between their 2.5 % and 97.5 %
// order statistics.
func (r *Result) addInterval(m Metric, counts [][]float64, samples int, seed uint64) {
	seed = cmp.Or(seed, DefaultSeed)
	r.Samples, r.Seed = samples, seed
	scores := resample(m, counts, samples, seed)
	slices.Sort(scores)
	round, tail := rounding(m), len(scores)/40
	r.Mean = round(exactMean(scores))
	r.HalfWidth = 0.5 * round(scores[len(scores)-tail-1]-scores[tail])
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

// Counted is what a metric counted in each segment, for scores of other texts of such segments.
type Counted struct {
	Counts [][]float64 // by segment; they add up

	metric     Metric
	references int
}

// Count counts hyps against refs; see Metric for shapes and errors.
func Count(m Metric, hyps []string, refs [][]string) (Counted, error) {
	m, err := m.resolve()
	if err != nil {
		return Counted{}, err
	}
	segments, references, err := transpose(hyps, refs)
	if err != nil {
		return Counted{}, err
	}
	counts := make([][]float64, len(hyps))
	for i, hyp := range hyps {
		counts[i] = m.segment(hyp, segments[i])
	}
	return Counted{counts, m, references}, nil
}

// Score is the score of a text whose counts add up to sum; nil stands for the whole text.
func (c Counted) Score(sum []float64) Result {
	if sum == nil {
		sum = total(c.Counts)
	}
	r := c.metric.fromCounts(sum, exact)
	r.references = c.references
	return r
}

// Resample draws texts of equal size, with replacement, as [Result]'s interval does, and gives their scores and the
// precision that they are held in.
func (c Counted) Resample(samples int, seed uint64) (scores []float64, round func(float64) float64) {
	return resample(c.metric, c.Counts, samples, seed), rounding(c.metric)
}
