package tokenize

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// charClass is a set of character properties, those of Perl's \p{...}, unlike package unicode's: "alphabetic" includes
// letter numbers and Other_Alphabetic, "number" superscripts and fractions.
type charClass uint8

const (
	alphabetic   charClass = 1 << iota // Alphabetic
	alphanumeric                       // Alphabetic, or a decimal digit
	number                             // category N
	lowercase                          // Lowercase
	whitespace                         // White_Space
	cased                              // category Lu, Ll or Lt
	currency                           // category Sc
	nonPrinting                        // category C, unassigned code points included
)

// tabulated is the number of code points in the table: two planes. Rarer ones are looked up range by range.
const tabulated = 0x20000

// classTable holds the classes of the code points below tabulated.
type classTable [tabulated]charClass

// classRanges says which Unicode ranges make up each class but nonPrinting.
var classRanges = []struct {
	class  charClass
	ranges []*unicode.RangeTable
}{
	{alphabetic, []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic}},
	{alphanumeric, []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Nd}},
	{number, []*unicode.RangeTable{unicode.N}},
	{lowercase, []*unicode.RangeTable{unicode.Ll, unicode.Other_Lowercase}},
	{whitespace, []*unicode.RangeTable{unicode.White_Space}},
	{cased, []*unicode.RangeTable{unicode.Lu, unicode.Ll, unicode.Lt}},
	{currency, []*unicode.RangeTable{unicode.Sc}},
}

// printing are the ranges whose complement is category C.
var printing = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z}

// classes builds the table on first use, in about a millisecond, and shares it.
var classes = sync.OnceValue(func() *classTable {
	table := new(classTable)
	for i := range table {
		table[i] = nonPrinting
	}
	for _, ranges := range printing {
		table.each(ranges, func(c *charClass) { *c &^= nonPrinting })
	}
	for _, entry := range classRanges {
		for _, ranges := range entry.ranges {
			table.each(ranges, func(c *charClass) { *c |= entry.class })
		}
	}
	return table
})

// each calls f for every tabulated code point in ranges.
func (t *classTable) each(ranges *unicode.RangeTable, f func(*charClass)) {
	for _, r := range ranges.R16 {
		for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
			f(&t[c])
		}
	}
	for _, r := range ranges.R32 {
		for c := int(r.Lo); c <= int(r.Hi) && c < tabulated; c += int(r.Stride) {
			f(&t[c])
		}
	}
}

// of returns the classes of r.
func (t *classTable) of(r rune) charClass {
	if uint32(r) < tabulated {
		return t[r]
	}
	return searchClasses(r)
}

// searchClasses returns the classes of a code point outside the table.
func searchClasses(r rune) charClass {
	var c charClass
	if !unicode.In(r, printing...) {
		c = nonPrinting
	}
	for _, entry := range classRanges {
		if unicode.In(r, entry.ranges...) {
			c |= entry.class
		}
	}
	return c
}

// first returns the classes of the first character of s, none for an empty s.
func (t *classTable) first(s string) charClass {
	if s == "" {
		return 0
	}
	if s[0] < utf8.RuneSelf {
		return t[s[0]]
	}
	r, _ := utf8.DecodeRuneInString(s)
	return t.of(r)
}

// last returns the classes of the last character of s, none for an empty s.
func (t *classTable) last(s string) charClass {
	if s == "" {
		return 0
	}
	if b := s[len(s)-1]; b < utf8.RuneSelf {
		return t[b]
	}
	r, _ := utf8.DecodeLastRuneInString(s)
	return t.of(r)
}

// fields splits s at runs of White_Space.
func (t *classTable) fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return t.of(r)&whitespace != 0 })
}

// blank reports whether s holds nothing but White_Space.
func (t *classTable) blank(s string) bool {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			if t[s[i]]&whitespace == 0 {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if t.of(r)&whitespace == 0 {
			return false
		}
		i += size
	}
	return true
}

// Lowercase lower-cases by Unicode's full mapping, as Perl's lc: İ becomes two characters, a final Σ becomes σ.
func Lowercase(line string) string {
	if !strings.ContainsRune(line, 'İ') {
		return strings.ToLower(line)
	}
	return strings.ToLower(strings.ReplaceAll(line, "İ", "i\u0307"))
}

// uppercaseFirst returns s with its first character upper-cased by Unicode's full mapping: ß becomes SS.
func uppercaseFirst(s string) string {
	if s == "" {
		return s
	}
	if s[0] < utf8.RuneSelf {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	_, size := utf8.DecodeRuneInString(s)
	return cases.Upper(language.Und).String(s[:size]) + s[size:]
}

// RemoveNonPrinting replaces every character of Unicode's category C (control, format, unassigned, ...) by a space.
func RemoveNonPrinting(line string) string {
	table := classes()
	return strings.Map(func(r rune) rune {
		if table.of(r)&nonPrinting != 0 {
			return ' '
		}
		return r
	}, line)
}
