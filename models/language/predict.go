package language

import (
	"context"
	"math"
	"strings"

	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Prediction is what a model says of a text, word by word, and of what follows it.
type Prediction struct {
	Words []WordLoss // of the text, ends of lines among them
	Next  []NextWord // the most probable words behind the text, best first
}

// WordLoss is the loss of a word, or of a piece where the model reads pieces, after those before it.
type WordLoss struct {
	Text string  // as it stands in the text; "\n" for the end of a line
	NLL  float64 // in nats
}

// NextWord is a word that may follow.
type NextWord struct {
	Text        string // "\n" for the end of a line
	Probability float64
}

// Predict gives the loss of each word of a text, and the most probable words behind it, at most top of them. Words are
// separated by spaces and lines by line feeds; the text is continued from the end of a line, and its last line is open
// unless a line feed ends it. A word that the model does not know counts as the unknown word, and is an error where it
// has none.
func (m *Model) Predict(ctx context.Context, text string, top int) (p Prediction, err error) {
	ids, err := m.encode(text, false)
	if err != nil {
		return p, err
	}
	if m.Words.Pieces() != nil {
		for i := range ids[1:] {
			p.Words = append(p.Words, WordLoss{Text: m.Words.Text(ids[i+1 : i+2])})
		}
	} else {
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				p.Words = append(p.Words, WordLoss{Text: "\n"})
			}
			for word := range strings.FieldsSeq(line) {
				p.Words = append(p.Words, WordLoss{Text: word})
			}
		}
	}
	err = m.Queue(ctx, func() error {
		var scores []float32
		torch.NoGrad(func() { scores = m.predict(ctx, ids, p.Words) })
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.Next = m.best(scores, top)
		return nil
	})
	if err != nil {
		return Prediction{}, err
	}
	return p, nil
}

// predict fills in the losses of words, which follow ids[0], and gives the log-probabilities of the word behind them.
func (m *Model) predict(ctx context.Context, ids []int32, words []WordLoss) (scores []float32) {
	reader := m.onward()
	defer reader.free()
	last := func(hidden_ND torch.Tensor) []float32 {
		return m.Output.LogProbs(hidden_ND.Narrow(0, hidden_ND.Size(0)-1, 1)).Float32s()
	}
	if m.kind.blocks { // a word's loss is that of its window, as Score has it, and what follows is what Sample goes by
		if text, err := corpus.NewColumns(ids, 1, "the text", ""); err == nil { // else there is no word
			row := 0
			m.losses(ctx, text, func(nll float64) {
				words[row].NLL = nll
				row++
			})
		}
		torch.ScopedNoGrad(func() { scores = last(reader.read(ids)) })
		return scores
	}
	rows := m.rows(1)
	for row := 0; row < len(ids) && ctx.Err() == nil; row += rows {
		n := min(rows, len(ids)-row)
		targets := make([]int64, n)
		for i, id := range ids[min(len(ids), row+1):min(len(ids), row+n+1)] {
			targets[i] = int64(id) // the last word has no target, and its loss is not read
		}
		scope := torch.OpenScope()
		hidden_ND := reader.read(ids[row : row+n])
		losses := m.Output.NLL(torch.States{Hidden: hidden_ND}, torch.FromInt64s(targets, torch.CPU, int64(n)))
		for i, x := range losses.Float64s() {
			if row+i < len(words) {
				words[row+i].NLL = x
			}
		}
		if row+n == len(ids) {
			scores = last(hidden_ND)
		}
		scope.Close()
	}
	return scores
}

// best are the words with the largest log-probabilities.
func (m *Model) best(scores []float32, top int) (list []NextWord) {
	end, _ := m.Words.End()
	for _, id := range best(scores, max(0, top)) {
		word := m.Words.Text([]int32{id})
		if id == end {
			word = "\n"
		}
		list = append(list, NextWord{word, math.Exp(float64(scores[id]))})
	}
	return list
}
