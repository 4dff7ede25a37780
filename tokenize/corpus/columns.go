package corpus

import (
	"fmt"
	"math/rand/v2"
)

// Columns are running text cut into columns of equal length, which a model reads side by side. What does not fill a row
// is left out, and so is the first token of each column as a target.
type Columns struct {
	Rows, Count int

	ids    []int32
	starts []int // row of each column's text that its row 0 holds; nil: 0
}

// NewColumns cuts a text into count columns of at least two rows. name is the text's for errors, key the one that sets
// count, empty where the user has none.
func NewColumns(ids []int32, count int, name, key string) (Columns, error) {
	if count == 1 && len(ids) < 2 {
		return Columns{}, fmt.Errorf("%s has %d of the two tokens, ends of lines included, that a prediction needs: give "+
			"more text", name, len(ids))
	}
	if len(ids) < 2*count {
		advice := "give more text"
		if key != "" {
			advice = "lower " + key + " or " + advice
		}
		return Columns{}, fmt.Errorf("%s has %d tokens with the ends of lines, too few for %d columns of two: %s", name,
			len(ids), count, advice)
	}
	return Columns{Rows: len(ids) / count, Count: count, ids: ids}, nil
}

// At is the token of a row and column.
func (c Columns) At(row, column int) int32 {
	if c.starts != nil {
		if row += c.starts[column]; row >= c.Rows {
			row -= c.Rows
		}
	}
	return c.ids[column*c.Rows+row]
}

// Legacy is a mean loss as AWD-LSTM's program reports it: divided by the rows of a column, though the first is not
// predicted.
func (c Columns) Legacy(loss float64) float64 { return loss * float64(c.Rows-1) / float64(c.Rows) }

// Shuffled begins each column at another of its rows and wraps around, always from the original text: partial shuffle
// (Press 2019, "Partially shuffling the training data to improve language models"). It depends on seed and epoch alone.
func (c Columns) Shuffled(seed uint64, epoch int) Columns {
	random := shuffleStream(seed, "columns", epoch)
	c.starts = make([]int, c.Count)
	for i := range c.starts {
		c.starts[i] = random.IntN(c.Rows)
	}
	return c
}

// Chunk gives the tokens of some rows and of columns [first, last), time-major, and as targets those one row later.
func (c Columns) Chunk(row, rows, first, last int) (inputs, targets []int64) {
	width := last - first
	inputs, targets = make([]int64, rows*width), make([]int64, rows*width)
	for b := range width {
		next := int64(c.At(row, first+b))
		for t := range rows {
			inputs[t*width+b] = next
			next = int64(c.At(row+t+1, first+b))
			targets[t*width+b] = next
		}
	}
	return inputs, targets
}

// ColumnSettings are the keys of the section train that say how running text becomes batches.
type ColumnSettings struct {
	Columns        int  `toml:"columns" default:"20" range:"[1,100000]" help:"columns that the training text is cut into, the size of a batch; accumulate is the number of batches that they are cut into"`
	PartialShuffle bool `toml:"partial_shuffle" default:"false" help:"begin each column at another of its places in every epoch"`
	ValidColumns   int  `toml:"valid_columns" default:"10" range:"[1,100000]" help:"columns that the validation text is cut into; what does not fill a row is left out"`
	TestColumns    int  `toml:"test_columns" default:"1" range:"[1,100000]" resume:"free" help:"the same for the test texts: 1 leaves out nothing, more is quicker"`
	Lengths
}

// Lengths say how the rows of an epoch are cut into chunks.
type Lengths struct {
	BPTT    int  `toml:"bptt" default:"70" range:"[1,100000]" help:"time steps of an update, which gradients go back through"`
	Random  bool `toml:"bptt_random" default:"true" help:"draw the length of each update round bptt, or round half of it in one case of twenty, and scale the learning rate with it"`
	Longest int  `toml:"bptt_longest" default:"0" range:"[0,100000]" help:"longest drawn length; 0 is no limit"`
}

// Span is a chunk's place in an epoch.
type Span struct {
	Row, Rows int
	Drawn     int // length that was drawn: the text may end before it
}

// Epoch lists the chunks of an epoch. A drawn length is max(5, trunc(Normal(base, 5))); base is BPTT, or half of it in
// one case of twenty (Merity, Keskar and Socher 2018). Chunks depend on the arguments alone. With drawn lengths a
// single last target is left out, as in the authors' program.
func (l Lengths) Epoch(rows int, seed uint64, epoch int) []Span {
	var random *rand.Rand
	end := rows - 1
	if l.Random {
		random, end = shuffleStream(seed, "lengths", epoch), rows-2
	}
	var spans []Span
	for row := 0; row < end || row == 0; {
		drawn := l.draw(random)
		spans = append(spans, Span{Row: row, Rows: min(drawn, rows-1-row), Drawn: drawn})
		row += drawn
	}
	return spans
}

func (l Lengths) draw(random *rand.Rand) int {
	if random == nil {
		return l.BPTT
	}
	base := float64(l.BPTT)
	if random.Float64() >= 0.95 {
		base /= 2
	}
	n := max(5, int(base+5*random.NormFloat64()))
	if l.Longest > 0 {
		n = min(n, l.Longest)
	}
	return n
}
