package score

// FrequencyBucket holds how well words of one range of training frequencies
// were translated.
type FrequencyBucket struct {
	// Low to High is the range, both included; High is -1 where it is open.
	Low, High int
	// Reference and Output count the tokens on either side, Matches those that
	// meet one of the same sentence on the other side.
	Reference, Output, Matches int
}

// Precision is Matches/Output, or 0 without output.
func (b FrequencyBucket) Precision() float64 { return ratio(b.Matches, b.Output) }

// Recall is Matches/Reference, or 0 without references.
func (b FrequencyBucket) Recall() float64 { return ratio(b.Matches, b.Reference) }

// F1 is the harmonic mean of precision and recall, or 0 without a match.
func (b FrequencyBucket) F1() float64 { return ratio(2*b.Matches, b.Output+b.Reference) }

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// WordCounts counts the words of tokenised training text, which WordF1 sorts
// words by.
func WordCounts(lines []string) map[string]int {
	counts := make(map[string]int)
	for _, line := range lines {
		for _, word := range fields(line) {
			counts[word]++
		}
	}
	return counts
}

// WordF1 compares tokenised translations with references word by word, apart
// for words that training saw 0, 1, 2, 3, 4, 5-9, 10-99, 100-999 and 1000 or
// more times (Kumar and Tsvetkov, "Von Mises-Fisher Loss for Training Sequence
// to Sequence Models with Continuous Outputs", 2019, section 6). counts maps a
// word of the target language to its number in training: see WordCounts. Word
// order plays no part. Unequal lengths are an error.
func WordF1(hyps, refs []string, counts map[string]int) ([]FrequencyBucket, error) {
	if _, _, err := transpose(hyps, [][]string{refs}); err != nil {
		return nil, err
	}
	buckets := []FrequencyBucket{
		{Low: 0, High: 0}, {Low: 1, High: 1}, {Low: 2, High: 2}, {Low: 3, High: 3}, {Low: 4, High: 4},
		{Low: 5, High: 9}, {Low: 10, High: 99}, {Low: 100, High: 999}, {Low: 1000, High: -1},
	}
	bucket := func(word string) *FrequencyBucket {
		i := 0
		for buckets[i].High >= 0 && counts[word] > buckets[i].High {
			i++
		}
		return &buckets[i]
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
