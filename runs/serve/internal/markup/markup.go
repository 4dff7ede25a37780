package markup

import "strings"

// blocks are the elements of HTML that end a text where they begin and end; all others stand within it. void are those
// that have no contents.
var blocks, void = map[string]bool{}, map[string]bool{}

// verbatim are the elements whose contents are no text to translate.
var verbatim = map[string]bool{"script": true, "style": true, "pre": true, "textarea": true, "template": true, "svg": true,
	"math": true, "iframe": true, "noscript": true, "noembed": true, "noframes": true, "plaintext": true, "xmp": true}

func init() {
	for name := range strings.FieldsSeq("address article aside blockquote body br button center dd details dialog div dl dt " +
		"fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html li legend main menu nav ol optgroup " +
		"option p section select summary table tbody td tfoot th thead title tr ul video audio canvas object") {
		blocks[name] = true
	}
	for name := range strings.FieldsSeq("area base br col embed hr img input link meta source track wbr") {
		void[name] = true
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
	raw   string // what the document had
	text  string
	tags  []tag
	kept  []keptElement
	lines bool // see Options
	xml   bool
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
	XML   bool // no element has a meaning of its own
	Lines bool // line breaks end sentences; else they are spaces

	// Names of elements, in lower case: those that are not to be translated, those that end a text wherever they stand,
	// and those that never do.
	Ignored, Splitting, NonSplitting map[string]bool
	NoOutline                        bool // no other element of XML ends a text than Splitting
}

// parts are the text, where it has words, or else what it was.
func (x *marked) parts() []part {
	if x.hasText() {
		x.nest()
		return []part{{text: x}}
	}
	if x.raw == "" {
		return nil
	}
	return []part{{raw: x.raw}}
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
