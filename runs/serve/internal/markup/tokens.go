package markup

import (
	"strings"

	"golang.org/x/net/html"
)

// tokens reads a document token by token.
type tokens struct {
	*html.Tokenizer
	xml bool
}

func newTokens(document string, xml bool) tokens {
	z := tokens{html.NewTokenizer(strings.NewReader(document)), xml}
	z.AllowCDATA(xml)
	return z
}

// next is the next token and its text. A section of CDATA is a comment: it is copied as it is. A tag that closes itself
// holds nothing in HTML either, as XHTML has it: behind <title/> stands no text of a title.
func (z tokens) next() (html.TokenType, string) {
	kind := z.Next()
	raw := string(z.Raw())
	switch {
	case kind == html.SelfClosingTagToken || z.xml && kind == html.StartTagToken:
		z.NextIsNotRawText() // <title> and <style> of XML hold elements
	case z.xml && kind == html.TextToken && strings.HasPrefix(raw, "<![CDATA["):
		kind = html.CommentToken
	}
	return kind, raw
}

// outline says of each tag of an XML document, asked for in their order, whether a text ends there. An element that
// holds elements and no text is structure where the one around it is, and texts end where what it holds begins and
// ends; all other elements stand within a text.
func outline(document string) func(name string, kind html.TokenType) bool {
	type element struct {
		name        string
		parent      int
		text, holds bool // text, or elements, directly in it
	}
	all := []element{{parent: -1}} // the document first
	var tags []int                 // the element of each tag, 0 for none
	here, open := 0, map[string]int{}
	z := newTokens(document, true)
	for {
		kind, raw := z.next()
		switch kind {
		case html.ErrorToken:
			structure := make([]bool, len(all))
			for i, e := range all {
				structure[i] = (i == 0 || structure[e.parent]) && e.holds && !e.text
			}
			return func(_ string, kind html.TokenType) bool {
				if !isTag(kind) {
					return false
				}
				e := tags[0]
				tags = tags[1:]
				return e > 0 && structure[all[e].parent]
			}
		case html.TextToken:
			all[here].text = all[here].text || strings.TrimSpace(raw) != ""
		case html.CommentToken:
			all[here].text = all[here].text || strings.HasPrefix(raw, "<![CDATA[")
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			all[here].holds = true
			all = append(all, element{name: string(name), parent: here})
			tags = append(tags, len(all)-1)
			if kind == html.StartTagToken {
				here = len(all) - 1
				open[all[here].name]++
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			ended := 0
			for open[string(name)] > 0 && ended == 0 { // what was not closed ends with what holds it
				open[all[here].name]--
				if all[here].name == string(name) {
					ended = here
				}
				here = all[here].parent
			}
			tags = append(tags, ended)
		}
	}
}

func isTag(kind html.TokenType) bool {
	return kind == html.StartTagToken || kind == html.EndTagToken || kind == html.SelfClosingTagToken
}
