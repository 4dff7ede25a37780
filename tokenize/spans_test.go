package tokenize

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// TestWordSpans on tokens that are split, escaped, lower-cased and rewritten.
func TestWordSpans(t *testing.T) {
	for _, test := range []struct {
		raw, tokens string
		want        []Span
	}{
		{"", "", nil},
		{"A dog's (red) hat.", "a dog &apos;s ( red ) hat .", []Span{{0, 0}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {3, 3}, {3, 3}}},
		{"R&D  <b> x|y", "R &amp; D &lt; b &gt; x &#124; y", []Span{{0, 0}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2}}},
		{"well-known man", "well @-@ known man", []Span{{0, 0}, {0, 0}, {0, 0}, {1, 1}}},
		{"„Ja“ – nein…", `" Ja " - nein ...`, []Span{{0, 0}, {0, 0}, {0, 0}, {1, 1}, {2, 2}, {2, 2}}},
		{"5 % more", "5% more", []Span{{0, 1}, {2, 2}}},
		{`he said "no".`, `he said " no . "`, []Span{{0, 0}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, {2, 2}}},
		{"", "x", []Span{{0, -1}}},
		{"nothing", "of that kind", []Span{{0, 0}, {0, 0}, {0, 0}}},
		{"\u200bhid\u200bden word", "hidden word", []Span{{0, 0}, {1, 1}}},
	} {
		if got := WordSpans(test.raw, strings.Fields(test.tokens)); !slices.Equal(got, test.want) {
			t.Errorf("%q: the tokens %q come from %v, want %v", test.raw, test.tokens, got, test.want)
		}
	}
}

// TestWordSpansOfText: of real lines, the tokens of a raw line and those behind a detokenised one come from the words
// that hold their characters, all words are reached, and in order.
func TestWordSpansOfText(t *testing.T) {
	data, err := os.ReadFile(fixtures.Path(t, "multi30k/val.de"))
	if err != nil {
		t.Fatal(err)
	}
	moses, err := NewMoses(MosesOptions{Language: "de"})
	if err != nil {
		t.Fatal(err)
	}
	normalizer, detokenizer := NewNormalizer("de", MosesCurrent), NewDetokenizer("de")
	for line := range strings.Lines(string(data)) {
		tokens := strings.Fields(moses.Tokenize(normalizer.Normalize(strings.ToLower(line))))
		for _, raw := range []string{line, detokenizer.Detokenize(strings.Join(tokens, " "))} {
			words, reached := strings.Fields(raw), 0
			for i, span := range WordSpans(raw, tokens) {
				plain := unescapeMoses.Replace(tokens[i])
				holds := strings.Contains(strings.ToLower(strings.Join(words[span.First:span.Last+1], "")), plain)
				if strings.ContainsFunc(plain, wordRune) && !holds && !strings.Contains(plain, "'") {
					t.Fatalf("%q: token %q comes from %q", raw, tokens[i], words[span.First:span.Last+1])
				}
				if span.First > reached+1 || span.First < reached-1 {
					t.Fatalf("%q: token %d comes from word %d, after %d", raw, i, span.First, reached)
				}
				reached = max(reached, span.Last)
			}
			if reached != len(words)-1 {
				t.Fatalf("%q: the tokens reach word %d of %d", raw, reached, len(words))
			}
		}
	}
}

// TestCountWords counts whole words alone.
func TestCountWords(t *testing.T) {
	for _, test := range []struct {
		line, words string
		want        int
	}{
		{"ein Hund, der Hund.", "Hund", 2}, {"Windhund hunde hund", "hund", 1}, {"a a a", "a a", 1}, {"50% von 50 %", "50%", 1},
		{"<b>x</b>", "<b>", 1}, {"über übel", "bel", 0}, {"x", "", 0}, {"{n}{n}", "{n}", 2},
	} {
		if got := CountWords(test.line, test.words); got != test.want {
			t.Errorf("%q holds %q %d times, want %d", test.line, test.words, got, test.want)
		}
	}
}

// TestWordSpansOfOddText ends soon and stays within the words.
func TestWordSpansOfOddText(t *testing.T) {
	raw, tokens := strings.Repeat("ab ", 3000), slices.Repeat([]string{"x&yz"}, 3000)
	for _, span := range WordSpans(raw, tokens) {
		if span.First < 0 || span.Last >= 3000 || span.Last < span.First {
			t.Fatalf("the span %v", span)
		}
	}
}
