package request

import (
	"fmt"
	"testing"
)

// TestTermsInOrder: equal requests ask a search for their terms in one order.
func TestTermsInOrder(t *testing.T) {
	for range 20 {
		terms, err := Fields{"terms": map[string]any{"b": "y", "a": "x", "c": "z", "a b": "w"}}.Terms("terms")
		if got := fmt.Sprint(terms); err != nil || got != "[{a x} {a b w} {b y} {c z}]" {
			t.Fatal(got, err)
		}
	}
}
