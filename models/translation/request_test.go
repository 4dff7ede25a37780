package translation_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize"
)

func glossary(t *testing.T, made *translation.Translator, pairs ...string) *translation.Glossary {
	t.Helper()
	var terms []translation.Term
	for i := 0; i < len(pairs); i += 2 {
		terms = append(terms, translation.Term{Source: pairs[i], Target: pairs[i+1]})
	}
	g, err := made.Glossary(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func request(t *testing.T, made *translation.Translator, o decode.Options,
	r ...translation.Request) [][]translation.Translation {
	t.Helper()
	out, err := made.TranslateRequests(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRequests: each line's translations hold what it asks for, to the letter, also what the vocabulary does not have,
// with any beam and in eight bits; the line beside them, which asks for nothing, stays as it is.
func TestRequests(t *testing.T) {
	eachNetwork(t, func(t *testing.T, made *translation.Translator) {
		terms := glossary(t, made, "three", "sieben", "two", "Größe", "nine", "acht", "five", "vier zwei", "three",
			"eins")
		keep := []*regexp.Regexp{regexp.MustCompile(`\{[a-z_]+\}|</?b>`), regexp.MustCompile(`[0-9]+%`)}
		requests := []translation.Request{
			{Line: "Three and seven."},
			{Line: "Six, three, two and nine.", Terms: terms},
			{Line: "One, five and nine.", Terms: terms, Prefix: "Eins, zwei"},
			{Line: "One and {user_name}.", Keep: keep},
			{Line: "<b>Two</b>", Keep: keep},
			{Line: "Six, 50% and 50%.", Keep: keep},
			{Line: "One and six.", Prefix: "Ähem – „Nun“"},
			{Line: "", Prefix: "Drei"},
		}
		want := [][]string{
			nil, {"sieben", "Größe", "acht", "eins"}, {"vier zwei", "acht"}, {"{user_name}"}, {"<b>", "</b>"}, {"50%"},
			{"Ähem – „Nun“"}, {"Drei"},
		}
		for _, beam := range []int{1, 3, 7} {
			for _, int8 := range []bool{false, true} {
				o := made.Settings.Decode
				o.Beam, o.NBest, o.Int8, o.Alignment = beam, min(beam, 2), int8, beam == 3
				out := request(t, made, o, requests...)
				if plain := translate(t, made, []string{requests[0].Line}, o); !cmp.Equal(out[0][0], plain[0], closely) {
					t.Errorf("a line without demands is %+v, alone %+v", out[0][0], plain[0])
				}
				for i, list := range out {
					for _, x := range list {
						if x.Err != nil || !strings.HasPrefix(x.Text, requests[i].Prefix) {
							t.Errorf("beam %d: line %d is %q (%v)", beam, i, x.Text, x.Err)
						}
						for _, words := range want[i] {
							if n := tokenize.CountWords(x.Text, words); n < 1 || words == "50%" && n < 2 {
								t.Errorf("beam %d: %q does not hold %q", beam, x.Text, words)
							}
						}
					}
				}
			}
		}
	})
}

// TestRequestsThatCannotBe have errors of their own.
func TestRequestsThatCannotBe(t *testing.T) {
	made := openDigits(t)
	long := strings.Repeat("eins ", 30)
	out := request(t, made, decode.Options{}, translation.Request{Line: "One and two.", Prefix: long},
		translation.Request{Line: "One and two.", Prefix: "\xff"}, translation.Request{Line: "One and two."})
	for i, says := range []string{"a translation of it has", "UTF-8"} {
		if out[i][0].Err == nil || !strings.Contains(out[i][0].Err.Error(), says) {
			t.Errorf("request %d: %v", i, out[i][0].Err)
		}
	}
	if out[2][0].Err != nil || out[2][0].Text == "" {
		t.Errorf("the request beside them: %+v", out[2][0])
	}
	for _, term := range []translation.Term{{Source: " ", Target: "x"}, {Source: "x", Target: ""}} {
		_, err := made.Glossary(t.Context(), []translation.Term{{Source: "one", Target: "eins"}, term})
		var bad *translation.TermError
		if !errors.As(err, &bad) || bad.Term != 1 {
			t.Errorf("%q: %v", term, err)
		}
	}
}

// TestDetails: words are those of the text, their probabilities make the line's, and what was learnt word by word is
// linked so.
func TestDetails(t *testing.T) {
	eachNetwork(t, func(t *testing.T, made *translation.Translator) {
		o := made.Settings.Decode
		o.Words, o.Links = true, true
		source, _ := numbers(9, 50, 10)
		right, all := 0, 0
		for i, list := range request(t, made, o, asRequests(source)...) {
			x := list[0]
			var words []string
			for _, word := range x.Details.Words {
				words = append(words, word.Text)
				if !(word.Confidence > 0 && word.Confidence <= 1) || len(word.Source) != 1 ||
					word.Source[0] >= len(strings.Fields(source[i])) {
					t.Errorf("%q: the word %+v", x.Text, word)
				}
			}
			if !slices.Equal(words, strings.Fields(x.Text)) ||
				!(x.Details.Confidence > 0 && x.Details.Confidence <= 1) {
				t.Errorf("%q has the words %q", x.Text, words)
			}
			for j, word := range x.Details.Words {
				if all++; word.Source[0] == j {
					right++
				}
			}
		}
		if 4*right < 3*all {
			t.Errorf("%d of %d words are linked to the word of the same place", right, all)
		}
		if plain := translate(t, made, source, made.Settings.Decode); plain[0].Details != nil {
			t.Error("details that nobody asked for")
		}
	})
}

func asRequests(lines []string) (out []translation.Request) {
	for _, line := range lines {
		out = append(out, translation.Request{Line: line})
	}
	return out
}

// TestConfidence is the product of its symbols' probabilities: with a word a line, that of the line but for its end.
func TestConfidence(t *testing.T) {
	made := openDigits(t)
	o := made.Settings.Decode
	o.Words, o.Lenpen = true, 0
	x := request(t, made, o, translation.Request{Line: "One and six."})[0][0]
	product := 1.0
	for _, word := range x.Details.Words {
		product *= word.Confidence
	}
	scored, err := made.Force(t.Context(), []string{"One and six."}, []string{x.Text}, o)
	if err != nil {
		t.Fatal(err)
	}
	symbols := scored[0].TokenLogProbs
	want := math.Exp(scored[0].LogProb - symbols[len(symbols)-1])
	if math.Abs(product-want) > 1e-4 || math.Abs(x.Details.Confidence-math.Exp(x.Score/float64(len(symbols)))) > 1e-6 {
		t.Errorf("%s: the words have %v together, want %v; the line %v", fmt.Sprint(x.Text), product, want,
			x.Details.Confidence)
	}
}
