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

// MultiBLEU scores tokenised text as Moses' multi-bleu.perl: split at ASCII whitespace, no smoothing; lowercase is for
// ASCII letters. Shapes and errors are Metric's; references without tokens give the zero result.
func MultiBLEU(hyps []string, refs [][]string, lowercase bool) (MultiBLEUResult, error) {
	segments, _, err := transpose(hyps, refs)
	if err != nil {
		return MultiBLEUResult{}, err
	}
	split := func(line string) []string { return perlFields(line, lowercase) }
	counts := make([][]float64, len(hyps))
	for i, hyp := range hyps {
		// The script looks for a length from 9999 away, and gives 9999 to a segment without a nearer one.
		counts[i] = matchNgrams(hyp, segments[i], 4, 9999, split)
	}
	sum := total(counts)
	r := MultiBLEUResult{HypLen: int(sum[0]), RefLen: int(sum[1]), BP: brevityPenalty(sum[0], sum[1])}
	if r.RefLen == 0 {
		return MultiBLEUResult{}, nil
	}
	logs := 0.0
	for n := range 4 {
		p := 0.0
		if matches, all := sum[2+n], sum[6+n]; all > 0 {
			p = matches / all
		}
		r.Precisions[n] = 100 * p
		logs += logOrFloor(p)
	}
	r.Score = 100 * (r.BP * math.Exp(logs/4))
	return r, nil
}

// Format is the script's line, also in the other shape of its zeros for references without tokens.
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
	if lowercase {
		line = string(lowerASCII([]byte(line)))
	}
	return strings.FieldsFunc(line, space)
}

// lowerASCII lower-cases in place.
func lowerASCII(b []byte) []byte {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
