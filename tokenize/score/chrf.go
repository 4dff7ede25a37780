package score

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CHRFOptions says how chrF is computed. The zero value is sacreBLEU's default, chrF2; WordOrder 2 makes it chrF2++.
type CHRFOptions struct {
	CharOrder  int    // longest character n-gram; default 6
	WordOrder  int    // longest word n-gram; default 0
	Beta       int    // weight of recall against precision; default 2
	Lowercase  bool   // lower-case both sides first
	Whitespace bool   // keep whitespace in character n-grams
	EpsSmooth  bool   // average the F-scores of all orders, with 1e-16 for 0/0
	Bootstrap  int    // resamples for the confidence interval; below 2: no interval
	Seed       uint64 // of the resamples; 0 means DefaultSeed
}

// Corpus is the chrF of Popović (2015; with words 2017), equal to sacreBLEU 2.6.0: the F-score, in percent, of
// precision and recall averaged over the orders that both sides have. Of several references the best counts. See Metric
// for shapes and errors.
func (o CHRFOptions) Corpus(hyps []string, refs [][]string) (Result, error) {
	return corpus(o, hyps, refs, o.Bootstrap, o.Seed)
}

func (o CHRFOptions) resolve() (Metric, error) {
	o.CharOrder, o.Beta = cmp.Or(o.CharOrder, 6), cmp.Or(o.Beta, 2)
	if o.CharOrder < 0 || o.WordOrder < 0 || o.Beta < 0 {
		return nil, fmt.Errorf("chrF has character order %d, word order %d and beta %d: none may be negative",
			o.CharOrder, o.WordOrder, o.Beta)
	}
	return o, nil
}

// segment returns for each order, characters first: n-grams of the hypothesis, n-grams of the reference, matches.
func (o CHRFOptions) segment(hyp string, refs []string) []float64 {
	hypGrams := o.ngrams(hyp)
	var best []float64
	bestScore := -1.0
	for _, ref := range refs {
		refGrams := o.ngrams(ref)
		var counts []float64
		for n := range hypGrams {
			counts = append(counts, overlap(hypGrams[n], refGrams[n])...)
		}
		if f := o.fScore(counts, exact); f > bestScore {
			best, bestScore = counts, f
		}
	}
	return best
}

func (o CHRFOptions) ngrams(line string) []map[string]int {
	if o.Lowercase {
		line = lower(line)
	}
	chars := line
	if !o.Whitespace {
		chars = strings.Join(fields(line), "")
	}
	var grams []map[string]int
	for n := 1; n <= o.CharOrder; n++ {
		grams = append(grams, charNgrams(chars, n))
	}
	words := splitPunctuation(line)
	for n := 1; n <= o.WordOrder; n++ {
		grams = append(grams, wordNgrams(words, n, n))
	}
	return grams
}

// charNgrams counts the substrings of n code points.
func charNgrams(s string, n int) map[string]int {
	grams := make(map[string]int)
	end := 0
	for range n {
		if end == len(s) {
			return grams
		}
		end += runeLen(s[end:])
	}
	for start := 0; ; {
		grams[s[start:end]]++
		if end == len(s) {
			return grams
		}
		start += runeLen(s[start:])
		end += runeLen(s[end:])
	}
}

func runeLen(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// splitPunctuation splits words, and one ASCII mark from each: the last character or else the first ("(hi)": "(hi",
// ")").
func splitPunctuation(line string) []string {
	var out []string
	for _, word := range fields(line) {
		last := len(word) - 1
		switch {
		case runeLen(word) == len(word):
			out = append(out, word)
		case asciiPunctuation(word[last]):
			out = append(out, word[:last], word[last:])
		case asciiPunctuation(word[0]):
			out = append(out, word[:1], word[1:])
		default:
			out = append(out, word)
		}
	}
	return out
}

func asciiPunctuation(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}

// overlap counts hypothesis n-grams, reference n-grams and clipped matches; an order that the reference is too short
// for counts for nothing.
func overlap(hyp, ref map[string]int) []float64 {
	var hyps, refs, matches int
	for gram, c := range hyp {
		hyps += c
		matches += min(c, ref[gram])
	}
	for _, c := range ref {
		refs += c
	}
	if refs == 0 {
		hyps = 0
	}
	return []float64{float64(hyps), float64(refs), float64(matches)}
}

func (o CHRFOptions) fScore(counts []float64, round func(float64) float64) float64 {
	const eps = 1e-16
	beta2 := float64(o.Beta * o.Beta)
	f := func(precision, recall float64) float64 {
		denominator := round(round(beta2*precision) + recall)
		if denominator == 0 {
			return eps
		}
		return round(round(round((1+beta2)*precision)*recall) / denominator)
	}
	var sumF, sumPrecision, sumRecall, orders float64
	for i := 0; i < len(counts); i += 3 {
		hyp, ref, match := counts[i], counts[i+1], counts[i+2]
		precision, recall := eps, eps
		if hyp > 0 {
			precision = round(match / hyp)
		}
		if ref > 0 {
			recall = round(match / ref)
		}
		sumF = round(sumF + f(precision, recall))
		if hyp > 0 && ref > 0 {
			sumPrecision = round(sumPrecision + precision)
			sumRecall = round(sumRecall + recall)
			orders++
		}
	}
	if o.EpsSmooth {
		return round(round(100*sumF) / float64(o.CharOrder+o.WordOrder))
	}
	if sumPrecision+sumRecall == 0 {
		return 0
	}
	return round(100 * f(round(sumPrecision/orders), round(sumRecall/orders)))
}

func (o CHRFOptions) fromCounts(counts []float64, round func(float64) float64) Result {
	return Result{
		Name:    fmt.Sprintf("chrF%d%s", o.Beta, strings.Repeat("+", o.WordOrder)),
		Score:   o.fScore(counts, round),
		options: o.signature(),
	}
}

func (o CHRFOptions) singleScores() bool { return true }

func (o CHRFOptions) signature() []parameter {
	return []parameter{
		{"case", caseName(o.Lowercase)},
		{"eff", yesNo(!o.EpsSmooth)},
		{"nc", fmt.Sprint(o.CharOrder)},
		{"nw", fmt.Sprint(o.WordOrder)},
		{"space", yesNo(o.Whitespace)},
	}
}
