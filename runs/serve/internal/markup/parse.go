package markup

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/html"
)

// Parse cuts a document into texts. It takes any text: what is not closed, or was not opened, stands by itself.
func Parse(document string, o Options) Document {
	head := ""
	if o.XML {
		head = prolog.FindString(document)
		document = document[len(head):]
	}
	p := &parser{Options: o, document: document, tokens: newTokens(document, o.XML), closed: lastEnds(document),
		structure: func(name string, _ html.TokenType) bool { return !o.XML && blocks[name] },
		declared:  declaredIn(head), done: Document{{raw: head}}}
	if o.XML && !o.NoOutline {
		p.structure = outline(document)
	}
	p.begin()
	for {
		switch t := p.read(); {
		case t.kind == html.ErrorToken:
			p.text.WriteString(html.UnescapeString(t.raw)) // "<" at the end, or nothing
			p.end(p.to)
			return p.done
		case p.skip != "":
			p.copy(t)
		case t.kind == html.TextToken:
			p.characters(t.raw)
		case p.splitsKept(t):
			p.copyKept(t)
		case t.kind == html.StartTagToken && (t.verbatim || t.border && t.keep):
			p.end(t.from)
			p.done = append(p.done, part{raw: t.raw})
			p.skip, p.depth = t.name, 1
		case t.border || t.kind == html.DoctypeToken || !strings.HasSuffix(t.raw, ">"):
			// What the document's end cuts off has to stay there: all that came behind would be part of it.
			p.end(t.from)
			p.done = append(p.done, part{raw: t.raw})
		default:
			p.put(t)
		}
	}
}

// parser cuts a document into parts, token by token.
type parser struct {
	Options
	tokens
	document  string                                      // behind its prolog
	declared  map[string]bool                             // the references to entities that the prolog declares
	structure func(name string, kind html.TokenType) bool // see outline
	closed    func(name string) int                       // see lastEnds
	to        int                                         // the end of the token at hand
	done      Document

	// The text at hand.
	from     int // its place in the document
	text     strings.Builder
	tags     []tag
	open     map[string][]int // by name, the tags that begin an element, and that nothing has closed
	elements []keptElement    // none of which holds another
	kept     []keptTag        // those that are open, the outer ones first

	skip  string // the name of the element that is copied, empty for none
	depth int    // how many elements of this name are open
}

// keptTag begins an element that is not to be translated, where its end comes.
type keptTag struct {
	tag  int // its place among tags
	from int // its place in the document
	name string
}

func (k keptTag) compare(tag int) int { return k.tag - tag }

// token is one of a document.
type token struct {
	kind     html.TokenType
	raw      string
	from, to int    // its place in the document
	name     string // of a tag
	border   bool   // a text ends here
	verbatim bool   // its element's contents are no text to translate
	keep     bool   // it begins an element that is not to be translated
}

func (p *parser) read() token {
	kind, raw := p.next()
	t := token{kind: kind, raw: raw, from: p.to, to: p.to + len(raw)}
	p.to = t.to
	if kind == html.ErrorToken {
		return t
	}
	attributes := false
	if isTag(kind) {
		var name []byte
		name, attributes = p.TagName()
		t.name = string(name)
	}
	t.border, t.verbatim = p.structure(t.name, kind), !p.XML && verbatim[t.name]
	if isTag(kind) {
		t.border = p.Splitting[t.name] || t.border && !p.NonSplitting[t.name]
	}
	t.keep = kind == html.StartTagToken && (p.XML || !void[t.name]) &&
		(p.Ignored[t.name] || attributes && untranslated(p.Tokenizer))
	return t
}

// begin begins a text.
func (p *parser) begin() {
	p.from, p.text, p.tags, p.open, p.elements, p.kept = p.to, strings.Builder{}, nil, map[string][]int{}, nil, nil
}

// end ends a text at a place of the document, and begins the next one behind the token at hand.
func (p *parser) end(to int) {
	x := &marked{raw: p.document[p.from:to], text: p.text.String(), tags: p.tags, kept: p.elements, lines: p.Lines,
		xml: p.XML}
	x.kept = slices.DeleteFunc(x.kept, func(e keptElement) bool { return x.textOf(e) == "" })
	p.done = append(p.done, x.parts()...)
	p.begin()
}

// copy copies a token of an element that is copied.
func (p *parser) copy(t token) {
	p.done, p.from = append(p.done, part{raw: t.raw}), t.to
	switch {
	case t.name != p.skip:
	case t.kind == html.StartTagToken:
		p.depth++
	case t.kind == html.EndTagToken:
		if p.depth--; p.depth == 0 {
			p.skip = ""
		}
	}
}

// copyKept ends a text within what is not to be translated, which is copied then, up to a token and beyond it.
func (p *parser) copyKept(t token) {
	outer := p.kept[0]
	first := outer.tag
	p.skip, p.depth = outer.name, 1
	for _, i := range p.open[p.skip] {
		if i > first {
			p.depth++
		}
	}
	before := p.text.String()[:p.tags[first].at]
	p.text.Reset()
	p.text.WriteString(before)
	p.tags = p.tags[:first]
	p.forget(first)
	for i, t := range p.tags {
		if t.pair >= first {
			p.tags[i].open, p.tags[i].pair = 0, -1
		}
	}
	p.end(outer.from)
	p.done = append(p.done, part{raw: p.document[outer.from:t.to]})
}

// splitsKept reports whether a text would end, at a token, within what is not to be translated and ends behind it.
func (p *parser) splitsKept(t token) bool {
	if t.kind == html.EndTagToken || !t.border && !t.verbatim {
		return false
	}
	for len(p.kept) > 0 && p.closed(p.kept[0].name) <= t.from { // it is not closed at all
		p.kept = p.kept[1:]
	}
	return len(p.kept) > 0
}

// put puts a tag, or a comment, into the text.
func (p *parser) put(t token) {
	here := len(p.tags)
	p.tags = append(p.tags, tag{raw: t.raw, at: p.text.Len(), pair: -1})
	switch t.kind {
	case html.StartTagToken:
		p.open[t.name] = append(p.open[t.name], here)
		if t.keep || !p.XML && t.name == "code" {
			p.kept = append(p.kept, keptTag{here, t.from, t.name})
		}
	case html.EndTagToken:
		if open := p.open[t.name]; len(open) > 0 {
			p.open[t.name] = open[:len(open)-1]
			p.pair(open[len(open)-1], here)
		}
	}
}

// pair makes an element of two tags.
func (p *parser) pair(first, last int) {
	p.tags[first].open, p.tags[first].pair = 1, last
	p.tags[last].open, p.tags[last].pair = -1, first
	if at, kept := slices.BinarySearchFunc(p.kept, first, keptTag.compare); kept {
		raw := p.document[p.kept[at].from:p.to]
		p.forget(first)
		p.elements = append(p.elements, keptElement{first, last, raw})
	}
}

// forget takes back what is kept from a tag on: it lies within the element that the tag begins, or crosses it.
func (p *parser) forget(first int) {
	element, _ := slices.BinarySearchFunc(p.elements, first, func(e keptElement, tag int) int { return e.first - tag })
	open, _ := slices.BinarySearchFunc(p.kept, first, keptTag.compare)
	p.elements, p.kept = p.elements[:element], p.kept[:open]
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
