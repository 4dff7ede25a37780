package markup

import (
	"strings"
	"sync"

	"golang.org/x/net/html"
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

// Document is a document cut into what is copied and the texts between.
type Document []part

// part is a text, or else what is copied as it is.
type part struct {
	raw  string
	text *marked
}

// marked is a text with the tags that stand in it, which the text itself leaves out.
type marked struct {
	text  string
	tags  []tag
	kept  []keptElement
	lines bool // see Options
}

// tag is a tag of a text, or a comment.
type tag struct {
	raw  string
	at   int // the byte of the text before which it stands
	open int // 1 opens an element and -1 closes it, 0 stands by itself
	pair int // the place among tags of the other one
}

// Options say how a document is to be read. The zero value is for HTML.
type Options struct {
	XML     bool            // no element has a meaning of its own
	Lines   bool            // line breaks end sentences; else they are spaces
	Ignored map[string]bool // the names, in lower case, of elements that are not to be translated
}

// Parse cuts a document into texts. It takes any text: what is not closed, or was not opened, stands by itself.
func Parse(document string, o Options) (d Document) {
	z := newTokens(document, o.XML)
	border := func(name string, _ html.TokenType) bool { return blocks[name] }
	if o.XML {
		border = outline(document)
	}
	current := &marked{lines: o.Lines}
	var names []string // of the tags of current
	skip, depth := "", 0
	kept, from := -1, 0 // the tag that opens what is not to be translated, and its place in the document
	var at, end int     // of the token in the document
	closed := lastEnds(document)
	flush := func() {
		d = append(d, current.parts()...)
		current, names, kept = &marked{lines: o.Lines}, nil, -1
	}
	for {
		kind, raw := z.next()
		at, end = end, end+len(raw)
		if kind == html.ErrorToken {
			current.text += html.UnescapeString(raw) // "<" at the end, or nothing
			break
		}
		name, attributes := "", false
		if isTag(kind) {
			var b []byte
			b, attributes = z.TagName()
			name = string(b)
		}
		block, copied := border(name, kind), !o.XML && verbatim[name]
		switch {
		case skip != "": // within an element that is copied
			d = append(d, part{raw: raw})
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
		case kept >= 0 && kind != html.EndTagToken && (block || copied) && closed(names[kept]) > at:
			// A text ends within what is not to be translated, which is copied then.
			skip, depth = names[kept], 1
			for i := kept + 1; i < len(names); i++ {
				if names[i] == skip && current.tags[i].alone() {
					depth++
				}
			}
			current.cut(kept)
			flush()
			d = append(d, part{raw: document[from:end]})
		case kind == html.StartTagToken && (copied || block && (o.XML || holds[name]) && (o.Ignored[name] ||
			attributes && untranslated(z.Tokenizer))):
			flush()
			d = append(d, part{raw: raw})
			skip, depth = name, 1
		case block || kind == html.DoctypeToken || !strings.HasSuffix(raw, ">"):
			// What the document's end cuts off has to stay there: all that came behind would be part of it.
			flush()
			d = append(d, part{raw: raw})
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
			} else if kind == html.StartTagToken && kept < 0 && (!o.XML && name == "code" || o.Ignored[name] ||
				attributes && untranslated(z.Tokenizer)) {
				kept, from = here, at
			}
			current.tags, names = append(current.tags, t), append(names, name)
		}
	}
	flush()
	return d
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

// lastEnds gives the place of the last end tag of a name, -1 where there is none. The document is read once, when it is
// first asked for: names may be many, and of any bytes.
func lastEnds(document string) func(name string) int {
	ends := sync.OnceValue(func() map[string]int {
		ends := map[string]int{}
		for at := 0; ; {
			next := strings.Index(document[at:], "</")
			if next < 0 {
				return ends
			}
			at += next
			size := strings.IndexAny(document[at+2:], "\t\n\f\r />")
			if size < 0 {
				return ends
			}
			name := []byte(document[at+2 : at+2+size])
			for i, b := range name { // as the tokenizer does
				if 'A' <= b && b <= 'Z' {
					name[i] += 'a' - 'A'
				}
			}
			ends[string(name)] = at
			at += 2 + size
		}
	})
	return func(name string) int {
		if at, found := ends()[name]; found {
			return at
		}
		return -1
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
