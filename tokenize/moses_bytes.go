package tokenize

import (
	"unicode/utf8"
)

// entities are the escapes of Moses, by character.
var entities = [256]string{
	'&': "&amp;", '|': "&#124;", '<': "&lt;", '>': "&gt;",
	'\'': "&apos;", '"': "&quot;", '[': "&#91;", ']': "&#93;",
}

// byteClass says what split does at a byte of squeezed text.
type byteClass uint8

const (
	symbolByte     byteClass = iota // an ASCII character that is a token of its own
	letterByte                      // an ASCII letter or digit, or `, which stays in words
	spaceByte                       // the only whitespace of squeezed text
	stopByte                        // .
	hyphenByte                      // -
	commaByte                       // ,
	apostropheByte                  // '
	wideByte                        // the start of a longer UTF-8 sequence
	pieceByte                       // the start of a protected piece
)

// byteClasses is the classification of all bytes.
var byteClasses = func() (t [256]byteClass) {
	for b := range t {
		switch {
		case '0' <= b && b <= '9', 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', b == '`':
			t[b] = letterByte
		case b == pieceMark:
			t[b] = pieceByte
		case b >= utf8.RuneSelf:
			t[b] = wideByte
		}
	}
	t[' '], t['.'], t['-'], t[','], t['\''] = spaceByte, stopByte, hyphenByte, commaByte, apostropheByte
	return t
}()
