package tokenize

import (
	"bytes"
	"strings"
	"sync"
)

// Normalizer makes punctuation uniform as Moses's normalize-punctuation does: ASCII quotes and dashes; spaces around
// punctuation, and quotes beside stops, by language. It is immutable and safe for concurrent use.
type Normalizer struct {
	quoteOrder   quoteOrder
	decimalPoint string // between digits in place of a no-break space
	single       string // what ‘ and ‚ become
	scratch      sync.Pool
}

// quoteOrder says what happens where a closing quote meets a stop or comma.
type quoteOrder uint8

const (
	stopsBeforeQuote quoteOrder = iota // English: "end".  becomes "end."
	quoteBeforeStops                   // German, French: "end." becomes "end".
	asWritten                          // Czech
)

// nbsp is U+00A0, which French and German put between numbers and punctuation.
const nbsp = "\u00A0"

// NewNormalizer prepares a normaliser. Czech, German, Spanish and French have a decimal comma; all languages but
// English and Czech put quotes before stops.
func NewNormalizer(language string, version MosesVersion) *Normalizer {
	n := &Normalizer{quoteOrder: quoteBeforeStops, decimalPoint: ".", single: "'"}
	switch language {
	case "en", "":
		n.quoteOrder = stopsBeforeQuote
	case "cs", "cz":
		n.quoteOrder = asWritten
		n.decimalPoint = ","
	case "de", "es", "fr":
		n.decimalPoint = ","
	}
	if version == Moses2017 {
		n.single = `"`
	}
	n.scratch.New = func() any { return new(rewriter) }
	return n
}

// Normalize returns line, which has no line feed, normalised. Moses works on bytes here: classes are ASCII's.
func (n *Normalizer) Normalize(line string) string {
	if isNormal(line) {
		return line
	}
	r := n.scratch.Get().(*rewriter)
	r.text = append(r.text[:0], line...)
	n.rewrite(r)
	normal := string(r.text)
	n.scratch.Put(r)
	return normal
}

// isNormal reports whether no rule can apply, which holds for most lines of plain text.
func isNormal(line string) bool {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\r', '(', ')', '`', '"', 0xC2, 0xE2:
			return false
		case ' ':
			if i+1 < len(line) && strings.IndexByte(" %:;", line[i+1]) >= 0 {
				return false
			}
		case '\'':
			if i+1 < len(line) && line[i+1] == '\'' {
				return false
			}
		}
	}
	return true
}

// rewrite applies the rules in Moses's order: later ones see the results of
// earlier ones.
func (n *Normalizer) rewrite(r *rewriter) {
	r.replace("\r", "")
	if r.has("(") || r.has(")") {
		r.replace("(", " (")
		r.replace(")", ") ")
		r.squeeze()
		r.replaceAll(") .", ").", ") !", ")!", ") :", "):", ") ?", ")?", ") ;", ");", ") ,", "),", "( ", "(", " )", ")")
	} else {
		r.squeeze()
	}
	r.betweenASCII(isDigit, " %", "%", nil)
	r.replaceAll(" :", ":", " ;", ";", "`", "'", "''", ` " `)
	if r.has("\xE2\x80") || r.has("\xC2") {
		n.rewriteTypographic(r)
	} else {
		r.squeeze()
	}

	switch n.quoteOrder {
	case stopsBeforeQuote:
		r.stopsBeforeQuote()
	case quoteBeforeStops:
		r.replace(`,"`, `",`)
		r.quoteBeforeStops()
	}
	r.betweenASCII(isDigit, nbsp, n.decimalPoint, isDigit)
}

// rewriteTypographic applies the rules for quotes, dashes and no-break spaces.
func (n *Normalizer) rewriteTypographic(r *rewriter) {
	r.replaceAll("„", `"`, "“", `"`, "”", `"`, "–", "-", "—", " - ")
	r.squeeze()
	r.replace("´", "'")
	r.betweenASCII(isLetter, "‘", "'", isLetter)
	r.betweenASCII(isLetter, "’", "'", isLetter)
	r.replaceAll("‘", n.single, "‚", n.single, "’", `"`, "''", `"`, "…", "...",
		nbsp+"«"+nbsp, ` "`, "«"+nbsp, `"`, "«", `"`, nbsp+"»"+nbsp, `" `, nbsp+"»", `"`, "»", `"`)
	if r.has(nbsp) {
		r.replaceAll(nbsp+"%", "%", "nº"+nbsp, "nº ", nbsp+":", ":", nbsp+"ºC", " ºC", nbsp+"cm", " cm", nbsp+"?", "?",
			nbsp+"!", "!", nbsp+";", ";", ","+nbsp, ", ")
	}
	r.squeeze()
}

// rewriter is a line under replacement, and the buffer for its next state.
type rewriter struct{ text, next []byte }

func (r *rewriter) has(s string) bool { return bytes.Contains(r.text, []byte(s)) }

// swap makes next the line.
func (r *rewriter) swap() { r.text, r.next = r.next, r.text }

// replace replaces every old, left to right, none overlapping.
func (r *rewriter) replace(old, replacement string) {
	rest := r.text
	at := bytes.Index(rest, []byte(old))
	if at < 0 {
		return
	}
	r.next = r.next[:0]
	for at >= 0 {
		r.next = append(append(r.next, rest[:at]...), replacement...)
		rest = rest[at+len(old):]
		at = bytes.Index(rest, []byte(old))
	}
	r.next = append(r.next, rest...)
	r.swap()
}

// replaceAll replaces the first of each two texts by the second, one pair after the other.
func (r *rewriter) replaceAll(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		r.replace(pairs[i], pairs[i+1])
	}
}

// squeeze turns runs of spaces into one.
func (r *rewriter) squeeze() {
	for r.has("  ") {
		r.replace("  ", " ")
	}
}

// betweenASCII replaces old between bytes for which before and after hold; after may be nil. A match uses up both
// bytes.
func (r *rewriter) betweenASCII(before func(byte) bool, old, replacement string, after func(byte) bool) {
	if !r.has(old) {
		return
	}
	r.next = r.next[:0]
	free := 0 // the first byte that no match has used up
	for i := 0; i < len(r.text); {
		end := i + len(old)
		if !bytes.HasPrefix(r.text[i:], []byte(old)) || i-1 < free || !before(r.text[i-1]) ||
			after != nil && (end >= len(r.text) || !after(r.text[end])) {
			r.next = append(r.next, r.text[i])
			i++
			continue
		}
		r.next = append(r.next, replacement...)
		i = end
		free = end
		if after != nil {
			free = end + 1
		}
	}
	r.swap()
}

// stopsBeforeQuote moves a run of stops and commas behind a quote before it.
func (r *rewriter) stopsBeforeQuote() {
	if !r.has(`"`) {
		return
	}
	r.next = r.next[:0]
	for i := 0; i < len(r.text); {
		end := i + 1
		if r.text[i] == '"' {
			for end < len(r.text) && (r.text[end] == ',' || r.text[end] == '.') {
				end++
			}
		}
		r.next = append(append(r.next, r.text[i+1:end]...), r.text[i])
		i = end
	}
	r.swap()
}

// quoteBeforeStops moves a quote before the run of full stops in front of it, unless < follows. Spaces and a character
// behind the quote are used up; the line feed at the line's end counts as one.
func (r *rewriter) quoteBeforeStops() {
	if !r.has(`."`) {
		return
	}
	r.next = r.next[:0]
	for i := 0; i < len(r.text); {
		quote := i
		for quote < len(r.text) && r.text[quote] == '.' {
			quote++
		}
		after := quote + 1
		if quote == i || quote == len(r.text) || r.text[quote] != '"' || after < len(r.text) && r.text[after] == '<' {
			end := max(quote, i+1) // a run of stops fails as a whole, wherever a match would begin
			r.next = append(r.next, r.text[i:end]...)
			i = end
			continue
		}
		r.next = append(append(r.next, '"'), r.text[i:quote]...)
		i = after
		for i < len(r.text) && isSpace(r.text[i]) {
			i++
		}
		if i < len(r.text) && r.text[i] != '<' {
			i++
		}
		r.next = append(r.next, r.text[after:i]...)
	}
	r.swap()
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }
func isSpace(c byte) bool  { return c == ' ' || '\t' <= c && c <= '\r' }
