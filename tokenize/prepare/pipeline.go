package prepare

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// chunkLines is how many lines of each side are handed on at once.
const chunkLines = 1024

// chunk is a stretch of a corpus: the same lines of all its sides.
type chunk struct {
	lines   [][]string // by side
	tokens  [][]int    // by side and line
	reasons []tokenize.CleanReason
	ends    bool   // nothing of this part follows
	open    []bool // by side: the last line had no "\n"
	judged  chan struct{}
}

// A judge counts the tokens of the lines that translate each other, and says whether they stay. It is for one goroutine.
type judge func(lines []string, tokens []int) (tokenize.CleanReason, error)

// flow reads the sides of a corpus at once, judges their lines on several processors, and hands them on in their order.
// Memory holds some chunks of each side, whatever the length of the texts.
type flow struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	group  sync.WaitGroup
	meter  *meter
	types  bool // count different words
	read   shape
	edit   func(line string) string
	parts  [][]found // each has a file a side
}

// start runs f in a goroutine; its error, or panic, stops the flow.
func (f *flow) start(work func() error) {
	f.group.Add(1)
	go func() {
		defer f.group.Done()
		if err := guarded(work); err != nil {
			f.cancel(err)
		}
	}()
}

// guarded makes an error of a panic, for goroutines of which nobody else would catch it.
func guarded(work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &corpus.Panic{Value: value, Stack: debug.Stack()}
		}
	}()
	return work()
}

// run hands every chunk to write, on the goroutine that calls run, and returns what was counted.
func (f *flow) run(ctx context.Context, workers int, newJudge func(*counter) (judge, error), write func(*chunk) error) (*counter, error) {
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	defer f.cancel(nil)
	sides := make([]chan *chunk, len(f.parts[0]))
	for side := range sides {
		sides[side] = make(chan *chunk, 4)
		f.start(func() error { return f.readSide(side, sides[side]) })
	}
	work, queue := make(chan *chunk, workers), make(chan *chunk, 2*workers)
	f.start(func() error { return f.join(sides, work, queue) })
	counters := make([]*counter, workers)
	for i := range counters {
		counters[i] = newCounter(len(sides), f.types)
		judge, err := newJudge(counters[i])
		if err != nil {
			f.cancel(err)
			break
		}
		f.start(func() error { return f.judge(judge, work) })
	}
	err := f.drain(queue, write)
	if err != nil {
		f.cancel(err)
	}
	f.group.Wait()
	if f.ctx.Err() != nil {
		return nil, context.Cause(f.ctx)
	}
	for _, other := range counters[1:] {
		counters[0].merge(other)
	}
	return counters[0], nil
}

// drain writes the chunks in their order, each when it is judged.
func (f *flow) drain(queue chan *chunk, write func(*chunk) error) error {
	for {
		select {
		case c, more := <-queue:
			if !more {
				return nil
			}
			select {
			case <-c.judged:
			case <-f.ctx.Done():
				return nil
			}
			if err := write(c); err != nil {
				return err
			}
		case <-f.ctx.Done():
			return nil
		}
	}
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
	emit := func(line string) error {
		if strings.IndexByte(line, 0) >= 0 { // runs refuse it, and the Moses tokenizer removes it
			line = strings.ReplaceAll(line, "\x00", "")
		}
		if f.edit != nil {
			line = f.edit(line)
		}
		if len(gathered) == chunkLines { // the last chunk is never empty, unless the text is
			if err := send(f.ctx, out, &chunk{lines: [][]string{gathered}, open: []bool{false}}); err != nil {
				return err
			}
			gathered = make([]string, 0, chunkLines)
		}
		gathered = append(gathered, line)
		return nil
	}
	if err := f.read(lines, emit); err != nil {
		return err
	}
	return send(f.ctx, out, &chunk{lines: [][]string{gathered}, ends: true, open: []bool{lines.Number() > 0 && !lines.Terminated()}})
}

// join brings the sides together and sees that they have equally many lines.
func (f *flow) join(sides []chan *chunk, work, queue chan<- *chunk) error {
	defer close(queue)
	defer close(work)
	part, lines := 0, 0
	for {
		whole := &chunk{judged: make(chan struct{})}
		for side, in := range sides {
			c, err := receive(f.ctx, in)
			if c == nil {
				return err
			}
			if side > 0 && (len(c.lines[0]) != len(whole.lines[0]) || c.ends != whole.ends) {
				return f.ragged(part, side, lines, whole, c)
			}
			whole.lines = append(whole.lines, c.lines[0])
			whole.ends, whole.open = c.ends, append(whole.open, c.open[0])
		}
		lines += len(whole.lines[0])
		if whole.ends {
			if lines == 0 {
				return fmt.Errorf("%s holds no text: download it again", f.parts[part][0])
			}
			part, lines = part+1, 0
		}
		if err := send(f.ctx, work, whole); err != nil {
			return err
		}
		if err := send(f.ctx, queue, whole); err != nil {
			return err
		}
	}
}

// ragged is the error of two sides of which one ends before the other.
func (f *flow) ragged(part, side, before int, first, other *chunk) error {
	short, long, n, m := f.parts[part][0], f.parts[part][side], len(first.lines[0]), len(other.lines[0])
	if m < n || m == n && other.ends {
		short, long, n = long, short, m
	}
	return fmt.Errorf("%s ends after %d lines of text and %s goes on: the sides of a corpus need equally many, so download both again", short, before+n, long)
}

// counter counts the words of a text, and which there are.
type counter struct {
	types []map[string]struct{} // by side; nil where they are not asked for
}

func newCounter(sides int, types bool) *counter {
	c := &counter{types: make([]map[string]struct{}, sides)}
	for side := range c.types {
		if types {
			c.types[side] = map[string]struct{}{}
		}
	}
	return c
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

// merge takes over what another counter saw.
func (c *counter) merge(other *counter) {
	for side, types := range other.types {
		maps.Copy(c.types[side], types)
	}
}

func (f *flow) judge(judge judge, work <-chan *chunk) error {
	for {
		c, err := receive(f.ctx, work)
		if c == nil {
			return err
		}
		n := len(c.lines[0])
		c.reasons = make([]tokenize.CleanReason, n)
		c.tokens = make([][]int, len(c.lines))
		for side := range c.lines {
			c.tokens[side] = make([]int, n)
		}
		row, tokens := make([]string, len(c.lines)), make([]int, len(c.lines))
		for i := range n {
			for side := range row {
				row[side] = c.lines[side][i]
			}
			if c.reasons[i], err = judge(row, tokens); err != nil {
				return fmt.Errorf("%q: %w", strings.Join(row, " | "), err)
			}
			for side, count := range tokens {
				c.tokens[side][i] = count
			}
		}
		close(c.judged)
	}
}

// send hands a chunk on unless the flow is stopped, which is told by nobody twice.
func send(ctx context.Context, to chan<- *chunk, c *chunk) error {
	select {
	case to <- c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// receive is nil at the end and when the flow is stopped.
func receive(ctx context.Context, from <-chan *chunk) (*chunk, error) {
	select {
	case c := <-from:
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
