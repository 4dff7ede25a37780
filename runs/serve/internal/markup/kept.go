package markup

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// keptElement is an element of a text that is not to be translated, by the places of its first and last tag among tags.
type keptElement struct{ first, last int }

// inset is where a kept element stands in a translation, in bytes, and what is written there. Its to is 0 where the
// translation does not hold the element's text.
type inset struct {
	from, to int
	html     string
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

// raw is what the document had from one tag to another, with the text between these places.
func (x *marked) raw(first, last, from, to int) string {
	var b strings.Builder
	for _, t := range x.tags[first : last+1] {
		b.WriteString(escape(x.text[from:t.at]) + t.raw)
		from = t.at
	}
	b.WriteString(escape(x.text[from:to]))
	return b.String()
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

// insets finds the text of each kept element in a translation, whose words then belong to that place of the source. A
// text may stand there more than once: where it stands as a word, and by the links, comes first. inside tells which
// tags belong to kept elements.
func (x *marked) insets(text string, source, target []span, links []int) (sets []inset, inside []bool) {
	inside = make([]bool, len(x.tags))
	linked := slices.Clone(links)
	taken := make([]bool, len(text)) // bytes that are an element's already
	for _, e := range x.kept {
		for i := e.first; i <= e.last; i++ {
			inside[i] = true
		}
		from, to := x.tags[e.first].at, x.tags[e.last].at
		set, best := inset{html: x.raw(e.first, e.last, from, to)}, -1
		kept := x.textOf(e)
		for at := 0; ; at++ {
			next := strings.Index(text[at:], kept)
			if next < 0 {
				break
			}
			at += next
			end, score := at+len(kept), 0
			if slices.Contains(taken[at:end], true) {
				continue
			}
			if !splitsWord(text, at) && !splitsWord(text, end) {
				score += 2
			}
			first, last := wordsIn(target, at, end)
			for _, s := range linked[first:last] {
				if s >= 0 && source[s].from < to && from < source[s].to {
					score++
					break
				}
			}
			if score > best {
				set.from, set.to, best = at, end, score
			}
		}
		word := slices.IndexFunc(source, func(s span) bool { return s.to > from })
		first, last := wordsIn(target, set.from, set.to)
		for w := first; w < last; w++ {
			links[w] = word
		}
		for i := set.from; i < set.to; i++ {
			taken[i] = true
		}
		sets = append(sets, set)
	}
	return sets, inside
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
