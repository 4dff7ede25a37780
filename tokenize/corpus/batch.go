package corpus

import (
	"cmp"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
)

// Batch is a group of pairs of similar length. Rows are sorted by falling source
// length; matrices are row by row, padded on the right.
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

func newBatch(pairs []Pair, members []int) *Batch {
	rows := slices.Clone(members)
	slices.SortStableFunc(rows, func(a, b int) int {
		return cmp.Compare(len(pairs[b].Source), len(pairs[a].Source))
	})
	b := &Batch{
		Rows:          len(rows),
		SourceLengths: make([]int, len(rows)),
		TargetLengths: make([]int, len(rows)),
		Lines:         make([]int, len(rows)),
	}
	for row, i := range rows {
		b.SourceLengths[row] = len(pairs[i].Source) + 1
		b.TargetLengths[row] = len(pairs[i].Target) + 1
		b.Lines[row] = pairs[i].Line
		b.S = max(b.S, b.SourceLengths[row])
		b.T = max(b.T, b.TargetLengths[row])
		b.Tokens += b.TargetLengths[row]
	}
	b.Source = padding(b.Rows * b.S)
	b.Prev = padding(b.Rows * b.T)
	b.Target = padding(b.Rows * b.T)
	for row, i := range rows {
		source, prev, target := b.Source[row*b.S:], b.Prev[row*b.T:], b.Target[row*b.T:]
		for t, id := range pairs[i].Source {
			source[t] = int64(id)
		}
		source[b.SourceLengths[row]-1] = tokenize.EOS
		prev[0] = tokenize.EOS
		for t, id := range pairs[i].Target {
			prev[t+1], target[t] = int64(id), int64(id)
		}
		target[b.TargetLengths[row]-1] = tokenize.EOS
	}
	return b
}

func padding(n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = tokenize.Pad
	}
	return ids
}

// Padding returns how many of the batch's source and target positions are
// padding, and how many there are.
func (b *Batch) Padding() (pads, positions int) {
	positions = b.Rows * (b.S + b.T)
	pads = positions
	for row := range b.Rows {
		pads -= b.SourceLengths[row] + b.TargetLengths[row]
	}
	return pads, positions
}
