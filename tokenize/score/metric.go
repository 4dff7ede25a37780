package score

import (
	"errors"
	"fmt"
	"math"
)

// NoReference stands in a reference stream for a missing reference. An empty string is an empty one.
const NoReference = "\x00no reference\x00"

// Metric is a corpus measure made of counts that add up over segments: BLEUOptions and CHRFOptions.
type Metric interface {
	// Corpus scores hyps against the streams refs: refs[k][i] is the k-th reference of hyps[i] or NoReference. Unknown
	// options, unequal lengths, no segments and a segment without a reference are errors.
	Corpus(hyps []string, refs [][]string) (Result, error)

	// resolve fills in defaults, or names a bad option. The methods below belong to what it returns.
	resolve() (Metric, error)
	// segment counts one hypothesis against its references, at least one.
	segment(hyp string, refs []string) []float64
	// fromCounts computes the score from added-up counts, with round on each result: exact for the score, single for
	// resamples, which the reference implementation holds in single precision.
	fromCounts(counts []float64, round func(float64) float64) Result
	// singleScores says whether resampled scores come out in single precision.
	singleScores() bool
}

func exact(x float64) float64  { return x }
func single(x float64) float64 { return float64(float32(x)) }

// variable is the number of references where segments differ in it.
const variable = -1

// transpose turns streams of references into the references of each segment.
func transpose(hyps []string, refs [][]string) (segments [][]string, references int, err error) {
	if len(hyps) == 0 {
		return nil, 0, errors.New("there are no hypotheses to score")
	}
	if len(refs) == 0 {
		return nil, 0, errors.New("there are no references to score against")
	}
	for k, stream := range refs {
		if len(stream) != len(hyps) {
			return nil, 0, fmt.Errorf("reference %d has %d lines and the hypotheses have %d: they must agree line by "+
				"line", k+1, len(stream), len(hyps))
		}
	}
	segments = make([][]string, len(hyps))
	for i := range hyps {
		for _, stream := range refs {
			if stream[i] != NoReference {
				segments[i] = append(segments[i], stream[i])
			}
		}
		switch n := len(segments[i]); {
		case n == 0:
			return nil, 0, fmt.Errorf("segment %d has no reference: every segment needs one", i+1)
		case i == 0:
			references = n
		case n != references:
			references = variable
		}
	}
	return segments, references, nil
}

// total adds counts up over all segments.
func total(counts [][]float64) []float64 {
	sum := make([]float64, len(counts[0]))
	for _, segment := range counts {
		for j, c := range segment {
			sum[j] += c
		}
	}
	return sum
}

// logOrFloor is the logarithm; both reference programs give log 0 this value, which makes a geometric mean 0.
func logOrFloor(x float64) float64 {
	if x == 0 {
		return -9999999999
	}
	return math.Log(x)
}

// corpus scores a corpus with m and adds an interval where samples > 1.
func corpus(m Metric, hyps []string, refs [][]string, samples int, seed uint64) (Result, error) {
	counted, err := Count(m, hyps, refs)
	if err != nil {
		return Result{}, err
	}
	result := counted.Score(nil)
	if samples > 1 {
		result.addInterval(counted.metric, counted.Counts, samples, seed)
	}
	return result, nil
}
