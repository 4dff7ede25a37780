package tokenize

import "testing"

func TestNormalize(t *testing.T) {
	const sample = `„Hallo“ – it’s ‘x’ ( a ) 5 % … "end".`
	const spaced = "«\u00A0bonjour\u00A0» 1\u00A0000"
	for _, test := range []struct {
		language    string
		version     MosesVersion
		input, want string
	}{
		{"en", MosesCurrent, sample, `"Hallo" - it's 'x" (a) 5% ... "end."`},
		{"de", MosesCurrent, sample, `"Hallo" - it's 'x" (a) 5% ... "end".`},
		{"fr", MosesCurrent, sample, `"Hallo" - it's 'x" (a) 5% ... "end".`},
		{"de", Moses2017, sample, `"Hallo" - it's "x" (a) 5% ... "end".`},
		{"en", MosesCurrent, spaced, `"bonjour" 1.000`},
		{"de", MosesCurrent, spaced, `"bonjour" 1,000`},
		{"fr", MosesCurrent, spaced, `"bonjour" 1,000`},
		{"de", MosesCurrent, `sagte er."`, `sagte er".`}, // the line's end counts as a character
		{"de", MosesCurrent, `er."<b> er,"`, `er."<b> er",`},
		{"de", MosesCurrent, `a." ." b`, `a". ." b`}, // the second stop is used up
		{"cs", MosesCurrent, `"a". "b,"`, `"a". "b,"`},
		{"en", MosesCurrent, "1\u00A02\u00A03 4 % 5 : 6", "1.2\u00A03 4% 5: 6"},
		{"en", MosesCurrent, "a’b’c `d' e''f\r", `a'b"c 'd' e " f`},
		{"de", MosesCurrent, "5\u00A0% nº\u00A01 3\u00A0ºC 4\u00A0cm x\u00A0? ,\u00A0y", "5% nº 1 3 ºC 4 cm x? , y"},
		{"en", MosesCurrent, "(a) . ( b )c", " (a). (b) c"},
		{"en", MosesCurrent, "a—b", "a - b"},
		{"en", MosesCurrent, "plain text stays.", "plain text stays."},
		{"en", MosesCurrent, "", ""},
	} {
		if got := NewNormalizer(test.language, test.version).Normalize(test.input); got != test.want {
			t.Errorf("%s %s %q\n got %q\nwant %q", test.language, test.version, test.input, got, test.want)
		}
	}
}
