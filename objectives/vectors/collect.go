package vectors

import (
	"fmt"

	"github.com/aperture-ml/aperture/tokenize"
)

// The words in the first exactBytes of a file all count for the mean of the words that stand for no symbol; of
// those behind them one of stride does, chosen by its hash, and stands for stride words. Their numbers need not be read
// then, which is most of the work in a large file; the direction of the mean of 2,000,000 moves by about a degree.
// Formats that give no place count them all.
const (
	exactBytes = 64 << 20
	stride     = 64
)

// collector puts vectors where they belong.
type collector struct {
	v     *tokenize.Vocabulary
	table *Table
	taken []bool    // of the vocabulary; a word's first vector counts
	there int       // occurrences in the text of words that the file has
	sum   []float64 // of the vectors without a symbol
	unk   []float32 // the file's own vector of <unk>
}

func (c *collector) begin(width int) {
	c.table, c.taken, c.sum = newTable(c.v, width), make([]bool, c.v.Len()), make([]float64, width)
}

func (c *collector) fate(word []byte, at int64) (fate, int) {
	switch id := c.v.ID(string(word)); {
	case id == tokenize.BOS || id == tokenize.Pad:
		return passed, 0
	case id != tokenize.Unk || string(word) == c.v.Token(tokenize.Unk):
		return kept, 0
	case at < exactBytes:
		return averaged, 1
	case hashOf(word)%stride == 0:
		return averaged, stride
	}
	return passed, 1
}

func (c *collector) outside(words int, sum []float64) {
	c.table.Unused += words
	for i, x := range sum {
		c.sum[i] += x
	}
}

func (c *collector) keep(word string, vector []float32) {
	id := c.v.ID(word)
	switch {
	case id == tokenize.Unk:
		c.unk = append(c.unk[:0], vector...)
	case !c.taken[id]:
		c.taken[id] = true
		copy(c.table.Row(id), vector)
		if id == tokenize.EOS {
			c.table.End = FromFile
		} else if n := c.v.Count(id); n > 0 {
			c.table.Known++
			c.there += n
		}
	}
}

// wanted are the words of the text. Those that only fill a vocabulary up never occur.
func (c *collector) wanted() []string {
	var words []string
	for id := int32(tokenize.Unk + 1); id < int32(c.v.Len()); id++ {
		if c.v.Count(id) > 0 {
			words = append(words, c.v.Token(id))
		}
	}
	return words
}

func (c *collector) compose(word string, vector []float32) {
	copy(c.table.Row(c.v.ID(word)), vector)
	c.table.Composed++
}

// Vectors whose words make up less of the running text are another language's.
const leastShare = 0.5

// check refuses a file that is no use to the vocabulary.
func (c *collector) check(name string) error {
	t, all := c.table, 0
	for id := int32(tokenize.Unk + 1); id < int32(c.v.Len()); id++ {
		if n := c.v.Count(id); n > 0 {
			t.Words++
			all += n
		}
	}
	if all == 0 {
		return nil // nothing is known of the text
	}
	t.Share = float64(c.there) / float64(all)
	switch {
	case t.Known == 0:
		return fmt.Errorf("%s has a vector for none of the %d words of the training text: give vectors of the target "+
			"language, learnt from text that was tokenised and cased as data.* says", name, t.Words)
	case t.Share < leastShare:
		return fmt.Errorf("%s has vectors of %d of the %d words, which make up %.0f %% of the training text: it seems "+
			"to be another language's, or of text that was tokenised or cased otherwise than data.* says", name,
			t.Known, t.Words, 100*t.Share)
	}
	return nil
}

func (c *collector) finish() *Table {
	unk := c.table.Row(tokenize.Unk)
	copy(unk, c.unk)
	if c.table.Unused > 0 {
		for i, x := range c.sum {
			unk[i] = float32(x / float64(c.table.Unused))
		}
	}
	if c.table.End != "" && !c.table.Has(tokenize.EOS) {
		c.table.End = "" // a vector of zeros is none
	}
	c.table.finish()
	return c.table
}
