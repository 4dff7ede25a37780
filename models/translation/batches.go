package translation

import (
	"context"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Forward runs the network on a batch of sentence pairs, and gives the hidden states of its real target tokens and
// their ids [N] in the same order. A nil stream is evaluation.
func (t *Translator) Forward(b *corpus.Batch, s *torch.Stream) (states torch.States, targets torch.Tensor) {
	source, prev := tokens(b)
	states = torch.ScopedStates(func() torch.States { return t.Network.Forward(source, prev, s) })
	return states, Targets(b)
}

func tokens(b *corpus.Batch) (source, prev models.Tokens) {
	return models.Tokens{IDs: b.Source, Rows: b.Rows, Width: b.S}, models.Tokens{IDs: b.Prev, Rows: b.Rows, Width: b.T}
}

// Targets are the ids of a batch's real target tokens [N], sentence by sentence, on the host (see [models.Batch]).
func Targets(b *corpus.Batch) torch.Tensor {
	ids := targets(b)
	return torch.FromInt64s(ids, torch.CPU, int64(len(ids)))
}

func targets(b *corpus.Batch) []int64 {
	ids := make([]int64, 0, b.Tokens)
	for _, id := range b.Target {
		if id != tokenize.Pad {
			ids = append(ids, id)
		}
	}
	return ids
}

// Operations are those of Forward on a batch and of the output layer's loss, in training.
func (t *Translator) Operations(b *corpus.Batch) torch.Operations {
	return t.Network.Operations(tokens(b)).Plus(t.Output.Operations(targets(b)))
}

// NLL is the clean loss of sentence pairs in batches of the given number of tokens, a mean over target tokens: in nats
// where the output layer has a probability or a density.
func (t *Translator) NLL(pairs corpus.Pairs, batchTokens int) float64 {
	nll, _ := t.SharedNLL(nil, pairs, batchTokens) // by itself no process can fail
	return nll
}

// SharedNLL is NLL by several processes, the same number on each: that of one.
func (t *Translator) SharedNLL(p *parallel.Peers, pairs corpus.Pairs, batchTokens int) (float64, error) {
	batches := corpus.EvaluationBatches(pairs, batchTokens, 0)
	costs := make([]int, len(batches))
	for i, b := range batches {
		costs[i] = b.Rows * (b.S + b.T)
	}
	all, err := parallel.Shared(p, costs, func(i int) (nll []float64, err error) {
		torch.ScopedNoGrad(func() {
			states, targets := t.Forward(batches[i], nil)
			nll = t.Output.NLL(states, targets).Float64s()
		})
		return nll, nil
	})
	sum, tokens := 0.0, 0
	for i, nll := range all {
		for _, x := range nll {
			sum += x
		}
		tokens += batches[i].Tokens
	}
	return sum / float64(max(1, tokens)), err
}

// SharedTranslate is Translate by several processes, with all translations on each. A line that cannot be translated is
// an error.
func (t *Translator) SharedTranslate(ctx context.Context, p *parallel.Peers, lines []string,
	o decode.Options) ([]Translation, error) {
	costs := make([]int, len(lines))
	for i, line := range lines {
		costs[i] = len(line) + 1
	}
	hands := p.Of().Deal(costs)
	found, err := parallel.Shared(p, slices.Repeat([]int{1}, len(hands)), func(hand int) ([]Translation, error) {
		var mine []string
		for _, i := range hands[hand] {
			mine = append(mine, lines[i])
		}
		outputs, err := t.Translate(ctx, mine, o)
		for _, x := range outputs {
			if err == nil {
				err = x.Err
			}
		}
		return outputs, err
	})
	if err != nil {
		return nil, err
	}
	all := make([]Translation, len(lines))
	for hand, outputs := range found {
		for k, i := range hands[hand] {
			all[i] = outputs[k]
		}
	}
	return all, nil
}

// Contexts are about n hidden states, of sentence pairs at equal distances, in batches of the given number of tokens.
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
