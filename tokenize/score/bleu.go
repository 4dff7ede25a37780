package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Smoothing is what BLEU does about an order of n-grams without a match, numbered as by Chen and Cherry, "A Systematic
// Comparison of Smoothing Techniques for Sentence-Level BLEU" (2014).
type Smoothing string

const (
	// SmoothExp (method 3, mteval-v13a's) gives the i-th order without a match the precision 1/(2^i total).
	SmoothExp Smoothing = "exp"
	// SmoothFloor (method 1) counts SmoothValue matches where there are none.
	SmoothFloor Smoothing = "floor"
	// SmoothAddK (method 2) adds SmoothValue to matches and totals of all orders but the first.
	SmoothAddK Smoothing = "add-k"
	// SmoothNone leaves a precision of 0, and so a score of 0.
	SmoothNone Smoothing = "none"
)

// NearZero is a BLEU below that of any translator that knows its languages: function words and points alone give it.
const NearZero = 1

// BLEUOptions says how BLEU is computed. The zero value is sacreBLEU's default.
type BLEUOptions struct {
	Tokenizer      Tokenizer // default Tok13a
	Smooth         Smoothing // default SmoothExp
	SmoothValue    float64   // for SmoothFloor (default 0.1) and SmoothAddK (default 1)
	Lowercase      bool      // lower-case both sides first
	EffectiveOrder bool      // average only over orders that the hypothesis has n-grams of
	MaxOrder       int       // longest n-gram; default 4
	Bootstrap      int       // resamples for the confidence interval; below 2: no interval
	Seed           uint64    // of the resamples; 0 means DefaultSeed
}

// Corpus is the BLEU of Papineni et al. (2002), equal to sacreBLEU 2.6.0: brevity penalty times the geometric mean of
// the n-gram precisions, clipped by the maximum over references. The reference length is the closest to the hypothesis,
// on a tie the shorter. See Metric for shapes and errors.
func (o BLEUOptions) Corpus(hyps []string, refs [][]string) (Result, error) {
	return corpus(o, hyps, refs, o.Bootstrap, o.Seed)
}

func (o BLEUOptions) resolve() (Metric, error) {
	o.Tokenizer, o.Smooth, o.MaxOrder = cmp.Or(o.Tokenizer, Tok13a), cmp.Or(o.Smooth, SmoothExp), cmp.Or(o.MaxOrder, 4)
	switch o.Smooth {
	case SmoothFloor:
		o.SmoothValue = cmp.Or(o.SmoothValue, 0.1)
	case SmoothAddK:
		o.SmoothValue = cmp.Or(o.SmoothValue, 1)
	}
	if _, err := o.Tokenizer.Tokenize(""); err != nil {
		return nil, err
	}
	if !slices.Contains([]Smoothing{SmoothExp, SmoothFloor, SmoothAddK, SmoothNone}, o.Smooth) {
		return nil, fmt.Errorf("unknown smoothing %q: use one of exp, floor, add-k, none", string(o.Smooth))
	}
	if o.MaxOrder < 1 {
		return nil, fmt.Errorf("the longest n-gram of BLEU is %d words: it must be at least 1", o.MaxOrder)
	}
	if o.SmoothValue < 0 {
		return nil, fmt.Errorf("the smoothing value of BLEU is %g: it must be above 0", o.SmoothValue)
	}
	return o, nil
}

// segment returns hypothesis and reference length, then for each order the matches, then the hypothesis's n-grams.
func (o BLEUOptions) segment(hyp string, refs []string) []float64 {
	return matchNgrams(hyp, refs, o.MaxOrder, math.MaxInt, o.tokens)
}

// matchNgrams is segment up to an order; a reference length that is not nearer than far counts as far.
func matchNgrams(hyp string, refs []string, order, far int, split func(string) []string) []float64 {
	tokens := split(hyp)
	var limits map[string]int
	difference, length := far, far
	for i, ref := range refs {
		refTokens := split(ref)
		l := len(refTokens)
		if d := max(len(tokens)-l, l-len(tokens)); d < difference || d == difference && l < length {
			difference, length = d, l
		}
		grams := wordNgrams(refTokens, 1, order)
		if i == 0 {
			limits = grams
			continue
		}
		for gram, c := range grams {
			limits[gram] = max(limits[gram], c)
		}
	}
	counts := make([]float64, 2+2*order)
	counts[0], counts[1] = float64(len(tokens)), float64(length)
	for n := 1; n <= order; n++ {
		for gram, c := range wordNgrams(tokens, n, n) {
			counts[1+n] += float64(min(c, limits[gram]))
			counts[1+order+n] += float64(c)
		}
	}
	return counts
}

func (o BLEUOptions) tokens(line string) []string {
	if o.Lowercase {
		line = lower(line)
	}
	// resolve has seen the name, so that there is no error here.
	tokens, _ := o.Tokenizer.Tokenize(stripRight(line))
	return tokens
}

// wordNgrams counts the n-grams of orders first to last. Tokens hold no spaces, which join them.
func wordNgrams(tokens []string, first, last int) map[string]int {
	line := strings.Join(tokens, " ") // whose parts the keys are
	grams := make(map[string]int, max(0, len(tokens)-first+1)*(last-first+1))
	for n := first; n <= last; n++ {
		begin, end := 0, -1 // of the n-gram; the end of one word fewer at first
		for i, token := range tokens {
			end += 1 + len(token)
			if i+1 < n {
				continue
			}
			grams[line[begin:end]]++
			begin += len(tokens[i+1-n]) + 1
		}
	}
	return grams
}

func (o BLEUOptions) fromCounts(counts []float64, round func(float64) float64) Result {
	hypLen, refLen := counts[0], counts[1]
	matches, totals := counts[2:2+o.MaxOrder], counts[2+o.MaxOrder:]
	result := Result{
		Name:       "BLEU",
		BP:         brevityPenalty(hypLen, refLen),
		HypLen:     int(hypLen),
		RefLen:     int(refLen),
		Matches:    integers(matches),
		Precisions: make([]float64, o.MaxOrder),
		options:    o.signature(),
	}

	if slices.Max(matches) == 0 {
		return result
	}
	factor, order := 1.0, o.MaxOrder
	for n := range o.MaxOrder {
		match, all := matches[n], totals[n]
		if o.Smooth == SmoothAddK && n > 0 {
			match = round(match + o.SmoothValue)
			all = round(all + o.SmoothValue)
		}
		if all == 0 {
			break
		}
		if o.EffectiveOrder {
			order = n + 1
		}
		switch {
		case match > 0:
			result.Precisions[n] = round(round(100*match) / all)
		case o.Smooth == SmoothExp:
			factor *= 2
			result.Precisions[n] = round(100 / round(factor*all))
		case o.Smooth == SmoothFloor:
			result.Precisions[n] = round(round(100*o.SmoothValue) / all)
		}
	}
	logs := 0.0
	for _, p := range result.Precisions[:order] {
		logs += logOrFloor(p)
	}
	result.Score = result.BP * math.Exp(logs/float64(order))
	return result
}

// brevityPenalty is min(1, exp(1 - reference/hypothesis)), and 0 for an empty hypothesis.
func brevityPenalty(hypLen, refLen float64) float64 {
	switch {
	case hypLen >= refLen:
		return 1
	case hypLen == 0:
		return 0
	}
	return math.Exp(1 - refLen/hypLen)
}

// singleScores: the logarithms of BLEU are taken in double precision.
func (o BLEUOptions) singleScores() bool { return false }

func integers(xs []float64) []int {
	out := make([]int, len(xs))
	for i, x := range xs {
		out[i] = int(x)
	}
	return out
}

func (o BLEUOptions) signature() []parameter {
	smooth := string(o.Smooth)
	if o.Smooth == SmoothFloor || o.Smooth == SmoothAddK {
		smooth += "[" + strconv.FormatFloat(o.SmoothValue, 'f', 2, 64) + "]"
	}
	return []parameter{
		{"case", caseName(o.Lowercase)},
		{"eff", yesNo(o.EffectiveOrder)},
		{"tok", string(o.Tokenizer)},
		{"smooth", smooth},
	}
}
