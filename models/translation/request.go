package translation

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
)

// Request is a raw line, and what its translation must hold. Text is raw and goes through the run's own text path.
type Request struct {
	Line   string
	Prefix string           // the translation begins with these words, the last of which SentencePiece may lengthen
	Terms  *Glossary        // whose terms apply to the line
	Keep   []*regexp.Regexp // what these match in the line stands in the translation unchanged
	KeepAt [][2]int         // what stands there in the line, from the first byte to before the second, does so too
}

// Term says how a word or several are translated.
type Term struct{ Source, Target string }

// Glossary is terms as a translator reads them. Several calls and goroutines may share it.
type Glossary struct {
	of     *Translator
	given  []Term
	terms  []term
	starts map[string][]int // by the first word of a source
}

type term struct {
	source []string
	target phrase
}

// phrase is text that a translation must hold.
type phrase struct {
	ids  []int32
	text string // as it stands in the translation
}

// TermError says which term, counted from 0, cannot be used.
type TermError struct {
	Term   int
	Source string
	Err    error
}

func (e *TermError) Error() string {
	return fmt.Sprintf("term %.80q: %v", e.Source, e.Err)
}

// Unwrap is the reason.
func (e *TermError) Unwrap() error { return e.Err }

// Glossary prepares terms for requests to this translator. A term applies to a line where its source occurs among the
// line's words, as the run tokenises and cases them; its target then stands in the translation, once however often the
// source occurs. A *TermError names one that cannot be used.
func (t *Translator) Glossary(ctx context.Context, terms []Term) (*Glossary, error) {
	g := &Glossary{of: t, given: slices.Clone(terms), starts: map[string][]int{}}
	known := map[string]bool{}
	for i, given := range terms {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		target, err := t.phrase(given.Target, t.Text.Target.Cased(given.Target))
		sources := t.termSources(given.Source)
		if err == nil && len(sources) == 0 {
			err = fmt.Errorf("%q has no words to look for", given.Source)
		}
		if err != nil {
			return nil, &TermError{i, given.Source, err}
		}
		for _, source := range sources {
			key := strings.Join(source, " ") + "\t" + target.text
			if !known[key] {
				known[key] = true
				g.starts[source[0]] = append(g.starts[source[0]], len(g.terms))
				g.terms = append(g.terms, term{source, target})
			}
		}
	}
	return g, nil
}

// termSources are the ways in which the words of a term may stand in a tokenised line: a full stop at the end may
// belong to the last word, or be one of its own.
func (t *Translator) termSources(text string) (ways [][]string) {
	side := t.Text.Source
	add := func(words []string) {
		if len(words) > 0 && !slices.ContainsFunc(ways, func(w []string) bool { return slices.Equal(w, words) }) {
			ways = append(ways, words)
		}
	}
	words := func(text string) []string { // by way of symbols, as a line's, which SentencePiece normalises
		return side.Words(side.Join(side.Units(strings.Join(side.Phrase(text), " "))))
	}
	add(words(text))
	if strings.HasSuffix(strings.TrimSpace(text), ".") {
		within := words(text + " X")
		add(within[:max(0, len(within)-1)])
	}
	return ways
}

// apply are the targets of the terms that occur among words.
func (g *Glossary) apply(words []string) (found []phrase) {
	if g == nil {
		return nil
	}
	done := make([]bool, len(g.terms)) // a caller may send a thousand terms for each of ten thousand words
	demanded := map[string]bool{}
	for at := range words {
		for _, i := range g.starts[words[at]] {
			x := g.terms[i]
			if done[i] || at+len(x.source) > len(words) || !slices.Equal(words[at:at+len(x.source)], x.source) {
				continue
			}
			if done[i] = true; !demanded[x.target.text] {
				demanded[x.target.text] = true
				found = append(found, x.target)
			}
		}
	}
	return found
}

// phrase is raw text as ids. One with a word that the vocabulary does not have is a single unknown word, in whose place
// the text is put afterwards: phrases that have to be written so do not overlap.
func (t *Translator) phrase(raw, text string) (phrase, error) {
	side := t.Text.Target
	p, err := t.asPhrase(side.Units(strings.Join(side.Phrase(raw), " ")), text)
	if slices.Contains(p.ids, tokenize.Unk) {
		p.ids = []int32{tokenize.Unk}
	}
	return p, err
}

func (t *Translator) asPhrase(units []string, text string) (phrase, error) {
	p := phrase{ids: t.Text.Target.Vocabulary.Encode(units), text: text}
	if strings.TrimSpace(text) == "" {
		return p, fmt.Errorf("the text that the translation must hold is empty")
	}
	if len(p.ids) == 0 {
		p.ids = []int32{tokenize.Unk}
	}
	for i, id := range p.ids {
		if id < tokenize.Unk {
			p.ids[i] = tokenize.Unk
		}
		if v := t.Text.Vectors; v != nil && !finiteNonZero(v.Rows[int(p.ids[i])*v.Width:][:v.Width]) {
			return p, fmt.Errorf("%q cannot be demanded: the output layer finds words by their vectors and has none "+
				"for %q",
				text, t.Text.Target.Vocabulary.Token(id))
		}
	}
	return p, nil
}

// finiteNonZero reports whether a vector has a direction.
func finiteNonZero(v []float32) bool {
	some := false
	for _, x := range v {
		if x != x {
			return false
		}
		some = some || x != 0
	}
	return some
}

// demand is what one line's translation must hold.
type demand struct {
	prefix  *phrase
	phrases []phrase
}

// constraint is the demand in ids.
func (d demand) constraint() (c decode.Constraint) {
	if d.prefix != nil {
		c.Prefix = d.prefix.ids
	}
	for _, p := range d.phrases {
		c.Phrases = append(c.Phrases, p.ids)
	}
	return c
}

// demands reads what a request asks for.
func (t *Translator) demands(r Request, tokenised string) (d demand, err error) {
	if strings.TrimSpace(r.Prefix) != "" {
		if err := t.readable(r.Prefix); err != nil {
			return d, fmt.Errorf("its prefix: %w", err)
		}
		side := t.Text.Target
		p, err := t.asPhrase(side.Units(side.Tokenize(r.Prefix)), side.Cased(r.Prefix))
		if err != nil {
			return d, err
		}
		d.prefix = &p
	}
	d.phrases = r.Terms.apply(t.Text.Source.Words(tokenised))
	terms := len(d.phrases)
	spans, err := r.kept(context.Background())
	if err != nil {
		return d, err
	}
	for _, span := range spans {
		text := r.Line[span[0]:span[1]]
		p, err := t.phrase(text, text)
		if err != nil {
			return d, err
		}
		// A term that asks for the same text once is met by it.
		if at := slices.IndexFunc(d.phrases, func(o phrase) bool { return o.text == text }); at >= 0 && at < terms {
			d.phrases, terms = slices.Delete(d.phrases, at, at+1), terms-1
		}
		d.phrases = append(d.phrases, p)
	}
	if d.prefix != nil { // what stands there already is met
		had := map[string]int{}
		d.phrases = slices.DeleteFunc(d.phrases, func(p phrase) bool {
			had[p.text]++
			return tokenize.CountWords(d.prefix.text, p.text) >= had[p.text]
		})
	}
	return d, nil
}

// kept is where the line holds what stays, without the white space around it, in rising order; of spans that overlap
// the first and longest.
func (r Request) kept(ctx context.Context) (spans [][2]int, err error) {
	if len(r.KeepAt) == 0 && len(r.Keep) == 0 {
		return nil, nil
	}
	ends := make([]int, len(r.Line)+1) // by the byte at which spans begin, the end of the longest
	for _, s := range r.KeepAt {
		if s[0] < 0 || s[1] < s[0] || s[1] > len(r.Line) {
			return nil, fmt.Errorf("bytes %d to %d of it are to be kept, and it has %d", s[0], s[1], len(r.Line))
		}
		ends[s[0]] = max(ends[s[0]], s[1])
	}
	for _, p := range r.Keep {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, s := range p.FindAllStringIndex(r.Line, -1) {
			ends[s[0]] = max(ends[s[0]], s[1])
		}
	}
	end := 0
	for begin, stop := range ends {
		if begin < end || stop <= begin {
			continue
		}
		text := strings.TrimLeftFunc(r.Line[begin:stop], unicode.IsSpace)
		if text == "" {
			continue
		}
		end = stop
		from := end - len(text)
		spans = append(spans, [2]int{from, from + len(strings.TrimSpace(text))})
	}
	return spans, nil
}
