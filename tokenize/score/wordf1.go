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

// F1 is the harmonic mean of precision and recall: 0 without a match, NaN where neither side has a word of the range.
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

// WordF1 compares tokenised translations with references word by word, apart for words that training saw 0, 1, 2, 3, 4, 5-9,
// 10-99, 100-999 and 1000 or more times (Kumar and Tsvetkov, "Von Mises-Fisher Loss for Training Sequence to Sequence Models
// with Continuous Outputs", 2019, section 6). counts maps a word of the target language to its number in training: see
// WordCounts. Word order plays no part. Unequal lengths are an error.
func WordF1(hyps, refs []string, counts map[string]int) ([]FrequencyBucket, error) {
	if _, _, err := transpose(hyps, [][]string{refs}); err != nil {
		return nil, err
	}
	lows := []int{0, 1, 2, 3, 4, 5, 10, 100, 1000}
	buckets := make([]FrequencyBucket, len(lows))
	for i, low := range lows {
		buckets[i] = FrequencyBucket{Low: low, High: append(lows, 0)[i+1] - 1}
	}
	bucket := func(word string) *FrequencyBucket {
		above, _ := slices.BinarySearch(lows, counts[word]+1)
		return &buckets[above-1]
	}
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
