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

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;").Replace

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
	source, target := wordsOf(x.text), wordsOf(t.Text)
	links := make([]int, len(target)) // of each word of the translation, -1 for none
	for i := range links {
		links[i] = -1
		if len(t.Words) == len(target) && len(t.Words[i]) > 0 {
			links[i] = min(t.Words[i][0], len(source)-1)
		}
	}
	insets, inside := x.insets(t.Text, source, target, links)
	within := make([][]int, len(source)) // the elements of each source word, the outer ones first
	for w, s := range source {
		for i, tag := range x.tags {
			if tag.open == 1 && tag.at < s.to && x.tags[tag.pair].at > s.from && !inside[i] && !inside[tag.pair] {
				within[w] = append(within[w], i)
			}
		}
	}
	placed := map[int]bool{}
	for _, s := range links {
		if s >= 0 {
			for _, e := range within[s] {
				placed[e] = true
			}
		}
	}
	before := make([][]string, len(target)+1) // tags that stand before a word, or at the end
	for i, tag := range x.tags {
		raw := tag.raw
		if k := slices.IndexFunc(x.kept, func(e keptElement) bool { return e.first == i }); k >= 0 && insets[k].to == 0 {
			raw = insets[k].html // the translation does not hold its text
		} else if inside[i] || tag.open == 1 && placed[i] || tag.open == -1 && placed[tag.pair] {
			continue
		}
		next := slices.IndexFunc(source, func(s span) bool { return s.from >= tag.at })
		at := len(target)
		if next >= 0 {
			for w, s := range links { // the first word whose source is the next one, or comes after it
				if s >= next && (at == len(target) || s < links[at]) {
					at = w
				}
			}
		}
		for _, set := range insets {
			if at < len(target) && set.from < target[at].from && target[at].from < set.to { // not into one
				at = slices.IndexFunc(target, func(s span) bool { return s.to > set.from })
			}
		}
		before[at] = append(before[at], raw)
	}
	var b strings.Builder
	var open []int
	put := func(from, to int) {
		for from < to {
			end, html := to, ""
			for _, set := range insets {
				switch {
				case set.to <= from || set.from >= end:
				case set.from > from:
					end = set.from
				default: // what is left of it says nothing more
					if end = min(to, set.to); set.from == from {
						html = set.html
					}
					from = end
				}
			}
			b.WriteString(html + escape(t.Text[from:end]))
			from = end
		}
	}
	last := 0
	change := func(to []int, gap span, tags []string) {
		same := 0
		for same < len(open) && same < len(to) && open[same] == to[same] {
			same++
		}
		for i := len(open) - 1; i >= same; i-- {
			b.WriteString(x.tags[x.tags[open[i]].pair].raw)
		}
		put(gap.from, gap.to)
		b.WriteString(strings.Join(tags, ""))
		for _, e := range to[same:] {
			b.WriteString(x.tags[e].raw)
		}
		open = to
	}
	for w, s := range target {
		to := open
		if links[w] >= 0 {
			to = within[links[w]]
		}
		change(to, span{last, s.from}, before[w])
		put(s.from, s.to)
		last = s.to
	}
	change(nil, span{}, before[len(target)])
	put(last, len(t.Text))
	return b.String()
}
