package significance

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/tokenize/score"
)

// Paired is the comparison of a system with a baseline.
type Paired struct {
	Baseline, System score.Result // each with its interval
	// P is the probability of a difference of scores at least as large, to either side, were both systems the same but for
	// chance.
	P float64 // NaN for two different translations of one segment, whose resamples are all the same
	// OneTailed is what sacreBLEU gives for P. It compares sizes of differences with their mean size, and rejects nearly
	// twice as often as its level says where the systems are alike.
	OneTailed float64
	// Low to High holds 95 % of the resampled differences, system less baseline. NaN where P is.
	Low, High float64
}

// Bootstrap compares two systems by scoring both on the same resamples (Koehn, 2004): P = (1 + the number of resamples
// whose difference is further from the mean of all than the difference of the whole corpus is from 0) / (1 + samples).
// sacreBLEU 2.6.0, with the same resamples, counts those whose absolute difference exceeds the mean absolute one by
// more than that: OneTailed. Both were counted by one metric against the same references. samples 0 means 1000 and seed
// 0 means 12345, sacreBLEU's choices.
func Bootstrap(baseline, system score.Counted, samples int, seed uint64) Paired {
	if samples == 0 {
		samples = score.DefaultSamples
	}
	if seed == 0 {
		seed = score.DefaultSeed
	}
	var scores [2][]float64
	var results [2]score.Result
	var round func(float64) float64
	for i, c := range []score.Counted{baseline, system} {
		scores[i], round = c.Resample(samples, seed)
		r := c.Score(nil)
		r.Samples, r.Seed = samples, seed
		sorted := slices.Sorted(slices.Values(scores[i]))
		low, high := within95(sorted)
		// sacreBLEU takes this mean with NumPy, of sorted scores.
		r.Mean, r.HalfWidth = pairwiseMean(sorted, round), 0.5*round(high-low)
		results[i] = r
	}
	differences := make([]float64, samples)
	for i := range differences {
		differences[i] = round(scores[1][i] - scores[0][i])
	}
	observed := math.Abs(results[0].Score - results[1].Score)
	p := Paired{Baseline: results[0], System: results[1], P: twoSided(differences, observed),
		OneTailed: bootstrapP(differences, observed, round)}
	if equal(baseline, system) {
		p.P, p.OneTailed = 1, 1
	}
	slices.Sort(differences)
	p.Low, p.High = within95(differences)
	if len(baseline.Counts) == 1 && observed > 0 {
		p.P, p.Low, p.High = math.NaN(), math.NaN(), math.NaN()
	}
	return p
}

// within95 are the order statistics of sorted values that leave out one in forty at each end.
func within95(sorted []float64) (low, high float64) {
	tail := len(sorted) / 40
	return sorted[tail], sorted[len(sorted)-tail-1]
}

func twoSided(differences []float64, observed float64) float64 {
	mean, larger := stat.Mean(differences, nil), 0
	for _, d := range differences {
		if math.Abs(d-mean) >= observed {
			larger++
		}
	}
	return float64(larger+1) / float64(len(differences)+1)
}

func bootstrapP(differences []float64, observed float64, round func(float64) float64) float64 {
	sizes := make([]float64, len(differences))
	for i, d := range differences {
		sizes[i] = math.Abs(d)
	}
	mean := pairwiseMean(sizes, round)
	larger := 0
	for _, d := range sizes {
		if round(d-mean) > round(observed) {
			larger++
		}
	}
	return float64(larger+1) / float64(len(sizes)+1)
}

// equal says whether two systems have the same counts in every segment, so that no test can tell them apart.
func equal(a, b score.Counted) bool {
	return slices.EqualFunc(a.Counts, b.Counts, func(x, y []float64) bool { return slices.Equal(x, y) })
}

// DefaultTrials is sacreBLEU's number of trials of approximate randomisation.
const DefaultTrials = 10000

// Randomisation compares two systems by approximate randomisation (Riezler and Maxwell, 2005), with the tosses of
// sacreBLEU 2.6.0: in each trial it exchanges the two systems' segments by the toss of a coin each, and P = (1 + the
// number of trials whose absolute difference is at least that of the systems) / (1 + trials). sacreBLEU counts those
// that exceed it, which is the same unless few segments differ. Then trials repeat the systems' own difference, and P
// would be as small as can be. trials 0 means 10000, and seed 0 means 12345.
func Randomisation(baseline, system score.Counted, trials int, seed uint64) (p float64) {
	if trials == 0 {
		trials = DefaultTrials
	}
	if seed == 0 {
		seed = score.DefaultSeed
	}
	coins := coins{generator: score.NewPCG64(seed)}
	whole, other := baseline.Score(nil), system.Score(nil)
	observed := math.Abs(whole.Score - other.Score)
	sums := make([]float64, len(baseline.Counts[0])) // of both systems together
	for i := range baseline.Counts {
		for j := range sums {
			sums[j] += baseline.Counts[i][j] + system.Counts[i][j]
		}
	}
	a, b := make([]float64, len(sums)), make([]float64, len(sums))
	larger := 0
	for range trials {
		clear(a)
		for i := range baseline.Counts {
			from := system.Counts[i]
			if coins.heads() {
				from = baseline.Counts[i]
			}
			for j, c := range from {
				a[j] += c
			}
		}
		for j := range b {
			b[j] = sums[j] - a[j] // counts are whole numbers: this is exact
		}
		if math.Abs(baseline.Score(a).Score-baseline.Score(b).Score) >= observed {
			larger++
		}
	}
	return float64(larger+1) / float64(trials+1)
}

// coins are tossed as NumPy's integers(2, dtype=bool) does: a draw of 32 bits makes 32 tosses, the lowest bit first.
type coins struct {
	generator *score.PCG64
	bits      uint32
	left      int
}

func (c *coins) heads() bool {
	if c.left == 0 {
		c.bits, c.left = c.generator.Uint32(), 32
	}
	heads := c.bits&1 == 1
	c.bits >>= 1
	c.left--
	return heads
}

// Pool adds up the counts of runs that differ in their seed, segment by segment. There is at least one, and all have the
// same number of segments.
func Pool(seeds []score.Counted) score.Counted {
	pooled := seeds[0]
	pooled.Counts = make([][]float64, len(seeds[0].Counts))
	for i := range pooled.Counts {
		pooled.Counts[i] = slices.Clone(seeds[0].Counts[i])
		for _, other := range seeds[1:] {
			for j, c := range other.Counts[i] {
				pooled.Counts[i][j] += c
			}
		}
	}
	return pooled
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
	sum := round(round(round(lane[0]+lane[1])+round(lane[2]+lane[3])) +
		round(round(lane[4]+lane[5])+round(lane[6]+lane[7])))
	for _, x := range xs[i:] {
		sum = round(sum + x)
	}
	return sum
}
