package tokenize

import "testing"

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
