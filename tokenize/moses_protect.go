package tokenize

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieceMark stands for a protected piece in squeezed text, before three bytes of its number. No UTF-8 sequence holds
// it.
const pieceMark = 0xFF

// pieceSize is the length of a piece's stand-in.
const pieceSize = 4

// appendPiece appends the stand-in of piece number index.
func appendPiece(dst []byte, index int) []byte {
	return append(dst, pieceMark, 0x80|byte(index>>12)&0x3F, 0x80|byte(index>>6)&0x3F, 0x80|byte(index)&0x3F)
}

// pieceIndex reads the stand-in that text starts with.
func pieceIndex(text string) (index, size int) {
	return int(text[1]&0x3F)<<12 | int(text[2]&0x3F)<<6 | int(text[3]&0x3F), pieceSize
}

// maxPieces is how many pieces of a line can be told apart; later ones are tokenized like other text.
const maxPieces = 1 << 18

// compileProtected reads a pattern as Moses writes it: \w, \d and \s are Perl's Unicode classes. Look-around,
// backreferences and \b are refused.
func compileProtected(pattern string) (*regexp.Regexp, error) {
	translated, err := goPattern(pattern, false, perlEscape)
	var expression *regexp.Regexp
	if err == nil {
		expression, err = regexp.Compile(translated)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the protected pattern %.80q cannot be used (look-around, backreferences and \\b are not "+
			"supported): %w", pattern, syntaxError(err))
	case expression.MatchString(""):
		return nil, fmt.Errorf("the protected pattern %.80q matches the empty string: make it match at least one "+
			"character", pattern)
	}
	return expression, nil
}

// unicodeClass gives the inside of a bracket expression for Perl's classes.
var unicodeClass = map[byte]string{
	'w': `\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}` +
		`\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`,
	'd': `\p{Nd}`,
	's': `\p{Z}\t\n\v\f\r\x{85}`,
}

// perlClass gives the inside of a bracket expression for the named classes of Perl, [:alpha:] and so on, which in Go know
// ASCII only.
var perlClass = map[string]string{
	"alpha": alphabeticClass, "alnum": alphabeticClass + `\p{Nd}`, "digit": unicodeClass['d'], "word": unicodeClass['w'],
	"space": unicodeClass['s'], "blank": `\p{Zs}\t`, "cntrl": `\p{Cc}`, "ascii": `\x00-\x7F`,
	"upper": `\p{Lu}` + rangesOf(unicode.Other_Uppercase), "lower": `\p{Ll}` + rangesOf(unicode.Other_Lowercase),
	"punct": `\p{P}$+<=>\^\x60|~`, "xdigit": `0-9A-Fa-f\x{FF10}-\x{FF19}\x{FF21}-\x{FF26}\x{FF41}-\x{FF46}`,
}

var alphabeticClass = `\p{L}\p{Nl}` + rangesOf(unicode.Other_Alphabetic)

// rangesOf is a table of characters as the inside of a bracket expression.
func rangesOf(table *unicode.RangeTable) string {
	var out strings.Builder
	add := func(from, to, stride uint32) {
		if stride == 1 {
			fmt.Fprintf(&out, `\x{%X}-\x{%X}`, from, to)
			return
		}
		for r := from; r <= to; r += stride {
			fmt.Fprintf(&out, `\x{%X}`, r)
		}
	}
	for _, r := range table.R16 {
		add(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
	}
	for _, r := range table.R32 {
		add(r.Lo, r.Hi, r.Stride)
	}
	return out.String()
}

// perlEscape gives \w, \d, \s and their complements the Unicode classes that they are in Perl.
func perlEscape(rest string, inClass bool) (translated string, used int, err error) {
	name := rest[0]
	inside, positive := unicodeClass[name]
	complement, negative := unicodeClass[name|0x20]
	switch {
	case positive && inClass:
		return inside, 1, nil
	case positive:
		return "[" + inside + "]", 1, nil
	case (name == 'b' || name == 'B') && !inClass:
		return "", 0, fmt.Errorf(`\%c would see ASCII words only: write out the characters beside the match`, name)
	case !negative:
		return `\` + rest[:1], 1, nil
	case !inClass:
		return "[^" + complement + "]", 1, nil
	case name == 'D':
		return `\P{Nd}`, 1, nil
	}
	return "", 0, fmt.Errorf(`\%c inside brackets: write out the characters instead`, name)
}

// protect returns the line squeezed, with stand-ins for the pieces that patterns match, and those pieces. Patterns see
// the line with a space at each end; what is nothing but spaces stays. Every occurrence of a piece is protected,
// wherever its pattern matched.
func (m *Moses) protect(line string, s *mosesScratch) (string, []string) {
	padded := m.padded(line)
	var pieces []string
	for _, pattern := range m.patterns {
		for rest := padded; ; {
			at := pattern.FindStringIndex(rest)
			if at == nil || at[0] == at[1] {
				break
			}
			// Spaces are no token. Moses puts a space on each side of what it takes out, so that another piece of spaces
			// finds twice as many: its time and memory double with each.
			if piece := rest[at[0]:at[1]]; strings.Trim(piece, " ") != "" {
				pieces = append(pieces, piece)
			}
			rest = rest[at[1]:]
		}
	}
	if len(pieces) > maxPieces {
		pieces = pieces[:maxPieces]
	}

	s.clean = s.clean[:0]
	for _, r := range cut(padded, pieces) {
		if r.piece < 0 {
			s.clean = m.appendSqueezed(s.clean, r.text)
			continue
		}
		s.clean = appendPiece(s.clean, r.piece)
	}
	if last := len(s.clean) - 1; last >= 0 && s.clean[last] == ' ' {
		s.clean = s.clean[:last]
	}
	return string(s.clean), pieces
}

// padded returns the line as Moses shows it to the patterns: runs of whitespace as one space, one at each end, no
// control characters.
func (m *Moses) padded(line string) string {
	b := []byte{' '}
	inSpace := true
	for _, r := range line + " " {
		space := m.classes.of(r)&whitespace != 0
		switch {
		case space && !inSpace:
			b = append(b, ' ')
		case !space && r >= ' ':
			b = utf8.AppendRune(b, r)
		}
		inSpace = space
	}
	return string(b)
}
