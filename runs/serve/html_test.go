package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
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

// TestKeepInDocument: what an expression matches in the texts of a document stays. One that reads them over and over is
// refused.
func TestKeepInDocument(t *testing.T) {
	a := started(t)
	server := httptest.NewServer(a.handler())
	defer server.Close()
	source, target := a.models[0].pair()
	for _, test := range []struct{ q, keep, says string }{
		{"<p>a line <b>of words</b></p>", "of w.*", "of words"},
		{"<p>" + strings.Repeat("{", 20000-3), "{[^}]*}|{", "the expressions of keep take more than"},
	} {
		_, answer, _ := ask(t, server.Client(), server.URL+"/translate", jsonType,
			fmt.Sprintf(`{"q":%q,"source":%q,"target":%q,"keep":%q,"format":"html"}`, test.q, source, target,
				test.keep))
		if text := says(answer); !strings.Contains(text, test.says) {
			t.Errorf("keep %s: %.200s", test.keep, text)
		}
	}
}

// TestPrefixOfNothing: a document without text has no translation that a prefix could begin.
func TestPrefixOfNothing(t *testing.T) {
	for prefix, fails := range map[string]bool{"Ein": true, " ": false} {
		_, err := translateHTML(task{texts: []string{"<p>one</p>", "<br>"}, prefix: prefix, markup: &markup.Options{}},
			func([]translation.Request) ([][]translation.Translation, error) {
				return [][]translation.Translation{{{Text: "Eins"}}}, nil
			})
		var bad *translation.LineError
		if errors.As(err, &bad) != fails || fails && (bad.Line != 2 || bad.Err != errNoBeginning) {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}
