package tokenize

import "testing"

func TestNormalizeOPUS(t *testing.T) {
	for line, want := range map[string]string{
		"":                         "",
		"Plain text, as it is.":    "Plain text, as it is.",
		"「你好」。 再见！":                `"你好". 再见!`,
		"“It’s” 50％…":              `"It's" 50%...`,
		"１０ ２３":                    `"0 23`,
		" a\tb\u200b\u2060c\ufeff": "a b c",
		"soft\u00adhyphen  \u0378": "soft hyphen",
		"a\u00a0b\u3000c":          "a\u00a0b\u3000c", // no spaces of sed's
		"x。y．z":                    "x. y. z",
	} {
		if got := NormalizeOPUS(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
