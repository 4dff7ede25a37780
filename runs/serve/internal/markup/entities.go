package markup

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// What stands between the elements and declarations of XML, and a value between its quotes.
const (
	between = `\s|\x{feff}|<\?(?:[^?]|\?+[^?>])*\?+>|<!--(?:[^-]|-[^-])*-->`
	quoted  = `"[^"]*"|'[^']*'`
)

// prolog is what a document of XML has up to the end of its DOCTYPE, with declarations between brackets and all. The
// tokenizer would end the DOCTYPE at its first ">", and take the declarations behind it for text.
var prolog = regexp.MustCompile(`^(?:` + between + `)*<!DOCTYPE(?:` + quoted + `|[^\["'>])*` +
	`(?:\[(?:` + between + `|` + quoted + `|[^\]"'])*\]\s*)?>`)

// declaration declares an entity, and reference refers to one by its name.
var (
	declaration = regexp.MustCompile(`<!ENTITY\s+([^\s%]+)\s`)
	reference   = regexp.MustCompile(`&[\pL_:][\pL\pN_:.-]*;`)
)

// declaredIn are the references to the entities that a prolog declares.
func declaredIn(prolog string) map[string]bool {
	declared := map[string]bool{}
	for _, found := range declaration.FindAllStringSubmatch(prolog, -1) {
		declared["&"+found[1]+";"] = true
	}
	return declared
}

// characters puts characters of a document into the text. What an entity of XML stands for is known only where HTML has
// it and the document declares none of its own: a reference to any other stays, and is not translated.
func (p *parser) characters(raw string) {
	from := 0
	if p.XML {
		for _, at := range reference.FindAllStringIndex(raw, -1) {
			name := raw[at[0]:at[1]]
			character := html.UnescapeString(name) // of &notit; a part, and the semicolon
			if !p.declared[name] && (character == ";" || !strings.HasSuffix(character, ";")) {
				continue
			}
			p.text.WriteString(html.UnescapeString(raw[from:at[0]]))
			begin := len(p.tags)
			p.tags = append(p.tags, tag{at: p.text.Len(), pair: -1})
			p.text.WriteString(name)
			p.tags = append(p.tags, tag{at: p.text.Len(), pair: -1})
			p.elements = append(p.elements, keptElement{begin, begin + 1, name})
			from = at[1]
		}
	}
	p.text.WriteString(html.UnescapeString(raw[from:]))
}
