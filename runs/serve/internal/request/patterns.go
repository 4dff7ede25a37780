package request

import (
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// maxSteps bounds the size of the patterns of a request together.
	maxSteps = 10_000
	// maxWork bounds the steps that a request's patterns take in its texts. Where all steps of a pattern are taken at
	// each character, they are about 1.5 s of a processor.
	maxWork = 100_000_000
	// A search takes some time itself, and so does each character that it reads: about that of these steps.
	workOfSearch, workOfCharacter = 30, 2
)

// Patterns are regular expressions that are looked for in the texts of one request.
type Patterns struct {
	name string // of their field
	list []pattern
	left int // steps that they may still take
}

// pattern is a regular expression, which may be a text as it stands.
type pattern struct {
	text  string
	first *regexp.Regexp // finds it in a text
	next  *regexp.Regexp // finds it behind the first character of a text, as the only group
	steps int            // that each character takes
}

// Patterns is a field that is a regular expression, or a list of them.
func (f Fields) Patterns(name string) (*Patterns, error) {
	p := &Patterns{name: name, left: maxWork}
	if f[name] == nil || f[name] == "" {
		return p, nil
	}
	texts, _, err := f.Texts(name)
	if err != nil {
		return nil, err
	}
	if len(texts) > maxTerms {
		return nil, Invalid("%s has more than %d entries", name, maxTerms)
	}
	size := 0
	for _, text := range texts {
		var one pattern
		tree, err := syntax.Parse(text, syntax.Perl)
		if err == nil {
			if size += steps(tree, maxSteps); size > maxSteps {
				return nil, Invalid("the expressions of %s are too large together, with their repetitions written "+
					"out: ask for less, or for fewer repetitions", name)
			}
			one, err = newPattern(text, tree)
		}
		if err != nil {
			return nil, Invalid("%s: %q is no regular expression of Go (RE2's syntax)", name, text)
		}
		p.list = append(p.list, one)
	}
	return p, nil
}

// steps is about how many steps an expression has, its repetitions written out; above most it is not exact.
func steps(tree *syntax.Regexp, most int) int {
	n := 1 + len(tree.Rune)/2
	for _, sub := range tree.Sub {
		if n += steps(sub, most); n > most {
			return n
		}
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(1, tree.Min, tree.Max)
	}
	return n
}

// newPattern is an expression, given what it was parsed to.
func newPattern(expression string, tree *syntax.Regexp) (one pattern, err error) {
	one.steps = steps(tree, maxSteps) + workOfCharacter
	if tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 {
		one.text = string(tree.Rune)
		return one, nil
	}
	if one.first, err = regexp.Compile(expression); err == nil {
		one.next, err = regexp.Compile("(?s:..*?)(" + withoutGroups(expression) + ")")
	}
	return one, err
}

// tokens are those parts of an expression in which a parenthesis begins no group, and the beginnings of groups.
var tokens = regexp.MustCompile(`(?s)\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\]|` +
	`\(\?P?<[^>]*>|\(\??`)

// withoutGroups is an expression that notes no groups: to note where each stands would take a multiple of its steps.
func withoutGroups(expression string) string {
	return tokens.ReplaceAllStringFunc(expression, func(token string) string {
		switch quoted, quotes := strings.CutPrefix(token, `\Q`); {
		case quotes:
			return regexp.QuoteMeta(strings.TrimSuffix(quoted, `\E`))
		case token == "(" || strings.HasSuffix(token, ">") && token[0] == '(':
			return "(?:"
		}
		return token
	})
}

// In gives the places of a text at which the patterns match: of all matches that begin at one byte, the longest. A
// search for the next match may read on to the end of the text, so that all together may take time by the square of
// its length: therefore each counts what it reads.
func (p *Patterns) In(ctx context.Context, text string) (places [][2]int, err error) {
	if len(p.list) == 0 {
		return nil, nil
	}
	ends := make([]int, len(text)+1) // by the byte at which matches begin
	for _, one := range p.list {
		for at := 0; at < len(text); {
			begin, end := p.search(ctx, one, text, at)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if p.left < 0 {
				return nil, Invalid("the expressions of %s take more than %d steps in these texts: ask for less, or "+
					"send less text at a time", p.name, maxWork)
			}
			if begin < 0 {
				break
			}
			ends[begin] = max(ends[begin], end)
			if at = end; begin == end {
				_, width := utf8.DecodeRuneInString(text[at:])
				at += width
			}
		}
	}
	for begin, end := range ends {
		if end > begin {
			places = append(places, [2]int{begin, end})
		}
	}
	return places, nil
}

// search gives the first match of a pattern that begins at a place of a text or behind it, -1 where there is none. It
// ends early where no steps are left, or ctx is cancelled.
func (p *Patterns) search(ctx context.Context, one pattern, text string, from int) (begin, end int) {
	if one.first == nil {
		p.left--
		if begin = strings.Index(text[from:], one.text); begin < 0 {
			return -1, -1
		}
		return from + begin, from + begin + len(one.text)
	}
	p.left -= workOfSearch
	var found []int
	if from == 0 {
		found = one.first.FindReaderIndex(&counted{ctx, strings.NewReader(text), one.steps, &p.left})
	} else { // from the character before, by which ^ and \b go
		_, width := utf8.DecodeLastRuneInString(text[:from])
		from -= width
		found = one.next.FindReaderSubmatchIndex(&counted{ctx, strings.NewReader(text[from:]), one.steps, &p.left})
		found = found[min(2, len(found)):]
	}
	if len(found) == 0 {
		return -1, -1
	}
	return from + found[0], from + found[1]
}

// counted is a text that ends where no steps are left, or ctx is cancelled.
type counted struct {
	ctx   context.Context
	text  *strings.Reader
	steps int // that each character takes
	left  *int
}

// ReadRune is that of [io.RuneReader].
func (c *counted) ReadRune() (r rune, size int, err error) {
	if *c.left -= c.steps; *c.left < 0 || c.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return c.text.ReadRune()
}
