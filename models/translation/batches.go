package translation

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Forward runs the network on a batch of sentence pairs, and gives the hidden states of its real target tokens and their ids
// [N] in the same order. A nil stream is evaluation.
func (t *Translator) Forward(b *corpus.Batch, s *torch.Stream) (states torch.States, targets torch.Tensor) {
	states = t.Network.Forward(models.Tokens{IDs: b.Source, Rows: b.Rows, Width: b.S}, models.Tokens{IDs: b.Prev, Rows: b.Rows, Width: b.T}, s)
	return states, Targets(b, t.Device)
}

// Targets are the ids of a batch's real target tokens [N], sentence by sentence.
func Targets(b *corpus.Batch, d torch.Device) torch.Tensor {
	ids := make([]int64, 0, b.Tokens)
	for _, id := range b.Target {
		if id != tokenize.Pad {
			ids = append(ids, id)
		}
	}
	return torch.FromInt64s(ids, d, int64(len(ids)))
}

// NLL is the clean loss of sentence pairs in batches of so many tokens, a mean over target tokens: in nats where the output
// layer has a probability or a density.
func (t *Translator) NLL(pairs corpus.Pairs, batchTokens int) float64 {
	sum, tokens := 0.0, 0
	for _, batch := range corpus.EvaluationBatches(pairs, batchTokens, 0) {
		scope := torch.OpenScope()
		torch.NoGrad(func() {
			states, targets := t.Forward(batch, nil)
			for _, x := range t.Output.NLL(states, targets).Float64s() {
				sum += x
			}
		})
		tokens += batch.Tokens
		scope.Close()
	}
	return sum / float64(max(1, tokens))
}

// Contexts are about n hidden states, of sentence pairs at equal distances, in batches of so many tokens.
func (t *Translator) Contexts(pairs corpus.Pairs, n, batchTokens int) *measures.Contexts {
	stride := max(1, corpus.Tokens(pairs)/max(1, n))
	var some corpus.List
	for i := 0; i < pairs.Len(); i += stride {
		some = append(some, pairs.At(i))
	}
	c := measures.NewContexts(models.LastNorm(t.Network))
	for _, batch := range corpus.EvaluationBatches(some, batchTokens, 0) {
		scope := torch.OpenScope()
		torch.NoGrad(func() {
			states, targets := t.Forward(batch, nil)
			c.Add(states.Hidden, t.Output.NLL(states, targets), targets)
		})
		scope.Close()
	}
	return c
}
