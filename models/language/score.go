package language

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// evaluationTokens is about how many tokens a recurrent network scores at a time.
// The state is carried, so that it changes nothing but speed.
const evaluationTokens = 700

// rows is the length of the chunks in which columns are scored.
func (m *Model) rows(columns int) int {
	switch t := m.Settings.Train; {
	case m.kind.blocks && t.Stride > 0:
		return t.Stride
	case m.kind.blocks, m.kind.seesChunks:
		return t.BPTT
	}
	return max(1, evaluationTokens/columns)
}

// NLL is the clean negative log-likelihood of a text in nats, summed over the
// tokens that are predicted: (Rows-1) Count of them.
func (m *Model) NLL(text corpus.Columns) (sum float64, tokens int) {
	sum, tokens, _ = m.SharedNLL(nil, text) // by itself no process can fail
	return sum, tokens
}

// SharedNLL is NLL by several processes, each of which reads some of the columns, with the same numbers on each.
func (m *Model) SharedNLL(p *parallel.Peers, text corpus.Columns) (sum float64, tokens int, err error) {
	n := p.Count()
	bounds := make([]int, n+1)
	for i := range bounds {
		bounds[i] = i * text.Count / n
	}
	// The losses of each chunk of rows, row by row.
	parts, err := parallel.Shared(p, slices.Repeat([]int{1}, n), func(i int) (chunks [][]float64, err error) {
		torch.NoGrad(func() {
			m.read(text, bounds[i], bounds[i+1], m.rows(text.Count),
				func(states torch.States, targets torch.Tensor) bool {
					chunks = append(chunks, m.Output.NLL(states, targets).Float64s())
					return true
				})
		})
		return chunks, nil
	})
	if err != nil {
		return 0, 0, err
	}
	for at, row := make([]int, n), 0; row < text.Rows-1; row++ {
		for i, chunks := range parts { // in the order in which one process would meet them
			width := bounds[i+1] - bounds[i]
			if width == 0 {
				continue
			}
			for len(chunks[0]) == at[i] {
				parts[i], at[i] = chunks[1:], 0
				chunks = parts[i]
			}
			for _, x := range chunks[0][at[i] : at[i]+width] {
				sum += x
			}
			at[i] += width
			tokens += width
		}
	}
	return sum, tokens, nil
}

// Read takes a text through the network in chunks of the given number of rows (0: those of [Model.NLL]), in evaluation
// and without gradients, and hands the states and targets [N] of each to visit, whose tensors live until it returns.
func (m *Model) Read(text corpus.Columns, rows int, visit func(states torch.States, targets torch.Tensor)) {
	if rows == 0 {
		rows = m.rows(text.Count)
	}
	torch.NoGrad(func() {
		m.read(text, 0, text.Count, rows, func(states torch.States, targets torch.Tensor) bool {
			visit(states, targets)
			return true
		})
	})
}

// read is Read of the columns from first to last (exclusive), with gradients where they are on, until visit says false.
// A network that reads each chunk by itself sees windows of train.bptt steps, of which the last rows are visited, as
// perplexities of such models are reported: with less than rows of them left, a window has less behind those too.
func (m *Model) read(text corpus.Columns, first, last, rows int,
	visit func(states torch.States, targets torch.Tensor) bool) {
	var carried models.Carried
	defer func() { carried.Free() }()
	window := m.Settings.Train.BPTT
	if m.kind.blocks {
		rows = min(rows, window)
	}
	for row, on := 0, first < last; on && row < text.Rows-1; row += rows {
		from, behind := row, min(row+rows, text.Rows-1)
		if m.kind.blocks {
			from = max(0, row+rows-window)
		}
		inputs, targets := text.Chunk(from, behind-from, first, last)
		scope := torch.OpenScope()
		chunk := models.Chunk{IDs: inputs, Time: behind - from, Columns: last - first}
		states, next := m.Network.Forward(chunk, carried, nil)
		next.Keep()
		carried.Free()
		carried = next
		seen := (row - from) * chunk.Columns
		states, targets = states.From(int64(seen)), targets[seen:]
		on = visit(states, torch.FromInt64s(targets, torch.CPU, int64(len(targets))))
		scope.Close()
	}
}

// contextColumns are the places of a text that contexts are taken from.
const contextColumns = 20

// Contexts are hidden states of a text, n of them or up to a chunk of a column more, from places at equal distances.
func (m *Model) Contexts(ids []int32, n int) (*measures.Contexts, error) {
	columns := max(1, min(contextColumns, len(ids)/2))
	rows := m.rows(columns)
	if m.kind.blocks || m.kind.seesChunks { // its chunks are as long as they are
		columns = max(1, min(columns, (n+rows-1)/rows))
	} else {
		rows = max(1, min(rows, (n+columns-1)/columns))
	}
	text, err := corpus.NewColumns(ids, columns, "the text", "")
	if err != nil {
		return nil, err
	}
	c := measures.NewContexts(models.LastNorm(m.Network))
	torch.NoGrad(func() {
		m.read(text, 0, text.Count, rows, func(states torch.States, targets torch.Tensor) bool {
			c.Add(states.Hidden, m.Output.NLL(states, targets), targets)
			return len(c.Targets) < n
		})
	})
	return c, nil
}

// Score is what a model says of a text.
type Score struct {
	NLL    float64 // summed over tokens, in nats
	Tokens int     // that were predicted: words and the ends of lines
}

// Score gives the clean negative log-likelihood of a text, words separated by spaces and lines by line feeds, as
// continued from the end of a line. A word that the model does not know counts as the unknown word, and is an error
// where it has none.
func (m *Model) Score(ctx context.Context, text string) (score Score, err error) {
	ids, err := m.encode(text, true)
	if err != nil {
		return score, err
	}
	columns, err := corpus.NewColumns(ids, 1, "the text", "")
	if err != nil {
		return score, err
	}
	err = m.Queue(ctx, func() error {
		torch.NoGrad(func() {
			m.losses(ctx, columns, func(nll float64) {
				score.NLL += nll
				score.Tokens++
			})
		})
		return context.Cause(ctx)
	})
	if err != nil {
		return Score{}, err
	}
	return score, nil
}

// losses hands the clean loss of each word of a text of one column to visit, in order, until ctx is cancelled.
func (m *Model) losses(ctx context.Context, text corpus.Columns, visit func(nll float64)) {
	m.read(text, 0, 1, m.rows(1), func(states torch.States, targets torch.Tensor) bool {
		for _, x := range m.Output.NLL(states, targets).Float64s() {
			visit(x)
		}
		return ctx.Err() == nil
	})
}

// UnknownWordError says that a model without a word for all others met a word that it does not know.
type UnknownWordError struct {
	Line int // counted from 1
	Word string
}

func (e *UnknownWordError) Error() string {
	return fmt.Sprintf("line %d: the model does not know %.80q, and has no %s to stand for it: use words of its "+
		"training text", e.Line, e.Word, corpus.UnknownWord)
}

// encode gives the ids of a text behind what a text begins with; closed ends its last line, where no line feed does.
func (m *Model) encode(text string, closed bool) ([]int32, error) {
	begin, known := m.Words.Begin()
	if !known {
		return nil, fmt.Errorf("the model's vocabulary has no %s, which ends lines", corpus.EndOfLine)
	}
	ids := []int32{begin}
	if closed {
		text = strings.TrimSuffix(text, "\n")
	}
	if m.Words.Pieces() != nil {
		if closed {
			text += "\n"
		}
		return append(ids, m.Words.Encode(text)...), nil
	}
	for i, more := 0, true; more; i++ {
		var line string
		line, text, more = strings.Cut(text, "\n")
		for word := range strings.FieldsSeq(line) {
			id, known := m.Words.ID(word)
			if !known {
				return nil, &UnknownWordError{i + 1, word}
			}
			ids = append(ids, id)
		}
		if closed || more {
			ids = append(ids, begin)
		}
	}
	return ids, nil
}
