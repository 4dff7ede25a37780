package main

import (
	"bufio"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
)

// TestPrinter: what each flag prints of a line.
func TestPrinter(t *testing.T) {
	words := func(c float64) *translation.Details {
		return &translation.Details{Confidence: c, Words: []translation.Word{{Text: "ein", Confidence: c, Source: []int{1}}, {Text: "<b>", Confidence: 1}}}
	}
	list := []translation.Translation{{Text: "ein <b>", Score: -0.5, Details: words(0.25)}, {Text: "b", Score: -1}}
	for want, p := range map[string]*printer{
		"ein <b>\nb\n": {},
		"7\t-0.5000\tein <b>\t1-0\n7\t-1.0000\tb\t\n": {scored: true, links: true},
		"ein <b>\t0.2500 0.2500 1.0000\nb\t0.0000\n":  {confidence: true},
		`{"text":"ein <b>","score":-0.5,"confidence":0.25,"words":[{"text":"ein","confidence":0.25,"source":[1]},{"text":"<b>","confidence":1,"source":[]}],"nbest":[]}` + "\n": {json: true},
	} {
		var out strings.Builder
		p.Writer = bufio.NewWriter(&out)
		p.translations(7, list)
		p.Flush()
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	var out strings.Builder
	p := &printer{Writer: bufio.NewWriter(&out), json: true, scored: true}
	p.translations(1, []translation.Translation{{Text: "x", Details: words(math.NaN())}, {Text: "y"}})
	p.translations(2, []translation.Translation{{Err: &translation.LineError{Line: 1, Err: errors.New("too long")}}})
	p.Flush()
	for _, part := range []string{`"confidence":null`, `"nbest":[{"text":"x"`, `{"text":"y"`, `"error":"too long"`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%s does not hold %s", out.String(), part)
		}
	}
}

// TestPrefixes: there is one for each line, no more and no fewer.
func TestPrefixes(t *testing.T) {
	d := demands{path: "p.txt", prefixes: []string{"a", "", "c"}}
	requests, err := d.of(1, []string{"x", "y"})
	if err != nil || requests[0].Prefix != "" || requests[1].Prefix != "c" || requests[1].Line != "y" {
		t.Errorf("%+v, %v", requests, err)
	}
	if _, err := d.of(2, []string{"x", "y"}); err == nil || !strings.Contains(err.Error(), "p.txt has 3 lines, and standard input has more") {
		t.Error(err)
	}
	if err := d.allUsed(2); err == nil || !strings.Contains(err.Error(), "standard input has 2") {
		t.Error(err)
	}
	if err := d.allUsed(3); err != nil {
		t.Error(err)
	}
}
