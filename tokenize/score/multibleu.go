package score

import (
	"fmt"
	"math"
	"strings"
)

// MultiBLEUResult is what multi-bleu.perl prints.
type MultiBLEUResult struct {
	Score          float64    // percent
	Precisions     [4]float64 // percent, of 1- to 4-grams
	BP             float64    // brevity penalty
	HypLen, RefLen int        // tokens
}

// MultiBLEU scores tokenised text as Moses' multi-bleu.perl does: split at ASCII whitespace, no smoothing. lowercase
// lower-cases ASCII letters only, as the script does, because it reads bytes. Shapes and errors are those of Metric; a
// reference without any token gives the zero result.
func MultiBLEU(hyps []string, refs [][]string, lowercase bool) (MultiBLEUResult, error) {
	segments, _, err := transpose(hyps, refs)
	if err != nil {
		return MultiBLEUResult{}, err
	}
	var r MultiBLEUResult
	var matches, totals [4]int
	for i, hyp := range hyps {
		tokens := perlFields(hyp, lowercase)
		limits := make(map[string]int)
		lengths := make([]int, len(segments[i]))
		for k, ref := range segments[i] {
			refTokens := perlFields(ref, lowercase)
			lengths[k] = len(refTokens)
			mergeMax(limits, wordNgrams(refTokens, 1, 4))
		}
		r.HypLen += len(tokens)
		// The script looks for a length from 9999 away, and gives 9999 to a segment whose references are all further off.
		r.RefLen += closest(len(tokens), lengths, 9999, 9999)
		for n := range 4 {
			for gram, c := range wordNgrams(tokens, n+1, n+1) {
				matches[n] += min(c, limits[gram])
				totals[n] += c
			}
		}
	}
	if r.RefLen == 0 {
		return MultiBLEUResult{}, nil
	}
	r.BP = brevityPenalty(float64(r.HypLen), float64(r.RefLen))
	logs := 0.0
	for n := range 4 {
		p := 0.0
		if totals[n] > 0 {
			p = float64(matches[n]) / float64(totals[n])
		}
		r.Precisions[n] = 100 * p
		logs += logOrFloor(p)
	}
	r.Score = 100 * (r.BP * math.Exp(logs/4))
	return r, nil
}

// Format is the script's line. Without a token in the reference the script
// prints zeros of another shape, and so does Format.
func (r MultiBLEUResult) Format() string {
	if r.RefLen == 0 {
		return "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)"
	}
	return "BLEU = " + fixed(r.Score, 2) + ", " + r.details()
}

// JSON is the line as an object in the shape of Result's.
func (r MultiBLEUResult) JSON() string {
	var object object
	object.add("name", quote("multi-bleu"))
	object.add("score", pythonFloat(r.Score, 2))
	object.add("verbose_score", quote(r.details()))
	return object.String()
}

func (r MultiBLEUResult) details() string {
	return fmt.Sprintf("%s (BP=%.3f, ratio=%.3f, hyp_len=%d, ref_len=%d)",
		slashed(r.Precisions[:]), r.BP, lengthRatio(r.HypLen, r.RefLen), r.HypLen, r.RefLen)
}

// perlFields splits a line of bytes where Perl's split does.
func perlFields(line string, lowercase bool) []string {
	space := func(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }
	tokens := strings.FieldsFunc(line, space)
	if lowercase {
		for i, token := range tokens {
			tokens[i] = lowerASCII(token)
		}
	}
	return tokens
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
