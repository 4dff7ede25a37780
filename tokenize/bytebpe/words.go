package bytebpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is what GPT-2's pattern tells characters apart by.
type class uint8

const (
	letter class = iota
	number
	blank
	other
	end
)

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.In(r, unicode.N):
		return number
	case unicode.IsSpace(r):
		return blank
	}
	return other
}

// next is the class and the length of the character that begins a text.
func next(text []byte) (class, int) {
	if len(text) == 0 {
		return end, 0
	}
	r, size := utf8.DecodeRune(text)
	return classOf(r), size
}

// run is the length of the characters of a class that begin a text.
func run(text []byte, c class) int {
	n := 0
	for {
		is, size := next(text[n:])
		if is != c {
			return n
		}
		n += size
	}
}

// firstWord is the length of the first word of a text, which is not empty, by GPT-2's pattern:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func firstWord(text []byte) int {
	if text[0] == '\'' {
		for _, ending := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
			if strings.HasPrefix(string(text[1:min(3, len(text))]), ending) {
				return 1 + len(ending)
			}
		}
	}
	lead := 0
	if text[0] == ' ' {
		lead = 1
	}
	if c, _ := next(text[lead:]); c != blank && c != end {
		return lead + run(text[lead:], c)
	}
	// White space leaves its last character to the word behind it, unless that is all there is.
	n := run(text, blank)
	if n == len(text) {
		return n
	}
	if _, last := utf8.DecodeLastRune(text[:n]); last < n {
		return n - last
	}
	return n
}
