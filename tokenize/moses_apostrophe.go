package tokenize

import (
	"strings"
	"unicode/utf8"
)

// apostropheRules names how a language treats the apostrophe.
type apostropheRules uint8

const (
	alwaysSplit  apostropheRules = iota // it ' s
	contractLeft                        // l' homme
	contractNext                        // it 's
)

func rulesForApostrophes(language string) apostropheRules {
	switch language {
	case "en":
		return contractNext
	case "fr", "it", "ga":
		return contractLeft
	}
	return alwaysSplit
}

// split is the set of sides on which an apostrophe is cut off.
type split uint8

const (
	splitBefore split = 1 << iota
	splitAfter
	splitBoth = splitBefore | splitAfter
)

// apostrophe is one ' of a line: the classes of its neighbours, none at the line's ends, and what to do with it.
type apostrophe struct {
	left, right charClass
	hasLeft     bool
	hasRight    bool
	rightIsS    bool
	position    int // see planApostrophes
	where       split
}

// planApostrophes decides for each apostrophe of a squeezed line on which sides it is split off.
//
// Moses has four or five passes of the form "L'R, everywhere". A match uses up both neighbours, so that of two
// apostrophes around one character a pass treats only the first: x'y'z and x'yy'z differ. The passes are therefore run
// on the apostrophes alone. Each has a position, of which only differences below three matter: 1 for neighbours, 2
// around one character, 3 for all others. Spaces that a pass inserts move the positions for the next one.
func (m *Moses) planApostrophes(s *mosesScratch, text string) []apostrophe {
	s.marks = s.marks[:0]
	if m.apostrophes == alwaysSplit {
		return nil
	}
	position, previous := 3, -1
	for i := 0; ; i++ {
		next := strings.IndexByte(text[i:], '\'')
		if next < 0 {
			break
		}
		i += next
		if previous >= 0 {
			position += m.distance(text[previous+1 : i])
		}
		left, right := text[:i], text[i+1:]
		s.marks = append(s.marks, apostrophe{
			left: m.neighbour(m.classes.last(left)), hasLeft: left != "",
			right: m.neighbour(m.classes.first(right)), hasRight: right != "",
			rightIsS: right != "" && right[0] == 's',
			position: position,
		})
		previous = i
	}
	if len(s.marks) == 0 {
		return nil
	}
	letter := func(c charClass) bool { return c&alphabetic != 0 }
	other := func(c charClass) bool { return c&alphabetic == 0 }
	sweep := func(where split, match func(a *apostrophe) bool) { sweepApostrophes(s.marks, where, match) }

	sweep(splitBoth, func(a *apostrophe) bool { return other(a.left) && other(a.right) })
	if m.apostrophes == contractNext {
		sweep(splitBoth, func(a *apostrophe) bool { return a.left&(alphabetic|number) == 0 && letter(a.right) })
	} else {
		sweep(splitBoth, func(a *apostrophe) bool { return other(a.left) && letter(a.right) })
	}
	sweep(splitBoth, func(a *apostrophe) bool { return letter(a.left) && other(a.right) })
	if m.apostrophes == contractNext {
		sweep(splitBefore, func(a *apostrophe) bool { return letter(a.left) && letter(a.right) })
		sweep(splitBefore, func(a *apostrophe) bool { return a.left&number != 0 && a.rightIsS }) // the 1990's
	} else {
		sweep(splitAfter, func(a *apostrophe) bool { return letter(a.left) && letter(a.right) })
	}
	return s.marks
}

// neighbour returns the classes of a character as an apostrophe beside it sees it: a space stands in for a symbol.
func (m *Moses) neighbour(c charClass) charClass {
	if c&alphanumeric == 0 {
		return 0
	}
	return c
}

// distance returns how far an apostrophe lies behind the previous one: 1, 2, or 3 for anything longer.
func (m *Moses) distance(between string) int {
	if between == "" {
		return 1
	}
	r, size := utf8.DecodeRuneInString(between)
	if size < len(between) {
		return 3
	}
	if strings.IndexByte(" .`-", between[0]) >= 0 || m.classes.of(r)&alphanumeric != 0 {
		return 2
	}
	return 3 // a symbol or a comma: spaces stand on both of its sides
}

// sweepApostrophes marks what one pass matches, left to right. An apostrophe already split off stands between spaces
// and cannot match again.
func sweepApostrophes(marks []apostrophe, where split, match func(a *apostrophe) bool) {
	free := 0 // the first position that no match of this pass has used up
	shift := 0
	for i := range marks {
		a := &marks[i]
		at := a.position
		a.position += shift
		if a.where != 0 || !a.hasLeft || !a.hasRight || at-1 < free || !match(a) {
			continue
		}
		a.where = where
		free = at + 2
		if where&splitBefore != 0 {
			a.position++
			shift++
		}
		if where&splitAfter != 0 {
			shift++
		}
	}
}
