package align

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// Shortlist says which words the translation of a sentence may have.
type Shortlist struct {
	Always []string            // in every translation, the most frequent first
	Of     map[string][]string // where this source word stands in the sentence, the best first
}

// LearnShortlist takes the `always` most frequent target words, and for each source word the `best` target words that
// it is linked to most often, on a tie the first. links has a list for each pair. A link beyond its sentence is an
// error.
func LearnShortlist(c *Corpus, links [][]Link, always, best int) (*Shortlist, error) {
	counts, err := c.count(links)
	if err != nil {
		return nil, err
	}
	target := c.target.words
	frequent := make([]int32, len(target))
	times := make([]int, len(target))
	for i := range frequent {
		frequent[i] = int32(i)
	}
	for _, id := range c.target.text {
		times[id]++
	}
	slices.SortStableFunc(frequent, func(a, b int32) int { return times[b] - times[a] })
	l := &Shortlist{Of: map[string][]string{}}
	for _, id := range frequent[:min(always, len(frequent))] {
		l.Always = append(l.Always, target[id])
	}
	pairs := slices.SortedFunc(maps.Keys(counts), func(a, b wordPair) int {
		x, y := counts[a], counts[b]
		return cmp.Or(cmp.Compare(y.count, x.count), cmp.Compare(x.first, y.first))
	})
	for _, p := range pairs {
		if word := c.source.words[p.source]; len(l.Of[word]) < best {
			l.Of[word] = append(l.Of[word], target[p.target])
		}
	}
	return l, nil
}

// Write writes a line for each source word, in byte order: the word, a tab, and its target words with spaces between
// them. The first line, whose source word is empty, has those that are always in the list.
func (l *Shortlist) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "\t%s\n", strings.Join(l.Always, " "))
	for _, source := range slices.Sorted(maps.Keys(l.Of)) {
		fmt.Fprintf(b, "%s\t%s\n", source, strings.Join(l.Of[source], " "))
	}
	return b.Flush()
}

// ReadShortlist reads what Write wrote; name stands for r in errors.
func ReadShortlist(r io.Reader, name string) (*Shortlist, error) {
	l := &Shortlist{Of: map[string][]string{}}
	lines := tokenize.NewLines(r, name).Table()
	first := true
	for ; lines.Next(); first = false {
		row := lines.Row()
		source, targets, found := strings.Cut(row, "\t")
		_, twice := l.Of[source]
		var words []string
		if targets != "" {
			words = strings.Split(targets, " ")
		}
		switch {
		case !found || strings.Contains(targets, "\t"):
			return nil, lines.Errorf("%.80q: a line is a word, a tab, and target words with spaces between them", row)
		case first != (source == ""):
			return nil, lines.Errorf("%.80q: the first line, and no other, has no source word: it has the target words "+
				"of every sentence", row)
		case twice:
			return nil, lines.Errorf("%.80q has a line already: leave one of the two out", source)
		case first:
			l.Always = words
		default:
			l.Of[source] = words
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if first {
		return nil, fmt.Errorf("%s is empty: a short list has one line at least", name)
	}
	return l, nil
}
