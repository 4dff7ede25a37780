package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/translation"
)

// careless translates by upper case what is not to be kept, and links words to any other.
func careless(random *rand.Rand) func([]translation.Request) ([][]translation.Translation, error) {
	return func(requests []translation.Request) (out [][]translation.Translation, err error) {
		for _, r := range requests {
			text := []byte(strings.ToUpper(r.Line))
			for _, keep := range r.Keep {
				for _, at := range keep.FindAllStringIndex(r.Line, -1) {
					copy(text[at[0]:at[1]], r.Line[at[0]:])
				}
			}
			x := translation.Translation{Text: string(text), Details: &translation.Details{}}
			words := strings.Fields(x.Text)
			for _, word := range words {
				x.Details.Words = append(x.Details.Words, translation.Word{Text: word, Source: []int{random.IntN(len(words))}})
			}
			out = append(out, []translation.Translation{x})
		}
		return out, nil
	}
}

// TestKeptElements: what is not to be translated stays to the letter and in its element, and its tags stay with it,
// whatever the model links. The first two are what Mastodon writes.
func TestKeptElements(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	for _, test := range []struct{ before, kept, after, out string }{
		{"see ", `<a href="u" translate="no"><span class="invisible">https://www.</span><span class="ellipsis">example.org/a` +
			`</span><span class="invisible">/b</span></a>`, " now", "SEE # NOW"},
		{"", `<span class="h-card" translate="no"><a href="u" class="u-url mention">@<span>bob</span></a></span>`,
			" two dogs run.", "# TWO DOGS RUN."},
		{"a man ", "<code>foo()</code>", " runs.", "A MAN # RUNS."},
		{"a man runs ", "<code>foo()</code>", ".", "A MAN RUNS #."},
		{"a man runs ", "<code> foo &amp; bar  baz </code>", "s.", "A MAN RUNS  # S."},
		{"", "<code>a<b>b</b></code>", " a dog.", "# A DOG."},
		{"in his inn ", "<code>i</code>", " iii", "IN HIS INN # III"},
		{"", `<span translate="no">:blob:</span>`, "", "#"},
		{"grün ", `<i class=notranslate>über</i>`, " alles", "GRÜN # ALLES"},
	} {
		document := test.before + test.kept + test.after
		out, err := translateHTML(task{texts: []string{document}}, careless(random))
		if want := strings.Replace(test.out, "#", test.kept, 1); err != nil || out[0][0].Text != want {
			t.Errorf("%s\nbecame %v\nwant   %s (%v)", document, out, want, err)
		}
	}
	kept := []string{"<code>ls -l</code>", "<code>ls</code>", "<b translate=no>Acme<i>s</i></b>", `<a class="notranslate">one</a>`}
	pieces := append(strings.Fields("one two three, four. ls <i> </i> <img> &amp;"), kept...)
	for range 3000 {
		var words []string
		for range random.IntN(12) {
			words = append(words, pieces[random.IntN(len(pieces))])
		}
		in := strings.Join(words, " ")
		out, err := translateHTML(task{texts: []string{in}}, careless(random))
		if err != nil {
			t.Fatal(err)
		}
		for _, element := range kept {
			if before, after := strings.Count(in, element), strings.Count(out[0][0].Text, element); before != after {
				t.Fatalf("%s\nbecame %s\n%s stands %d times, and stood %d times", in, out[0][0].Text, element, after, before)
			}
		}
	}
}

// A text of nothing but what is kept is not sent to a model.
func TestNothingToTranslate(t *testing.T) {
	const document = `<p><code>ls</code> <span translate=no>:a: <b>b</b></span></p>`
	out, err := translateHTML(task{texts: []string{document}}, func(r []translation.Request) ([][]translation.Translation, error) {
		if len(r) > 0 {
			t.Errorf("%q is sent", r[0].Line)
		}
		return nil, nil
	})
	if err != nil || out[0][0].Text != document {
		t.Errorf("%s became %v (%v)", document, out, err)
	}
}
