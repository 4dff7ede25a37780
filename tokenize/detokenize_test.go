package tokenize

import (
	"strings"
	"testing"
)

func TestDetokenize(t *testing.T) {
	for _, test := range []struct{ language, input, want string }{
		{"de", "It &apos; s Smith &apos; s", "It 's Smith' s"}, // German has no rule: quotes open and close in turn
		{"en", "Smith &apos;s dog", "Smith's dog"},
		{"en", "the Joneses &apos; house", "the Joneses' house"},
		{"en", "He said .. Yes .. and", "He said.. Yes.. and"},
		{"en", "1,2 , 5", "1,2, 5"},
		{"en", "&quot; Well @-@ known &quot; ( 5 $ ) !", `"Well-known" (5 $)!`},
		{"en", "a @-@ @-@ b", "a-@-@ b"}, // the space between is used up
		{"fr", "l&apos; homme dit : « oui » ! 5 %", "l'homme dit : « oui » ! 5 %"},
		{"it", "l&apos; uomo", "l'uomo"},
		{"en", "&amp;lt; &#124; &bar; &#91; &ket; &lt;", "&lt; | | [] <"},
		{"en", "&amp", "&amp"},
		{"zh", "中文 字 a 日", "中文字 a 日"},
		{"ko", "한국 어", "한국 어"},
		{"en", "<seg id=1> x </seg>", "<seg id=1> x </seg>"},
		{"en", " \t", " \t"},
		{"en", "", ""},
		{"en", "a  \"  b \"", `a " b"`}, // an empty word between two spaces cuts the quote loose
	} {
		if got := NewDetokenizer(test.language).Detokenize(test.input); got != test.want {
			t.Errorf("%s %q\n got %q\nwant %q", test.language, test.input, got, test.want)
		}
	}
	if !NewDetokenizer("fr").OwnRules() || NewDetokenizer("de").OwnRules() {
		t.Error("French has rules of its own, German has none")
	}
}

// TestStandIn: a line with a stand-in, the text put in its place afterwards, has the spaces that it has with the text.
func TestStandIn(t *testing.T) {
	for _, text := range []string{"anna", "2nd", "l2", "x-", "(x)", "日本", "한국", "é", "Joneses"} {
		for _, test := range []struct{ language, input string }{
			{"en", "_ &apos;s dog"}, {"en", "the _ &apos; house &apos; _ &apos; ."},
			{"en", "the _ , _ and &quot; _ &quot; ."}, {"fr", "l&apos; _ : _ !"}, {"it", "l&apos; _"},
			{"de", "_ &apos;s"}, {"zh", "中文 _ 字 _ a"}, {"ko", "한국 _ 어"},
		} {
			d := NewDetokenizer(test.language)
			want := d.Detokenize(strings.ReplaceAll(test.input, "_", text))
			parts := strings.Split(test.input, "_")
			line, put := parts[0], []string{}
			for i, part := range parts[1:] {
				in := StandIn(text, rune(i))
				line, put = line+in+part, append(put, in, text)
			}
			if got := strings.NewReplacer(put...).Replace(d.Detokenize(line)); got != want {
				t.Errorf("%s %q with %q: %q, want %q", test.language, test.input, text, got, want)
			}
		}
	}
}
