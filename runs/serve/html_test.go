package main

import (
	"errors"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/runs/serve/internal/markup"
)

// TestErrorOfDocument: what is wrong with a text of a document is said of the document.
func TestErrorOfDocument(t *testing.T) {
	for line, want := range map[int]int{1: 1, 2: 3, 4: 3, 5: 4} {
		_, err := translateHTML(task{texts: []string{"One.", "<br>", "<p>One.</p><p>Two.</p><p>Three.</p>", "Four."},
			markup: &markup.Options{}}, func(requests []translation.Request) ([][]translation.Translation, error) {
			if len(requests) != 5 {
				t.Errorf("there are %d texts", len(requests))
			}
			return nil, &translation.LineError{Line: line, Err: errors.New("it is long")}
		})
		var bad *translation.LineError
		if !errors.As(err, &bad) || bad.Line != want || bad.Err.Error() != "it is long" {
			t.Errorf("text %d: %v, want line %d", line, err, want)
		}
	}
}
