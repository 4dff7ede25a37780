package corpus

import (
	"cmp"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
)

// Batch is a group of pairs of similar length. Rows are sorted by falling source length; matrices are row by row,
// padded on the right.
type Batch struct {
	Source []int64 // [Rows, S], each row ends in the end of sentence
	Prev   []int64 // [Rows, T], the decoder's input: the end of sentence, then the target
	Target []int64 // [Rows, T], the target, then the end of sentence

	SourceLengths []int // [Rows], with the end of sentence
	TargetLengths []int // [Rows], with the end of sentence

	Rows, S, T int
	Tokens     int   // target tokens without padding, with the end of sentence
	Lines      []int // [Rows], each pair's Line
}

func newBatch(pairs Pairs, members []int32) *Batch {
	rows := make([]Pair, len(members))
	for row, i := range members {
		rows[row] = pairs.At(int(i))
	}
	slices.SortStableFunc(rows, func(a, b Pair) int { return cmp.Compare(len(b.Source), len(a.Source)) })
	n := len(rows)
	b := &Batch{Rows: n, SourceLengths: make([]int, n), TargetLengths: make([]int, n), Lines: make([]int, n)}
	for row, p := range rows {
		s, t := len(p.Source)+1, len(p.Target)+1
		b.SourceLengths[row], b.TargetLengths[row], b.Lines[row] = s, t, p.Line
		b.S, b.T = max(b.S, s), max(b.T, t)
		b.Tokens += t
	}
	b.Source, b.Prev, b.Target = padding(n*b.S), padding(n*b.T), padding(n*b.T)
	for row, p := range rows {
		source, prev, target := b.Source[row*b.S:], b.Prev[row*b.T:], b.Target[row*b.T:]
		for t, id := range p.Source {
			source[t] = int64(id)
		}
		source[b.SourceLengths[row]-1] = tokenize.EOS
		prev[0] = tokenize.EOS
		for t, id := range p.Target {
			prev[t+1], target[t] = int64(id), int64(id)
		}
		target[b.TargetLengths[row]-1] = tokenize.EOS
	}
	return b
}

func padding(n int) []int64 { return slices.Repeat([]int64{tokenize.Pad}, n) }

// Padding returns how many of the batch's source and target positions are padding, and how many there are.
func (b *Batch) Padding() (pads, positions int) {
	positions = b.Rows * (b.S + b.T)
	pads = positions
	for row := range b.Rows {
		pads -= b.SourceLengths[row] + b.TargetLengths[row]
	}
	return pads, positions
}
