package score

import (
	"strings"
	"unicode"
)

// isSpace reports whether r is whitespace to Python's str.split: Unicode's White_Space and the four information
// separators.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F
}

// fields splits s at runs of whitespace, as Python's str.split() does.
func fields(s string) []string { return strings.FieldsFunc(s, isSpace) }

// stripRight removes trailing whitespace, as Python's str.rstrip() does.
func stripRight(s string) string { return strings.TrimRightFunc(s, isSpace) }

// lower lower-cases s with Unicode's full mapping, as Python's str.lower(): U+0130 (I with dot above) becomes two code
// points, and a capital sigma at the end of a word becomes a final sigma.
func lower(s string) string {
	if !strings.ContainsAny(s, "\u0130\u03a3") {
		return strings.ToLower(s)
	}
	runes := []rune(s)
	var b strings.Builder
	b.Grow(len(s) + 1)
	for i, r := range runes {
		switch {
		case r == 0x0130:
			b.WriteString("i\u0307")
		case r == 0x03A3 && finalSigma(runes, i):
			b.WriteRune(0x03C2)
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// finalSigma reports whether runes[i] ends a word: with a cased letter before it and none after, ignorable ones aside.
func finalSigma(runes []rune, i int) bool {
	before := i - 1
	for before >= 0 && caseIgnorable(runes[before]) {
		before--
	}
	if before < 0 || !cased(runes[before]) {
		return false
	}
	after := i + 1
	for after < len(runes) && caseIgnorable(runes[after]) {
		after++
	}
	return after == len(runes) || !cased(runes[after])
}

// cased is Unicode's derived property of that name.
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// caseIgnorable is Unicode's Case_Ignorable: marks, format characters, modifiers, punctuation within words.
func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune("':.\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a",
			r)
}
