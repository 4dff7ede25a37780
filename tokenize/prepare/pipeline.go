package prepare

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// What is handed on at once of each side: lines, and about the bytes of these, which a single line may exceed.
const (
	chunkLines = 1024
	chunkBytes = 1 << 20
)

// chunk is a stretch of a corpus: the same lines of all its sides.
type chunk struct {
	lines   [][]string // by side
	tokens  [][]int    // by side and line
	reasons []tokenize.CleanReason
	ends    bool   // nothing of this part follows
	open    []bool // by side: the last line had no "\n"
}

// flow reads the sides of a corpus at once and judges their lines on all processors, with some chunks of each in
// memory.
type flow struct {
	*job
	ctx   context.Context
	meter *meter
	parts [][]found // each has a file a side
}

// run hands every chunk to write, in order and on its own goroutine, and returns the different tokens of each side.
func (f *flow) run(ctx context.Context, write func(*chunk) error) ([]map[string]struct{}, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.ctx = ctx
	defer cancel(nil)
	var readers sync.WaitGroup
	sides := make([]chan *chunk, len(f.sides))
	for side := range sides {
		sides[side] = make(chan *chunk, 4)
		readers.Go(func() {
			if err := corpus.Guard(func() error { return f.readSide(side, sides[side]) }); err != nil {
				cancel(err)
			}
		})
	}
	var counters []*counter
	counting := func() (func(*chunk) (*chunk, error), error) {
		c, err := newCounter(f.job)
		counters = append(counters, c)
		return c.count, err
	}
	err := corpus.Ordered(func(give func(*chunk) bool) error { return f.join(sides, give) }, counting, write)
	if err != nil {
		cancel(err)
	}
	readers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	types := counters[0].types
	for _, other := range counters[1:] {
		for side := range types {
			maps.Copy(types[side], other.types[side])
		}
	}
	return types, nil
}

// readSide reads one side of all parts.
func (f *flow) readSide(side int, out chan<- *chunk) error {
	defer close(out)
	for _, part := range f.parts {
		if err := f.readFile(part[side], out); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) readFile(at found, out chan<- *chunk) error {
	file, err := at.open(f.ctx, f.meter)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := tokenize.NewLines(file, at.String())
	var gathered []string
	size := 0 // of these, in bytes
	emit := func(line string) error {
		if strings.IndexByte(line, 0) >= 0 { // runs refuse it, and the Moses tokenizer removes it
			line = strings.ReplaceAll(line, "\x00", "")
		}
		if f.edit != nil {
			line = f.edit(line)
		}
		if len(gathered) == chunkLines || size >= chunkBytes { // the last chunk is never empty, unless the text is
			if err := send(f.ctx, out, &chunk{lines: [][]string{gathered}, open: []bool{false}}); err != nil {
				return err
			}
			gathered, size = make([]string, 0, len(gathered)), 0
		}
		gathered, size = append(gathered, line), size+len(line)
		return nil
	}
	if err := f.read(lines, emit); err != nil {
		return err
	}
	open := lines.Number() > 0 && !lines.Terminated()
	return send(f.ctx, out, &chunk{lines: [][]string{gathered}, ends: true, open: []bool{open}})
}

// join brings the sides together, whose chunks may differ in length, and checks that they have the same number of
// lines.
func (f *flow) join(sides []chan *chunk, give func(*chunk) bool) error {
	part, lines := 0, 0
	waiting := make([]*chunk, len(sides)) // by side, what has not been given
	for {
		n := math.MaxInt
		for side, in := range sides {
			if c := waiting[side]; c == nil || len(c.lines[0]) == 0 { // none of these is the last
				select {
				case waiting[side] = <-in:
				case <-f.ctx.Done():
					return context.Cause(f.ctx)
				}
			}
			if waiting[side] == nil { // the end
				return nil
			}
			n = min(n, len(waiting[side].lines[0]))
		}
		whole, over := &chunk{ends: true}, -1 // a side that has all been given, while another goes on
		for side, c := range waiting {
			whole.lines, whole.open = append(whole.lines, c.lines[0][:n:n]), append(whole.open, c.open[0])
			c.lines[0] = c.lines[0][n:]
			if len(c.lines[0]) > 0 || !c.ends {
				whole.ends = false
			} else {
				over = side
			}
		}
		lines += n
		switch {
		case whole.ends && lines == 0:
			return fmt.Errorf("%s holds no text: download it again", f.parts[part][0])
		case whole.ends:
			part, lines = part+1, 0
			clear(waiting)
		case over >= 0:
			return f.ragged(part, over, lines, waiting)
		}
		if !give(whole) {
			return nil
		}
	}
}

// ragged is the error of a side that ends after a number of lines, while another one goes on.
func (f *flow) ragged(part, short, lines int, waiting []*chunk) error {
	long := slices.IndexFunc(waiting, func(c *chunk) bool { return len(c.lines[0]) > 0 || !c.ends })
	return fmt.Errorf("%s ends after %d lines of text and %s goes on: both sides need the same number, so "+
		"download both again", f.parts[part][short], lines, f.parts[part][long])
}

// counter counts the tokens of parallel lines, and says whether they stay. It is for one goroutine.
type counter struct {
	split   []func(line string) string // by side; nil takes the line
	cleaner *tokenize.Cleaner          // nil keeps all lines
	types   []map[string]struct{}      // different tokens by side; nil if they are not asked for
}

func newCounter(j *job) (c *counter, err error) {
	n := len(j.sides)
	c = &counter{split: make([]func(string) string, n), types: make([]map[string]struct{}, n)}
	for side, ending := range j.sides {
		if j.types {
			c.types[side] = map[string]struct{}{}
		}
		if j.split != nil {
			if c.split[side], err = j.split(ending[1:]); err != nil {
				return nil, err
			}
		}
	}
	if j.clean != nil {
		// Escaped tokens hold no |, so that a cleaner for each goroutine takes no text for one with factors.
		c.cleaner, err = tokenize.NewCleaner(*j.clean)
	}
	return c, err
}

// row counts one row of lines.
func (c *counter) row(lines []string, tokens []int) (reason tokenize.CleanReason, err error) {
	for side, split := range c.split {
		if split != nil {
			lines[side] = split(lines[side])
		}
		tokens[side] = c.words(side, lines[side])
	}
	if c.cleaner != nil {
		_, _, reason, err = c.cleaner.Clean(lines[0], lines[1])
	}
	return reason, err
}

// words counts what stands between white space in a line of a side.
func (c *counter) words(side int, line string) (n int) {
	types := c.types[side]
	for word := range strings.FieldsSeq(line) {
		n++
		if types == nil {
			continue
		}
		if _, known := types[word]; !known {
			types[strings.Clone(word)] = struct{}{}
		}
	}
	return n
}

// count counts and judges the rows of a chunk.
func (with *counter) count(c *chunk) (*chunk, error) {
	sides, n := len(c.lines), len(c.lines[0])
	row, tokens := make([]string, sides), make([]int, sides)
	c.reasons = make([]tokenize.CleanReason, n)
	c.tokens = make([][]int, sides)
	for side := range c.tokens {
		c.tokens[side] = make([]int, n)
	}
	for i := range n {
		for side := range row {
			row[side] = c.lines[side][i]
		}
		var err error
		if c.reasons[i], err = with.row(row, tokens); err != nil {
			return nil, fmt.Errorf("%.200q: %w", strings.Join(row, " | "), err)
		}
		for side, count := range tokens {
			c.tokens[side][i] = count
		}
	}
	return c, nil
}

// send hands a chunk on unless the flow is stopped.
func send(ctx context.Context, to chan<- *chunk, c *chunk) error {
	select {
	case to <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
