package score

import (
	"fmt"
	"slices"
)

// FrequencyBucket holds how well words of one range of training frequencies were translated.
type FrequencyBucket struct {
	Low, High         int // the range, both included; High is -1 where it is open
	Reference, Output int // tokens on either side
	Matches           int // those that meet one of the same sentence on the other side
}

// Name is the range as a table shows it: "3", "5-9" or "1000+".
func (b FrequencyBucket) Name() string {
	switch b.High {
	case b.Low:
		return fmt.Sprint(b.Low)
	case -1:
		return fmt.Sprintf("%d+", b.Low)
	}
	return fmt.Sprintf("%d-%d", b.Low, b.High)
}

// Precision is Matches/Output, or NaN without output.
func (b FrequencyBucket) Precision() float64 { return float64(b.Matches) / float64(b.Output) }

// Recall is Matches/Reference, or NaN without references.
func (b FrequencyBucket) Recall() float64 { return float64(b.Matches) / float64(b.Reference) }

// F1 is the harmonic mean of precision and recall: 0 without a match, NaN if neither side has a word of the range.
func (b FrequencyBucket) F1() float64 { return float64(2*b.Matches) / float64(b.Output+b.Reference) }

// WordCounts counts the words of tokenised training text, which WordF1 sorts words by.
func WordCounts(lines []string) map[string]int {
	counts := make(map[string]int)
	for _, line := range lines {
		for _, word := range fields(line) {
			counts[word]++
		}
	}
	return counts
}

// lows are where the ranges of training frequencies begin.
var lows = []int{0, 1, 2, 3, 4, 5, 10, 100, 1000}

// FrequencyBuckets are the empty ranges of training frequency: 0, 1, 2, 3, 4, 5-9, 10-99, 100-999, 1000 or more (Kumar
// and Tsvetkov, "Von Mises-Fisher Loss for Training Sequence to Sequence Models with Continuous Outputs", 2019, table
// 5, but for the 0).
func FrequencyBuckets() []FrequencyBucket {
	buckets := make([]FrequencyBucket, len(lows))
	for i, low := range lows {
		buckets[i] = FrequencyBucket{Low: low, High: -1}
		if i > 0 {
			buckets[i-1].High = low - 1
		}
	}
	return buckets
}

// BucketOf is the place among FrequencyBuckets of a word that training saw count times.
func BucketOf(count int) int {
	above, _ := slices.BinarySearch(lows, count+1)
	return above - 1
}

// WordF1 compares tokenised translations with references, in any word order, by FrequencyBuckets. counts are a target
// word's occurrences in training: see WordCounts. Unequal lengths are an error.
func WordF1(hyps, refs []string, counts map[string]int) ([]FrequencyBucket, error) {
	if _, _, err := transpose(hyps, [][]string{refs}); err != nil {
		return nil, err
	}
	buckets := FrequencyBuckets()
	bucket := func(word string) *FrequencyBucket { return &buckets[BucketOf(counts[word])] }
	for i := range hyps {
		output, reference := WordCounts(hyps[i:i+1]), WordCounts(refs[i:i+1])
		for word, c := range output {
			b := bucket(word)
			b.Output += c
			b.Matches += min(c, reference[word])
		}
		for word, c := range reference {
			bucket(word).Reference += c
		}
	}
	return buckets, nil
}
