package markup

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// keptElement is an element of a text that is not to be translated, by the places of its first and last tag among tags,
// and what the document has there. A reference to an entity is one, between two empty tags.
type keptElement struct {
	first, last int
	raw         string
}

// inset is where a kept element stands in a translation, and what is written there.
type inset struct {
	span
	html string
}

// untranslated reports whether a tag's attributes say that its contents stay as they are.
func untranslated(z *html.Tokenizer) bool {
	for {
		key, value, more := z.TagAttr()
		if string(key) == "translate" && strings.EqualFold(string(value), "no") ||
			string(key) == "class" && slices.Contains(strings.Fields(string(value)), "notranslate") {
			return true
		}
		if !more {
			return false
		}
	}
}

// spanOf is where a kept element's text stands, without the space around it.
func (x *marked) spanOf(e keptElement) (from, to int) {
	return trimmed(x.text, x.tags[e.first].at, x.tags[e.last].at)
}

// trimmed is what a span of a text leaves without the space around it.
func trimmed(text string, from, to int) (int, int) {
	from = to - len(strings.TrimLeftFunc(text[from:to], unicode.IsSpace))
	return from, from + len(strings.TrimSpace(text[from:to]))
}

// textOf is what a kept element holds, without the space around it.
func (x *marked) textOf(e keptElement) string {
	from, to := x.spanOf(e)
	return lineBreaks.Replace(x.text[from:to])
}

// lineBreaks makes spaces of line breaks, each in the place of its byte.
var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")

// line is the text as it is translated. Line breaks are spaces within what is kept, and everywhere between words but
// where they end sentences.
func (x *marked) line() string {
	if !x.lines {
		from, to := trimmed(x.text, 0, len(x.text))
		return x.text[:from] + lineBreaks.Replace(x.text[from:to]) + x.text[to:]
	}
	var b strings.Builder
	at := 0
	for _, e := range x.kept {
		from, to := x.spanOf(e)
		b.WriteString(x.text[at:from] + x.textOf(e))
		at = to
	}
	return b.String() + x.text[at:]
}

// hasText reports whether there is something to translate beside what is kept.
func (x *marked) hasText() bool {
	from := 0
	for _, e := range x.kept {
		if strings.TrimSpace(x.text[from:x.tags[e.first].at]) != "" {
			return true
		}
		from = x.tags[e.last].at
	}
	return strings.TrimSpace(x.text[from:]) != ""
}

// keep says where the texts of kept elements stand.
func (x *marked) keep() (all [][2]int) {
	for _, e := range x.kept {
		from, to := x.spanOf(e)
		all = append(all, [2]int{from, to})
	}
	return all
}

// findKept finds the text of each kept element in the line, whose words then belong to that place of the source. A text
// may stand there more than once: where it splits no word comes first, then where the links lead.
func (w *writer) findKept() {
	links := slices.Clone(w.links)
	taken := make([]bool, len(w.line)) // bytes that are an element's already
	found := map[string][]place{}
	w.lost = map[int]string{}
	for _, e := range w.kept {
		for i := e.first; i <= e.last; i++ {
			w.inside[i] = true
		}
		from, to := w.tags[e.first].at, w.tags[e.last].at
		text := w.textOf(e)
		places, known := found[text]
		if !known {
			places = w.standsAt(text)
		}
		linked := func(s int) bool { return s >= 0 && w.source[s].from < to && from < w.source[s].to }
		best := choose(places, taken, func(p place) bool { return slices.ContainsFunc(links[p.first:p.last], linked) })
		if best < 0 {
			w.lost[e.first] = e.raw
			found[text] = nil
			continue
		}
		p := places[best]
		word, _ := wordsIn(w.source, from, to)
		for i := p.first; i < p.last; i++ {
			w.links[i] = word
		}
		for i := p.from; i < p.to; i++ {
			taken[i] = true
		}
		w.insets = append(w.insets, inset{p.span, e.raw})
		if best == 0 { // as where the translation has them in their order
			found[text] = places[1:]
		} else {
			found[text] = slices.Delete(places, best, best+1)
		}
	}
	slices.SortFunc(w.insets, func(a, b inset) int { return a.from - b.from })
}

// place is where a text stands in the line.
type place struct {
	span
	first, last int  // the words [first, last) that have bytes of it
	whole       bool // it splits no word
}

// choose gives which of places an element gets, given the bytes that are taken and whether links lead to a place: -1
// for none.
func choose(places []place, taken []bool, linked func(place) bool) int {
	best := -1
	for i, p := range places {
		switch {
		case slices.Contains(taken[p.from:p.to], true):
		case best >= 0 && places[best].whole && !p.whole:
			return best
		case linked(p):
			return i
		case best < 0:
			best = i
		}
	}
	return best
}

// standsAt are the places of a text in the line, those that split no word first.
func (w *writer) standsAt(text string) []place {
	var whole, other []place
	for at := 0; ; at++ {
		next := strings.Index(w.line[at:], text)
		if next < 0 {
			return append(whole, other...)
		}
		at += next
		p := place{span: span{at, at + len(text)}}
		p.first, p.last = wordsIn(w.target, p.from, p.to)
		p.whole = !splitsWord(w.line, p.from) && !splitsWord(w.line, p.to)
		if p.whole {
			whole = append(whole, p)
		} else {
			other = append(other, p)
		}
	}
}

// splitsWord reports whether letters stand on both sides of a place.
func splitsWord(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsLetter(before) && unicode.IsLetter(after)
}

// wordsIn are the words [first, last) that have bytes of a place.
func wordsIn(words []span, from, to int) (first, last int) {
	first = sort.Search(len(words), func(w int) bool { return words[w].to > from })
	last = sort.Search(len(words), func(w int) bool { return words[w].from >= to })
	return first, max(first, last)
}
