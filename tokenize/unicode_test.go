package tokenize

import "testing"

func TestClasses(t *testing.T) {
	const letter = alphabetic | alphanumeric
	for r, want := range map[rune]charClass{
		'a': letter | lowercase | cased, 'Z': letter | cased, '5': alphanumeric | number, '_': 0, '·': 0,
		'ª': letter | lowercase, '²': number, '½': number, 'Ⅰ': letter | number, 'Ⓐ': letter, 'ǅ': letter | cased,
		'€': currency, '\u0301': 0, '\u200B': nonPrinting, '\u00AD': nonPrinting, '\uE000': nonPrinting,
		'\uFFFF': nonPrinting,
		'\u00A0': whitespace, '\v': whitespace | nonPrinting, '\u0085': whitespace | nonPrinting, '\u3000': whitespace,
		'中': letter, 0x20000: letter, 0xE0001: nonPrinting, 0x10FFFF: nonPrinting, 0x1D7D8: alphanumeric | number,
	} {
		if got := classes().of(r); got != want {
			t.Errorf("%U has the classes %08b, want %08b", r, got, want)
		}
	}
}

// The table and the search agree at the border between them.
func TestSearchClasses(t *testing.T) {
	for r := rune(0); r < tabulated; r += 7 {
		if got, want := searchClasses(r), classes().of(r); got != want {
			t.Fatalf("%U: searched %08b, tabulated %08b", r, got, want)
		}
	}
}

func TestLowercase(t *testing.T) {
	for input, want := range map[string]string{
		"ÄÖÜ ẞ ΣΑΣ İI": "äöü ß σασ i\u0307i", "Ⅰ Ⓐ ǅ": "ⅰ ⓐ ǆ", "": "",
	} {
		if got := Lowercase(input); got != want {
			t.Errorf("%q: got %q, want %q", input, got, want)
		}
	}
}

func TestRemoveNonPrinting(t *testing.T) {
	if got, want := RemoveNonPrinting("a\tb\u200Bc\u00ADd\uE000e é\u00A0"), "a b c d e é\u00A0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
