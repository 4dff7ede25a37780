package markup

import (
	"slices"
	"strings"
	"unicode"
)

// Text is a text of a document, without its tags.
type Text struct {
	Line string
	Keep [][2]int // what is not to be translated, from the first byte of Line to before the second
}

// Translation is that of a Text.
type Translation struct {
	Text string
	// Words are, for each of its words, the words of Line that it stands for, counted from 0. A list is empty where that
	// is not known, and Words are nil where nothing is.
	Words [][]int
}

// Texts are what is to be translated.
func (d Document) Texts() (all []Text) {
	for _, p := range d {
		if p.text != nil {
			all = append(all, Text{p.text.line(), p.text.keep()})
		}
	}
	return all
}

// Translated is the document with a translation in the place of each of its Texts.
func (d Document) Translated(translations []Translation) string {
	var b strings.Builder
	for _, p := range d {
		if p.text == nil {
			b.WriteString(p.raw)
			continue
		}
		b.WriteString(p.text.write(translations[0]))
		translations = translations[1:]
	}
	return b.String()
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape writes a text as the document can have it. Only HTML defines &nbsp;.
func (x *marked) escape(text string) string {
	text = escaper.Replace(text)
	if !x.xml {
		text = strings.ReplaceAll(text, "\u00a0", "&nbsp;")
	}
	return text
}

// span is where a word stands in a text, in bytes.
type span struct{ from, to int }

func wordsOf(text string) (spans []span) {
	from := -1
	for i, r := range text + " " {
		switch space := unicode.IsSpace(r); {
		case space && from >= 0:
			spans, from = append(spans, span{from, i}), -1
		case !space && from < 0:
			from = i
		}
	}
	return spans
}

// write puts the tags into a translation. A word of it stands in the elements in which its source word stands; an
// element whose words are scattered is opened again for each run of them. Tags without words stand before the
// translation of the word that followed them.
func (x *marked) write(t Translation) string {
	w := &writer{marked: x, line: t.Text, source: wordsOf(x.text), target: wordsOf(t.Text),
		inside: make([]bool, len(x.tags))}
	w.links = make([]int, len(w.target))
	for i := range w.links {
		w.links[i] = -1
		if len(t.Words) == len(w.target) && len(t.Words[i]) > 0 {
			w.links[i] = min(t.Words[i][0], len(w.source)-1)
		}
	}
	w.findKept()
	within := w.elements()
	before := w.alone(within)
	for i, s := range w.target {
		elements := w.open
		if w.links[i] >= 0 {
			elements = within[w.links[i]]
		}
		w.change(elements, s.from, before[i])
		w.put(s.to)
	}
	w.change(nil, w.at, before[len(w.target)])
	w.put(len(w.line))
	return w.b.String()
}

// writer puts the tags of a text into its translation, a line.
type writer struct {
	*marked
	line           string
	source, target []span         // words
	links          []int          // for each word of the line its source word, -1 for none
	inside         []bool         // the tags of kept elements
	insets         []inset        // of the kept elements that stand in the line, in order
	lost           map[int]string // what the other ones were, by their first tag

	b    strings.Builder
	at   int   // the place in the line up to which it is written
	set  int   // the first of the insets that may reach beyond that place
	open []int // the elements that are open, the outer ones first
}

// elements are those in which each source word stands, without the kept ones.
func (w *writer) elements() (within [][]int) {
	var here []int
	next := 0
	for _, s := range w.source {
		for ; next < len(w.tags) && w.tags[next].at < s.to; next++ {
			if t := w.tags[next]; t.open == 1 && !w.inside[next] && !w.inside[t.pair] {
				here = append(here, next)
			}
		}
		here = slices.DeleteFunc(here, func(e int) bool { return w.tags[w.tags[e].pair].at <= s.from })
		within = append(within, slices.Clone(here))
	}
	return within
}

// alone are the tags that stand by themselves before each word of the line, and at its end, given the elements of each
// source word: those of elements without words, too, and the kept elements that were lost.
func (w *writer) alone(within [][]int) (before [][]string) {
	placed := make([]bool, len(w.tags))
	for _, s := range w.links {
		if s >= 0 {
			for _, e := range within[s] {
				placed[e], placed[w.tags[e].pair] = true, true
			}
		}
	}
	before = make([][]string, len(w.target)+1)
	places, next := w.places(), 0
	for i, tag := range w.tags {
		raw, lost := w.lost[i]
		if !lost {
			if raw = tag.raw; w.inside[i] || placed[i] {
				continue
			}
		}
		for next < len(w.source) && w.source[next].from < tag.at {
			next++
		}
		before[places[next]] = append(before[places[next]], raw)
	}
	return before
}

// places are, for each source word and for the end, the words of the line before which tags stand that stood before it:
// the first word whose source is this one, or else the nearest one behind it, and outside of insets.
func (w *writer) places() []int {
	places := slices.Repeat([]int{len(w.target)}, len(w.source)+1)
	for i, s := range slices.Backward(w.links) {
		if s >= 0 {
			places[s] = i
		}
	}
	begins := make([]int, len(w.target)+1) // the word in which the inset begins that a word begins in, or that word
	for i := range begins {
		begins[i] = i
	}
	for _, set := range w.insets {
		first, last := wordsIn(w.target, set.from, set.to)
		for i := first; i < last; i++ {
			if w.target[i].from > set.from {
				begins[i] = first
			}
		}
	}
	for s := len(w.source) - 1; s >= 0; s-- {
		if places[s] == len(w.target) {
			places[s] = places[s+1]
		}
	}
	for s, i := range places {
		places[s] = begins[i]
	}
	return places
}

// change closes and opens elements before the word at a place, where tags stand. The space before it lies within those
// that stay open.
func (w *writer) change(elements []int, place int, tags []string) {
	same := 0
	for same < len(w.open) && same < len(elements) && w.open[same] == elements[same] {
		same++
	}
	for _, e := range slices.Backward(w.open[same:]) {
		w.b.WriteString(w.tags[w.tags[e].pair].raw)
	}
	w.put(place)
	for _, raw := range tags {
		w.b.WriteString(raw)
	}
	for _, e := range elements[same:] {
		w.b.WriteString(w.tags[e].raw)
	}
	w.open = elements
}

// put writes the line up to a place, with the insets that begin there.
func (w *writer) put(to int) {
	for w.at < to {
		for w.set < len(w.insets) && w.insets[w.set].to <= w.at {
			w.set++
		}
		set := inset{span: span{from: to}}
		if w.set < len(w.insets) {
			set = w.insets[w.set]
		}
		switch {
		case set.from > w.at: // the line itself, up to it
			end := min(to, set.from)
			w.b.WriteString(w.escape(w.line[w.at:end]))
			w.at = end
		case set.from == w.at:
			w.b.WriteString(set.html)
			fallthrough
		default: // what is left of it says nothing more
			w.at = min(to, set.to)
		}
	}
}
