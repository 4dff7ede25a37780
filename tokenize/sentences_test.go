package tokenize

import (
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// TestSentences: the border | of sentences stands where a reader would put it; joined, they are the text.
func TestSentences(t *testing.T) {
	for language, texts := range map[string][]string{
		"en": {
			"One. |Two! |Three? |Four",
			"It cost $3.50. |Mr. Smith, of No. 10 Downing St. Mary's, paid. |He left.",
			`He said "Go away." |Then he went (to Rome.) |"Why?" |He knew...   |Nobody else did.`,
			"See www.example.com/a.b now. |The U.S. Army and J. Doe (e.g. Jane) agree.",
			"Really?! |Yes!!! |1 of them. |– A dash. |¿Qué? and no capital. but this goes on.",
			"No stop at all",
			"  indented. |Two.  ",
			"Trailing space. ",
			"",
			"   ",
			"...",
			"A.",
			"Wait… |What?",
			"in No. 5 and with No. |That was it.",
		},
		"de": {"Am 3. Mai kam z.B. Dr. Müller bzw. sein Bruder. |Danach nichts. |„Gut.“ |Ende."},
		"fr": {"M. Dupont est là. |« Oui ! » |Il part."},
		"zh": {"你好。|我很好！|再见？|好"},
		"ja": {"「はい。」|そうです。|"},
	} {
		splitter := NewSentenceSplitter(language)
		for _, marked := range texts {
			text := strings.ReplaceAll(marked, "|", "")
			sentences := splitter.Split(text)
			var joined, border strings.Builder
			for i, s := range sentences {
				if i > 0 && sentences[i-1].Text != "" {
					border.WriteString("|")
				}
				border.WriteString(s.Text + s.Gap)
				joined.WriteString(s.Text + s.Gap)
				if strings.TrimFunc(s.Text, unicode.IsSpace) != s.Text || strings.TrimFunc(s.Gap, unicode.IsSpace) != "" {
					t.Errorf("%q has the sentence %q and the gap %q", text, s.Text, s.Gap)
				}
			}
			if want := strings.TrimSuffix(marked, "|"); border.String() != want || joined.String() != text {
				t.Errorf("%s: %q, want %q", language, border.String(), want)
			}
		}
	}
}

func TestHalve(t *testing.T) {
	for text, want := range map[string][]Sentence{
		"one two, three four":          {{"one two,", " "}, {"three four", ""}},
		"one, two three four five six": {{"one, two three", " "}, {"four five six", ""}},
		"a; b":                         {{"a;", " "}, {"b", ""}},
		"unbroken":                     {{"unbroken", ""}},
		"":                             nil,
		"left, " + strings.Repeat("r ", 3) + "end": {{"left,", " "}, {"r r r end", ""}},
	} {
		if diff := cmp.Diff(want, Halve(text)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

func FuzzSentences(f *testing.F) {
	for _, text := range []string{"One. Two.", "\xff. A", "。。", " . . ", "„Gut.“ Ende"} {
		f.Add(text)
	}
	splitter := NewSentenceSplitter("de")
	f.Fuzz(func(t *testing.T, text string) {
		for _, sentences := range [][]Sentence{splitter.Split(text), Halve(text)} {
			joined := ""
			for _, s := range sentences {
				joined += s.Text + s.Gap
			}
			if joined != text {
				t.Errorf("%q was cut to %q", text, sentences)
			}
		}
	})
}
