package align

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// Lexicon translates words by one word each.
type Lexicon struct {
	words map[string]string
}

// Word is the translation of a source word, if it has one.
func (l *Lexicon) Word(source string) (target string, known bool) {
	target, known = l.words[source]
	return target, known
}

// Len counts source words.
func (l *Lexicon) Len() int { return len(l.words) }

// wordPair is a source and a target word, by their numbers.
type wordPair struct{ source, target int32 }

// linked is how often a pair of words is linked, and how many pairs were linked earlier than its first link.
type linked struct{ count, first int }

// count counts linked words. links has a list for each pair of sentences.
func (c *Corpus) count(links [][]Link) (map[wordPair]linked, error) {
	if len(links) != c.Len() {
		return nil, fmt.Errorf("%d pairs and %d lines of links do not belong together", c.Len(), len(links))
	}
	counts := map[wordPair]linked{}
	for k, list := range links {
		source, target := c.source.sentence(k), c.target.sentence(k)
		for _, l := range list {
			if int(l.Source) >= len(source) || int(l.Target) >= len(target) {
				return nil, fmt.Errorf("line %d: link %s points beyond %d source and %d target words: the links are "+
					"those of another text", k+1, Format([]Link{l}), len(source), len(target))
			}
			p := wordPair{source[l.Source], target[l.Target]}
			f, known := counts[p]
			if !known {
				f.first = len(counts)
			}
			f.count++
			counts[p] = f
		}
	}
	return counts, nil
}

// LearnLexicon takes for each source word the target word that it is linked to most often, on a tie the first. links
// has a list for each pair. A link beyond its sentence is an error.
func LearnLexicon(c *Corpus, links [][]Link) (*Lexicon, error) {
	counts, err := c.count(links)
	if err != nil {
		return nil, err
	}
	type choice struct {
		target int32
		linked
	}
	best := map[int32]choice{}
	for p, f := range counts {
		b, known := best[p.source]
		if !known || f.count > b.count || f.count == b.count && f.first < b.first {
			best[p.source] = choice{p.target, f}
		}
	}
	lexicon := &Lexicon{make(map[string]string, len(best))}
	for id, b := range best {
		lexicon.words[c.source.words[id]] = c.target.words[b.target]
	}
	return lexicon, nil
}

// Write writes a line for each source word, in byte order: the word, a tab and its translation.
func (l *Lexicon) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, source := range slices.Sorted(maps.Keys(l.words)) {
		fmt.Fprintf(b, "%s\t%s\n", source, l.words[source])
	}
	return b.Flush()
}

// ReadLexicon reads what Write wrote; name stands for r in errors.
func ReadLexicon(r io.Reader, name string) (*Lexicon, error) {
	l := &Lexicon{map[string]string{}}
	lines := tokenize.NewLines(r, name).Table()
	for lines.Next() {
		row := lines.Row()
		source, target, found := strings.Cut(row, "\t")
		if !found || source == "" || target == "" || strings.Contains(target, "\t") {
			return nil, lines.Errorf("%.80q: a line is a word, a tab and its translation", row)
		}
		if _, twice := l.words[source]; twice {
			return nil, lines.Errorf("%.80q has a translation already: leave one of the lines out", source)
		}
		l.words[source] = target
	}
	return l, lines.Err()
}
