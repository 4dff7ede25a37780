package request

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPatterns: expressions are taken up to a size, with their repetitions written out.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		keep    any
		problem string
	}{
		{[]any{`\d+(\.\d+)?`, `[A-Z]{2,10}-\d{4}`, `(?i)https?://\S+`}, ""},
		{slices.Repeat([]any{`[A-Z][a-z]+`}, 1000), ""},
		{"(", "is no regular expression"},
		{".{0,2000}", "is no regular expression"}, // Go's own limit
		{strings.Repeat(".{0,1000}", 11), "too large together"},
		{[]any{".{0,1000}", "(x{9}y{9}){100}"}, ""},
		{[]any{".{0,1000}", "(x{9}y{9}){100}", "(x{9}y{9}){100}", "a{900}"}, "too large together"},
	} {
		list, err := Fields{"keep": c.keep}.Patterns("keep")
		if c.problem == "" && (err != nil || len(list) == 0) || c.problem != "" && (err == nil ||
			!strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%.60q gives %d, %v", fmt.Sprint(c.keep), len(list), err)
		}
	}
}

// TestTermsInOrder: equal requests ask a search for their terms in one order.
func TestTermsInOrder(t *testing.T) {
	for range 20 {
		terms, err := Fields{"terms": map[string]any{"b": "y", "a": "x", "c": "z", "a b": "w"}}.Terms("terms")
		if got := fmt.Sprint(terms); err != nil || got != "[{a x} {a b w} {b y} {c z}]" {
			t.Fatal(got, err)
		}
	}
}
