package markup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// careless translates by upper case what is not to be kept, and links words to any other.
func careless(random *rand.Rand) func(Text) Translation {
	return func(text Text) (x Translation) {
		line := []byte(strings.ToUpper(text.Line))
		for _, keep := range text.Keep {
			copy(line[keep[0]:keep[1]], text.Line[keep[0]:])
		}
		x.Text = string(line)
		n := len(strings.Fields(x.Text))
		for range n {
			x.Words = append(x.Words, []int{random.IntN(n)})
		}
		return x
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
		out := translated(document, careless(random))
		if want := strings.Replace(test.out, "#", test.kept, 1); out != want {
			t.Errorf("%s\nbecame %s\nwant   %s", document, out, want)
		}
	}
	kept := []string{"<code>ls -l</code>", "<code>ls</code>", "<b translate=no>Acme<i>s</i></b>", `<a class="notranslate">one</a>`}
	pieces := append(strings.Fields("one two three, four. ls <i> </i> <img> &amp; <img/translate=no> <u/translate=no>"),
		kept...)
	for range 3000 {
		var words []string
		for range random.IntN(12) {
			words = append(words, pieces[random.IntN(len(pieces))])
		}
		in := strings.Join(words, " ")
		out := translated(in, careless(random))
		for _, element := range kept {
			if before, after := strings.Count(in, element), strings.Count(out, element); before != after {
				t.Fatalf("%s\nbecame %s\n%s stands %d times, and stood %d times", in, out, element, after, before)
			}
		}
	}
}

// A document of nothing but what is kept has no texts.
func TestNothingToTranslate(t *testing.T) {
	const document = `<p><code>ls</code> <span translate=no>:a: <b>b</b></span></p>`
	d := Parse(document, Options{})
	if texts, out := d.Texts(), d.Translated(nil); len(texts) > 0 || out != document {
		t.Errorf("%s has the texts %v and became %s", document, texts, out)
	}
}

// TestManyNames has 40,000 elements of names of their own that are not to be translated, and that nothing ends: what
// ends a name is looked up, not searched for in the whole document, which took 38 s.
func TestManyNames(t *testing.T) {
	var b strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&b, "<a%d translate=no><p>", i)
	}
	began := fixtures.ProcessorTime()
	if out := translated(b.String(), shouting(forwards)); out != b.String() {
		t.Errorf("%d bytes became %d", b.Len(), len(out))
	}
	if took := fixtures.ProcessorTime() - began; took > 5*time.Second {
		t.Errorf("%d bytes took %v of a processor", b.Len(), took)
	}
}
