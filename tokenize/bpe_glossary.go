package tokenize

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// glossary is a pattern whose matches stay whole.
type glossary struct {
	anywhere *regexp.Regexp
	whole    *regexp.Regexp
	// leave matches at the start of words that are not cut. Like subword-nmt it anchors the pattern without grouping
	// it: "a|b" leaves every word that begins with a.
	leave *regexp.Regexp
}

func newGlossary(pattern string) (glossary, error) {
	translated, err := goPattern(pattern, true, pythonEscape)
	if err != nil {
		return glossary{}, fmt.Errorf("glossary %.80q: %w", pattern, err)
	}
	var compiled [3]*regexp.Regexp
	for i, anchored := range []string{translated, `\A(?:` + translated + `)\z`, `\A(?:^` + translated + `$)`} {
		if compiled[i], err = regexp.Compile(anchored); err != nil {
			return glossary{}, fmt.Errorf("glossary %.80q is not a regular expression that can be used here "+
				"(look-around and back-references are not supported): %w", pattern, syntaxError(err))
		}
	}
	return glossary{compiled[0], compiled[1], compiled[2]}, nil
}

// isolate cuts a word around every match of each glossary in turn.
func isolate(glossaries []glossary, word string) []string {
	pieces := []string{word}
	for _, g := range glossaries {
		var cut []string
		for _, piece := range pieces {
			cut = g.appendCut(cut, piece)
		}
		pieces = cut
	}
	return pieces
}

func (g glossary) appendCut(cut []string, piece string) []string {
	if g.leave.MatchString(piece) {
		return append(cut, piece)
	}
	last := 0
	for _, span := range g.anywhere.FindAllStringIndex(piece, -1) {
		for _, end := range span {
			if end > last {
				cut = append(cut, piece[last:end])
				last = end
			}
		}
	}
	if last < len(piece) {
		cut = append(cut, piece[last:])
	}
	return cut
}

// What Python's classes hold for text, as ranges for use inside brackets.
const (
	pythonDigit    = `\p{Nd}`
	pythonWord     = `\p{L}\p{N}_`
	pythonSpace    = `\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	pythonNotSpace = `\x00-\x08\x0e-\x1b\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}`
)

// pythonEscape translates the escape behind a backslash, and tells how many bytes it took.
func pythonEscape(rest string, inClass bool) (translated string, used int, err error) {
	class := func(ranges string) string {
		if inClass {
			return ranges
		}
		return "[" + ranges + "]"
	}
	switch c := rest[0]; c {
	case 'd':
		return class(pythonDigit), 1, nil
	case 'D':
		return class(`\P{Nd}`), 1, nil
	case 'w':
		return class(pythonWord), 1, nil
	case 'W':
		if inClass {
			return "", 0, fmt.Errorf(`\W inside brackets is not supported`)
		}
		return "[^" + pythonWord + "]", 1, nil
	case 's':
		return class(pythonSpace), 1, nil
	case 'S':
		return class(pythonNotSpace), 1, nil
	case 'Z':
		return `\z`, 1, nil
	case 'b', 'B':
		if inClass && c == 'b' {
			return `\x08`, 1, nil
		}
		return "", 0, fmt.Errorf(`\%c is not supported; a glossary sees one word at a time, so ^ and $ can stand for `+
			`its ends`, c)
	case 'u', 'U':
		digits := 4
		if c == 'U' {
			digits = 8
		}
		if len(rest) < 1+digits || strings.Trim(rest[1:1+digits], "0123456789abcdefABCDEF") != "" {
			return "", 0, fmt.Errorf(`\%c should be followed by %d hexadecimal digits`, c, digits)
		}
		return `\x{` + rest[1:1+digits] + `}`, 1 + digits, nil
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r >= utf8.RuneSelf {
		return rest[:size], size, nil
	}
	return `\` + rest[:1], 1, nil
}
