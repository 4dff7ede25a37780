package translation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJoined: sentences that the source does not separate are joined as the target language writes them, and their
// words with them.
func TestJoined(t *testing.T) {
	one := func(text string, confidence float64) piece {
		return piece{sentence: &sentence{}, words: 1, found: []written{{
			Translation: Translation{Text: text, Details: &Details{Words: []Word{{text, confidence, []int{0}}}}}}}}
	}
	for code, want := range map[string][]Word{
		"zh-Hant": {{"一。二。", 0.125, []int{1}}},
		"jpn":     {{"一。二。", 0.125, []int{1}}},
		"ko":      {{"一。", 0.5, []int{1}}, {"二。", 0.25, []int{1}}},
		"private": {{"一。", 0.5, []int{1}}, {"二。", 0.25, []int{1}}},
	} {
		x := joined([]piece{one("一。", 0.5), {}, one("二。", 0.25)}, spaced(code))[0]
		text := "一。二。"
		if len(want) == 2 {
			text = "一。 二。"
		}
		if diff := cmp.Diff(want, x.Details.Words); diff != "" || x.Text != text {
			t.Errorf("%s: %q\n%s", code, x.Text, diff)
		}
	}
}
