package markup

import "strings"

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

// parts are the text, where it has words, or else what it was.
func (x *marked) parts() []part {
	if x.hasText() {
		x.nest()
		return []part{{text: x}}
	}
	raw := x.raw(0, len(x.tags)-1, 0, len(x.text))
	if raw == "" {
		return nil
	}
	return []part{{raw: raw}}
}

// deepest is the most elements of a text that hold a word.
const deepest = 64

// nest takes elements apart that cross others, or lie too deep: their tags stand by themselves.
func (x *marked) nest() {
	var open []int
	apart := func(i int) { x.tags[i].open, x.tags[x.tags[i].pair].open = 0, 0 }
	for i := range x.tags {
		switch t := x.tags[i]; {
		case t.open == 1 && len(open) == deepest:
			apart(i)
		case t.open == 1:
			open = append(open, i)
		case t.open == -1:
			for open[len(open)-1] != t.pair {
				apart(open[len(open)-1])
				open = open[:len(open)-1]
			}
			open = open[:len(open)-1]
		}
	}
}
