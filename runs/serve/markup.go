package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/aperture-ml/aperture/models/translation"
)

// blocks are the elements of HTML that end a text where they begin and end; all others stand within it. holds are
// those of them that have contents.
var blocks, holds = map[string]bool{}, map[string]bool{}

// verbatim are the elements whose contents are no text to translate.
var verbatim = map[string]bool{"script": true, "style": true, "pre": true, "textarea": true, "template": true, "svg": true,
	"math": true, "iframe": true, "noscript": true}

func init() {
	for name := range strings.FieldsSeq("address article aside blockquote body br button center dd details dialog div dl dt " +
		"fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html li legend main menu nav ol optgroup " +
		"option p section select summary table tbody td tfoot th thead title tr ul video audio canvas object") {
		blocks[name], holds[name] = true, name != "br" && name != "hr"
	}
}

// markup is a document cut into what is copied and the texts between.
type markup []part

// part is a text, or else what is copied as it is.
type part struct {
	raw  string
	text *marked
}

// marked is a text with the tags that stand in it, which the text itself leaves out.
type marked struct {
	text string
	tags []tag
	kept []keptElement
}

// tag is a tag of a text, or a comment.
type tag struct {
	raw  string
	at   int // the byte of the text before which it stands
	open int // 1 opens an element and -1 closes it, 0 stands by itself
	pair int // the place among tags of the other one
}

// parseMarkup cuts HTML, or XML, into texts. It takes any text: what is not closed, or was not opened, stands by
// itself. Elements of the ignored names, in lower case, are not to be translated.
func parseMarkup(document string, ignored map[string]bool) (m markup) {
	z := html.NewTokenizer(strings.NewReader(document))
	current := &marked{}
	var names []string // of the tags of current
	skip, depth := "", 0
	kept, from := -1, 0 // the tag that opens what is not to be translated, and its place in the document
	var at, end int     // of the token in the document
	closed := lastEnds(document)
	flush := func() {
		m = append(m, current.parts()...)
		current, names, kept = &marked{}, nil, -1
	}
	for {
		kind := z.Next()
		raw := string(z.Raw())
		at, end = end, end+len(raw)
		if kind == html.ErrorToken {
			current.text += html.UnescapeString(raw) // "<" at the end, or nothing
			break
		}
		name, attributes := "", false
		if kind == html.StartTagToken || kind == html.EndTagToken || kind == html.SelfClosingTagToken {
			var b []byte
			b, attributes = z.TagName()
			name = string(b)
		}
		switch {
		case skip != "": // within an element that is copied
			m = append(m, part{raw: raw})
			if name == skip && kind == html.StartTagToken {
				depth++
			}
			if name == skip && kind == html.EndTagToken {
				if depth--; depth == 0 {
					skip = ""
				}
			}
		case kind == html.TextToken:
			current.text += html.UnescapeString(raw)
		case kept >= 0 && kind != html.EndTagToken && (blocks[name] || verbatim[name]) && closed(names[kept]) > at:
			// A text ends within what is not to be translated, which is copied then.
			skip, depth = names[kept], 1
			for i := kept + 1; i < len(names); i++ {
				if names[i] == skip && current.tags[i].alone() {
					depth++
				}
			}
			current.cut(kept)
			flush()
			m = append(m, part{raw: document[from:end]})
		case kind == html.StartTagToken && (verbatim[name] || holds[name] && (ignored[name] ||
			attributes && untranslated(z))):
			flush()
			m = append(m, part{raw: raw})
			skip, depth = name, 1
		case blocks[name] || kind == html.DoctypeToken || !strings.HasSuffix(raw, ">"):
			// What the document's end cuts off has to stay there: all that came behind would be part of it.
			flush()
			m = append(m, part{raw: raw})
		default:
			t := tag{raw: raw, at: len(current.text), pair: -1}
			here := len(current.tags)
			if kind == html.EndTagToken {
				for i := here - 1; i >= 0; i-- {
					if o := &current.tags[i]; names[i] == name && o.alone() {
						o.open, o.pair, t.open, t.pair = 1, here, -1, i
						break
					}
				}
				if kept >= 0 && t.pair == kept {
					if strings.TrimSpace(current.text[current.tags[kept].at:]) != "" {
						current.kept = append(current.kept, keptElement{kept, here})
					}
					kept = -1
				}
			}
			if kind != html.StartTagToken && kind != html.EndTagToken {
				name = "" // it closes itself
			} else if kind == html.StartTagToken && kept < 0 && (name == "code" || ignored[name] ||
				attributes && untranslated(z)) {
				kept, from = here, at
			}
			current.tags, names = append(current.tags, t), append(names, name)
		}
	}
	flush()
	return m
}

// alone reports whether a tag may open an element, and nothing has closed it.
func (t *tag) alone() bool { return t.open == 0 && t.pair == -1 && !strings.HasPrefix(t.raw, "</") }

// cut leaves out what stands from a tag on.
func (x *marked) cut(from int) {
	x.text, x.tags = x.text[:x.tags[from].at], x.tags[:from]
	for i := range x.tags {
		if x.tags[i].pair >= from {
			x.tags[i].open, x.tags[i].pair = 0, -1
		}
	}
}

// lastEnds gives the place of the last end tag of a name, -1 where there is none.
func lastEnds(document string) func(name string) int {
	known := map[string]int{}
	return func(name string) int {
		if _, found := known[name]; !found {
			known[name] = -1
			for _, match := range regexp.MustCompile(`(?i)</`+regexp.QuoteMeta(name)+`[\s/>]`).FindAllStringIndex(document, -1) {
				known[name] = match[0]
			}
		}
		return known[name]
	}
}

// parts are the text, where it has words, or else what it was.
func (x *marked) parts() []part {
	if x.hasText() {
		// Elements that cross others are taken apart: their tags stand by themselves.
		var open []int
		for i := range x.tags {
			switch t := &x.tags[i]; t.open {
			case 1:
				open = append(open, i)
			case -1:
				for len(open) > 0 && open[len(open)-1] != t.pair {
					last := open[len(open)-1]
					x.tags[last].open, x.tags[x.tags[last].pair].open = 0, 0
					open = open[:len(open)-1]
				}
				if len(open) > 0 {
					open = open[:len(open)-1]
				}
			}
		}
		return []part{{text: x}}
	}
	raw := x.raw(0, len(x.tags)-1, 0, len(x.text))
	if raw == "" {
		return nil
	}
	return []part{{raw: raw}}
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
func (x *marked) write(t translation.Translation) string {
	source, target := wordsOf(x.text), wordsOf(t.Text)
	links := make([]int, len(target)) // of each word of the translation, -1 for none
	for i := range links {
		links[i] = -1
		if t.Details != nil && len(t.Details.Words) == len(target) && len(t.Details.Words[i].Source) > 0 {
			links[i] = min(t.Details.Words[i].Source[0], len(source)-1)
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

// translateHTML translates the texts of documents and puts their tags back.
func translateHTML(t task, translate func([]translation.Request) ([][]translation.Translation,
	error)) ([][]translation.Translation, error) {
	var requests []translation.Request
	documents := make([]markup, len(t.texts))
	for i, text := range t.texts {
		documents[i] = parseMarkup(text, t.ignored)
		for k, p := range documents[i] {
			if p.text == nil {
				continue
			}
			r := translation.Request{Line: p.text.text, Keep: append(slices.Clip(t.keep), p.text.keep()...)}
			if !slices.ContainsFunc(documents[i][:k], func(p part) bool { return p.text != nil }) {
				r.Prefix = t.prefix
			}
			requests = append(requests, r)
		}
	}
	found, err := translate(requests)
	if err != nil {
		return nil, err
	}
	out := make([][]translation.Translation, len(documents))
	for i, document := range documents {
		n := 0
		for _, p := range document {
			if p.text != nil {
				n++
			}
		}
		mine := found[:n]
		found = found[n:]
		out[i] = documentTranslations(document, mine)
	}
	return out, nil
}

// documentTranslations are those of a document, given those of its texts: the best of each, the second best of each,
// and so on.
func documentTranslations(document markup, found [][]translation.Translation) (out []translation.Translation) {
	count := 1
	for _, list := range found {
		count = max(count, len(list))
	}
	for rank := range count {
		var b bytes.Buffer
		x := translation.Translation{}
		next := 0
		for _, p := range document {
			if p.text == nil {
				b.WriteString(p.raw)
				continue
			}
			list := found[next]
			next++
			one := list[min(rank, len(list)-1)]
			x.Score += one.Score
			b.WriteString(p.text.write(one))
		}
		x.Text = b.String()
		out = append(out, x)
	}
	return out
}
