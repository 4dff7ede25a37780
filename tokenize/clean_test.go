package tokenize

import (
	"strings"
	"testing"
)

func newCleaner(t *testing.T, options CleanOptions) *Cleaner {
	t.Helper()
	c, err := NewCleaner(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCleanReasons(t *testing.T) {
	c := newCleaner(t, CleanOptions{Min: 2, Max: 4, Ratio: 1.5, MaxWordLength: 5})
	for _, test := range []struct {
		source, target string
		want           CleanReason
	}{
		{" a\u00A0 b ", "c\td", Kept},
		{"a|b c", "d e", Kept}, // every | is deleted
		{"a b", " ", Empty},
		{"| |", "a b", Empty},
		{"a b c d e", "a b c d", TooLong},
		{"a", "a b", TooShort},
		{"a b", "a b c", Kept}, // a ratio of exactly 1.5
		{"a b", "a b c d", BadRatio},
		{"a äöüßé", "a b", Kept},
		{"a äöüßéà", "a b", LongWord},
	} {
		source, target, reason, err := c.Clean(test.source, test.target)
		if err != nil || reason != test.want {
			t.Errorf("%q %q: got reason %d and error %v, want reason %d", test.source, test.target, reason, err,
				test.want)
		}
		if source != strings.Join(strings.Fields(source), " ") || strings.Contains(source, "|") {
			t.Errorf("%q %q are not tidy", source, target)
		}
	}
}

func TestCleanFactors(t *testing.T) {
	c := newCleaner(t, CleanOptions{Min: 1, Max: 10})
	source, _, reason, err := c.Clean("a|DET  b|N", "c d")
	if source != "a|DET b|N" || reason != Kept || err != nil {
		t.Errorf("a factored pair came out as %q, reason %d, error %v", source, reason, err)
	}
	if _, _, _, err := c.Clean("a|DET |N", "c"); err == nil || !strings.Contains(err.Error(), "factor is empty") {
		t.Errorf("an empty factor gave the error %v", err)
	}
}

func TestNewCleanerErrors(t *testing.T) {
	for _, options := range []CleanOptions{{Min: 5, Max: 4}, {Min: -1, Max: 4}, {Max: 4, Ratio: -1},
		{Max: 4, MaxWordLength: -1}} {
		if _, err := NewCleaner(options); err == nil {
			t.Errorf("%+v was accepted", options)
		}
	}
}
