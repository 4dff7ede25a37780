package tokenize

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGlossariesIsolate(t *testing.T) {
	names := []string{"like", "Manuel", "USA"}
	tags := []string{`<country>\w*</country>`, `<name>\w*</name>`, `\d+`}
	for _, c := range []struct {
		glossaries []string
		word       string
		want       []string
	}{
		{names, "word", []string{"word"}},
		{names, "like", []string{"like"}},
		{names, "likeword", []string{"like", "word"}},
		{names, "wordlikeword", []string{"word", "like", "word"}},
		{names, "likelike", []string{"like", "like"}},
		{names, "wordlikeUSAwordManuelManuelwordUSA",
			[]string{"word", "like", "USA", "word", "Manuel", "Manuel", "word", "USA"}},
		{tags, "in<country>Österreich</country>10001x<name>Zoë</name>",
			[]string{"in", "<country>Österreich</country>", "10001", "x", "<name>Zoë</name>"}},
		{[]string{"USA", "U"}, "xUSA", []string{"x", "U", "SA"}},
		{[]string{`\d*`}, "ab12c", []string{"a", "b", "12", "c"}},
		{[]string{`(USA|UK)`}, "1934USAx", []string{"1934", "USA", "x"}},
		// The anchors bind tighter than |: every word that starts with a stays.
		{[]string{"a|b"}, "axb", []string{"axb"}},
		{[]string{"a|b"}, "xab", []string{"x", "a", "b"}},
	} {
		var glossaries []glossary
		for _, pattern := range c.glossaries {
			g, err := newGlossary(pattern)
			if err != nil {
				t.Fatal(err)
			}
			glossaries = append(glossaries, g)
		}
		if diff := cmp.Diff(c.want, isolate(glossaries, c.word)); diff != "" {
			t.Errorf("glossaries %q, word %q (-want +got):\n%s", c.glossaries, c.word, diff)
		}
	}
}

// Classes hold what they hold in Python: more than ASCII.
func TestGlossariesReadPythonPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, matches, fails string
	}{
		{`\d+`, "1٢३", "²"},
		{`\D`, "²", "٢"},
		{`[\d.]+`, "٢.3", "a"},
		{`\w+`, "Ö_٢ж中", "a-b"},
		{`[\w-]+`, "Ö-b", "a b"},
		{`\W`, "€", "é"},
		{`\s`, "\u00a0", "\u200b"},
		{`a[\s]b`, "a\u3000b", "a_b"},
		{`\S+`, "a€\u200b", "\u2009"},
		{`[\S]`, "\u200b", "\x1c"},
		{`[[:al]+`, "[:la", "b"},
		{`[]a]+`, "]a", "b"},
		{`[^]a]+`, "bc", "]"},
		{`\u00e9\U0001f600`, "é😀", "e"},
		{`\é`, "é", "e"},
		{`ab\Z`, "ab", "abc"},
		{`a{,2}`, "aa", "aaa"},
		{`{,x`, "{,x", "x"},
		{`\[\x41\.\\`, `[A.\`, `[AB\`},
		{`(?:ab)+?`, "abab", "a"},
	} {
		g, err := newGlossary(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if !g.whole.MatchString(c.matches) {
			t.Errorf("%s does not match %q", c.pattern, c.matches)
		}
		if g.whole.MatchString(c.fails) {
			t.Errorf("%s matches %q", c.pattern, c.fails)
		}
	}
}

func TestGlossariesRefuse(t *testing.T) {
	for pattern, want := range map[string]string{
		`\bUSA`:     `glossary "\\bUSA": \b is not supported; a glossary sees one word at a time`,
		`a\B`:       `\B is not supported`,
		`[\W_]`:     `\W inside brackets is not supported`,
		`(?<=a)b`:   "look-around and back-references are not supported",
		`(a)\1`:     "look-around and back-references are not supported",
		`a\`:        "ends in a lone backslash",
		`\u12`:      `\u should be followed by 4 hexadecimal digits`,
		`(unclosed`: `glossary "(unclosed" is not a regular expression`,
	} {
		if _, err := newGlossary(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
