package tokenize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

func newMoses(t testing.TB, options MosesOptions) *Moses {
	t.Helper()
	m, err := NewMoses(options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMosesTokenize(t *testing.T) {
	const sample = `Hello, world! It's a test... "quoted" (really) e.g. this: 5,300 and 3.14, A,B,C; Mr. Smith's dog's 1990's.`
	const symbols = `U.S. troops vs. Dr. No. 5 said 'hi'. Well-known re-do don't. 50% of $10 & <tag> [x] | y`
	const french = `l'homme qu'il n'est pas aujourd'hui ; « bonjour » !`
	plain := func(language string) MosesOptions { return MosesOptions{Language: language} }
	raw := func(language string) MosesOptions {
		return MosesOptions{Language: language, Aggressive: true, NoEscape: true}
	}
	old := func(language string) MosesOptions { return MosesOptions{Language: language, Version: Moses2017} }
	for _, test := range []struct {
		options     MosesOptions
		input, want string
	}{
		{plain(""), sample, `Hello , world ! It &apos;s a test ... &quot; quoted &quot; ( really ) e.g. this : 5,300 and 3.14 , A , B , C ; Mr. Smith &apos;s dog &apos;s 1990 &apos;s .`},
		{plain("de"), sample, `Hello , world ! It &apos; s a test ... &quot; quoted &quot; ( really ) e.g. this : 5,300 and 3.14 , A , B , C ; Mr. Smith &apos; s dog &apos; s 1990 &apos; s .`},
		{plain("fr"), sample, `Hello , world ! It&apos; s a test ... &quot; quoted &quot; ( really ) e.g. this : 5,300 and 3.14 , A , B , C ; Mr . Smith&apos; s dog&apos; s 1990 &apos; s .`},
		{raw("en"), symbols, `U.S. troops vs. Dr. No. 5 said ' hi ' . Well @-@ known re @-@ do don 't . 50 % of $ 10 & < tag > [ x ] | y`},
		{raw("de"), symbols, `U.S. troops vs. Dr. No. 5 said ' hi ' . Well @-@ known re @-@ do don ' t. 50 % of $ 10 & < tag > [ x ] | y`},
		{plain("en"), "He said ..Yes.. and left etc. Then he went.", "He said .. Yes .. and left etc . Then he went ."},
		{plain("de"), "He said ..Yes.. and left etc. Then he went.", "He said .. Yes .. and left etc. Then he went ."},
		{plain("fr"), "He said ..Yes.. and left etc. Then he went.", "He said .. Yes .. and left etc. Then he went ."},
		{plain("de"), "test. , 5,000,000 1,2 ,5 a,5 5,a", "test . , 5,000,000 1,2 , 5 a , 5 5 , a"},
		{plain("de"), "Das ist z.B. der 3. Oktober, d.h. heute.", "Das ist z.B. der 3. Oktober , d.h. heute ."},
		{plain("en"), "Das ist z.B. der 3. Oktober, d.h. heute.", "Das ist z.B. der 3 . Oktober , d.h. heute ."},
		{plain("fr"), french, "l&apos; homme qu&apos; il n&apos; est pas aujourd&apos; hui ; « bonjour » !"},

		{plain("en"), "No. 5 and No. Five, pp. 3", "No. 5 and No . Five , pp. 3"},
		{plain("en"), "No. No. 5 Rs. Ten", "No . No. 5 Rs. Ten"},
		{old("en"), "Rs. Ten", "Rs . Ten"},
		{plain("de"), "linie a.", "linie a ."}, // the last word always loses its stop
		{old("de"), "linie a.", "linie a."},
		{plain("en"), "he said 'yes.'", "he said &apos; yes . &apos; "}, // Moses's space at the end
		{plain("de"), "er sagte 'ja.'", "er sagte &apos; ja . &apos;"},
		{plain("en"), "x'y'z", "x &apos;y&apos;z"}, // both touch the y: the second is not seen
		{plain("de"), "a²b ½ Ⅰ e\u0301a \u00ADx", "a ² b ½ Ⅰ e \u0301 a \u00AD x"},
		{plain("en"), "a,,b ,,5 5,,5 5,,,5", "a , , b , ,5 5 , , 5 5 , , ,5"},
		{raw("en"), "a-b-c 1-2 -x- ü-ß", "a @-@ b @-@ c 1 @-@ 2 -x- ü @-@ ß"},
		{plain("it"), "l'uomo", "l&apos; uomo"},
		{plain("en"), "\tA\u00A0\u2028b \x01c\r", "A b c"},
		{plain("en"), "", ""},
		{plain("en"), " \t ", " \t "},
		{plain("en"), "\x01", ""},
		{plain("en"), "a\xFFb", "a \uFFFD b"},
		{plain("en"), "DOTMULTI THISISPROTECTED000 ...", "DOTMULTI THISISPROTECTED000 ..."},
	} {
		if got := newMoses(t, test.options).Tokenize(test.input); got != test.want {
			t.Errorf("%+v %q\n got %q\nwant %q", test.options, test.input, got, test.want)
		}
	}
}

func TestMosesProtected(t *testing.T) {
	for _, test := range []struct {
		patterns    []string
		input, want string
	}{
		{[]string{`http://\S+`}, "see http://a.b/c?d=e, it's fine", "see http://a.b/c?d=e, it 's fine"},
		{[]string{`http://[^ ,]+`}, "see http://a.b/c?d=e, it's fine", "see http://a.b/c?d=e , it 's fine"},
		{[]string{`\w+@\w+\.\w+`}, "schön.mail: jürgen@müller.de!", "schön.mail : jürgen@müller.de !"},
		{[]string{`[\w']+`}, "don't (won't)", "don't ( won't )"},
		{[]string{`<[^>]*>`, `\[\d\]`}, "<a b> x[1] <a b>", "<a b> x [1] <a b>"},
		{[]string{`[[:digit:]\w]+-[]\D]+`}, "ä-] x.5-y", "ä-] x. 5-y "}, // the second match holds the space at the end
		{[]string{`[[:alpha:]]+\.x`, `[[:digit:],]+`, `[[:punct:]]{2}`}, "Grüße.x ١,٢ «» हिं.x", "Grüße.x ١,٢ «» हिं.x"},
		{[]string{`\d+`}, "a1b 0 12", "a 1 b 0 1 2"}, // every occurrence of a piece, wherever it was found
	} {
		m := newMoses(t, MosesOptions{NoEscape: true, Protected: test.patterns})
		if got := m.Tokenize(test.input); got != test.want {
			t.Errorf("%q %q\n got %q\nwant %q", test.patterns, test.input, got, test.want)
		}
	}
	for pattern, part := range map[string]string{
		`a*`: "empty string", `(?<=a)b`: "look-around", `(a`: "cannot be used", `[\W]`: "brackets",
		`\bx`: "ASCII words", `[[:^alpha:]]`: "[:^alpha:] is not supported", `[[:graph:]]`: "write out the characters",
	} {
		if _, err := NewMoses(MosesOptions{Protected: []string{pattern}}); err == nil ||
			!strings.Contains(err.Error(), part) ||
			!strings.Contains(err.Error(), "protected pattern") {
			t.Errorf("the pattern %q gave the error %v; want one that speaks of %q", pattern, err, part)
		}
	}
}

// Multi30k's tokenised training files were made with the scripts of 2017.
func TestMosesMulti30k(t *testing.T) {
	for language, want := range map[string]string{"de": "cb5a23529b65ec20", "en": "08925f8e0572bcd5"} {
		text, err := os.ReadFile(fixtures.Path(t, "multi30k/train."+language))
		if err != nil {
			t.Fatal(err)
		}
		normalizer := NewNormalizer(language, Moses2017)
		moses := newMoses(t, MosesOptions{Language: language, Version: Moses2017})
		hash := sha256.New()
		for line := range bytes.Lines(text) {
			line, _ := bytes.CutSuffix(line, []byte("\n"))
			tokens := moses.Tokenize(normalizer.Normalize(Lowercase(string(line))))
			hash.Write([]byte(tokens + "\n"))
		}
		if got := hex.EncodeToString(hash.Sum(nil))[:16]; got != want {
			t.Errorf("tokenised train.%s has the sha256 %s..., want %s...", language, got, want)
		}
	}
}

func TestMosesConcurrent(t *testing.T) {
	moses := newMoses(t, MosesOptions{Protected: []string{`x\.\w`}})
	normalizer, detokenizer := NewNormalizer("en", MosesCurrent), NewDetokenizer("en")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				tokens := moses.Tokenize(normalizer.Normalize(`„It’s”  x.y`))
				if want := "&quot; It &apos;s &quot; x.y"; tokens != want {
					t.Errorf("got %q, want %q", tokens, want)
				}
				if text, want := detokenizer.Detokenize(tokens), `"It's" x.y`; text != want {
					t.Errorf("got %q, want %q", text, want)
				}
			}
		})
	}
	group.Wait()
}

func TestCaveat(t *testing.T) {
	for language, want := range map[string]string{"en": "", "de": "", "fr": "",
		"it": `no abbreviations are known for language "it": the English ones are used`} {
		if got := newMoses(t, MosesOptions{Language: language}).Caveat(); got != want {
			t.Errorf("of %s it says %q, want %q", language, got, want)
		}
	}
}

func BenchmarkMoses(b *testing.B) {
	m := newMoses(b, MosesOptions{Language: "de"})
	const line = "Zwei junge weiße Männer sind im Freien, in der Nähe vieler Büsche."
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		m.Tokenize(line)
	}
}

// TestProtectedSpaces: a pattern that matches spaces protects nothing, however long the line.
func TestProtectedSpaces(t *testing.T) {
	line := strings.Repeat("a, b ", 200)
	plain, err := NewMoses(MosesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMoses(MosesOptions{Protected: []string{` `, ` +`}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Tokenize(line), plain.Tokenize(line); got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
