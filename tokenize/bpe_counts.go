package tokenize

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WordCounts counts the words of any number of texts. Only spaces separate words. The zero value is ready for use.
type WordCounts struct {
	index  map[string]int
	words  []string // in the order they were first seen
	counts []int
}

// Add counts word n more times.
func (c *WordCounts) Add(word string, n int) {
	at, ok := c.index[word]
	if !ok {
		if c.index == nil {
			c.index = make(map[string]int)
		}
		at = len(c.words)
		word = strings.Clone(word) // a word must not keep its whole line alive
		c.index[word] = at
		c.words = append(c.words, word)
		c.counts = append(c.counts, 0)
	}
	c.counts[at] += n
}

// AddLine counts the words of one line.
func (c *WordCounts) AddLine(line string) {
	line = strings.Trim(line, lineBlanks)
	for line != "" {
		word, rest, _ := strings.Cut(line, " ")
		if word != "" {
			c.Add(word, 1)
		}
		line = rest
	}
}

// ReadText counts the words of a text; name stands for it in errors.
func (c *WordCounts) ReadText(r io.Reader, name string) error {
	lines := NewLines(r, name)
	for lines.Next() {
		c.AddLine(lines.Text())
	}
	return lines.Err()
}

// ReadDict adds a dictionary, "word count" on each line; name stands for it in errors.
func (c *WordCounts) ReadDict(r io.Reader, name string) error {
	rows := newTableRows(r, name)
	for word, n := range rows.counts() {
		c.Add(word, n)
	}
	return rows.Err()
}

// Len is the number of different words.
func (c *WordCounts) Len() int { return len(c.words) }

// Count is how often word was seen.
func (c *WordCounts) Count(word string) int {
	if at, ok := c.index[word]; ok {
		return c.counts[at]
	}
	return 0
}

// Words are the different words, in the order in which they were first seen.
func (c *WordCounts) Words() []string { return c.words }

// All gives words and their counts, in the order in which they were first seen.
func (c *WordCounts) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i, word := range c.words {
			if !yield(word, c.counts[i]) {
				return
			}
		}
	}
}

// Map returns the counts by word, as NewVocabulary takes them.
func (c *WordCounts) Map() map[string]int { return maps.Collect(c.All()) }

// Write writes subword-nmt's vocabulary file: "word count" lines by falling count, equals as first seen.
func (c *WordCounts) Write(w io.Writer) error {
	order := make([]int, len(c.words))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.counts[b], c.counts[a]) })
	return writeRows(w, func(yield func(string, string) bool) {
		for _, i := range order {
			if !yield(c.words[i], strconv.Itoa(c.counts[i])) {
				return
			}
		}
	})
}
