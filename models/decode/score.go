package decode

import (
	"context"
	"fmt"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Forward is a network that reads whole translations.
type Forward interface {
	Forward(source, prev models.Tokens, s *torch.Stream) torch.States
}

// Scored is the log-probability of a translation that was given.
type Scored struct {
	LogProb       float64   // natural logarithm, the end of sentence included
	TokenLogProbs []float64 // of each word and of the end of sentence
}

// Score gives the log-probability of each target after its source, both without end of sentence. nll gives negative
// log-likelihoods [N] of targets [N] after hidden states [N,D]; positions is the largest length of a sentence with its
// end, and longer ones are an error. Of the options it takes the sizes of batches. A cancelled ctx is noticed between
// two batches, and its cause is the error.
func Score(ctx context.Context, model Forward, nll func(hidden, targets torch.Tensor) torch.Tensor,
	sources, targets [][]int32, positions int, o Options) ([]Scored, error) {
	if len(sources) != len(targets) {
		return nil, fmt.Errorf("%d sources and %d translations do not make pairs", len(sources), len(targets))
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	for i := range sources {
		for s, ids := range [][]int32{sources[i], targets[i]} {
			side := []string{"source", "translation"}[s]
			if len(ids)+1 > positions {
				return nil, fmt.Errorf("%s %d has %d tokens with its end of sentence, and the model has %d positions: "+
					"leave the pair out", side, i+1, len(ids)+1, positions)
			}
			if slices.Contains(ids, tokenize.Pad) {
				return nil, fmt.Errorf("%s %d holds padding (id %d), which is no word", side, i+1, tokenize.Pad)
			}
		}
	}
	results := make([]Scored, len(sources))
	err := torch.Try(func() (err error) {
		torch.NoGrad(func() {
			for _, places := range batches(len(sources), o,
				func(i int) int { return max(len(sources[i]), len(targets[i])) + 1 }) {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
					return
				}
				scope := torch.OpenScope()
				scoreBatch(model, nll, sources, targets, places, results)
				scope.Close()
			}
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func scoreBatch(model Forward, nll func(hidden, targets torch.Tensor) torch.Tensor, sources, targets [][]int32,
	places []int, results []Scored) {
	next := padded(targets, places)
	prev := models.Tokens{IDs: slices.Clone(next.IDs), Rows: next.Rows, Width: next.Width}
	var gold []int64
	for r, i := range places {
		row := prev.IDs[r*prev.Width : r*prev.Width+len(targets[i])+1]
		gold = append(gold, row...)
		copy(row[1:], next.IDs[r*prev.Width:])
		row[0] = tokenize.EOS
	}
	states := model.Forward(padded(sources, places), prev, nil)
	losses := nll(states.Hidden, torch.FromInt64s(gold, torch.CPU, int64(len(gold)))).Float64s()
	for _, i := range places {
		n := len(targets[i]) + 1
		scored := Scored{TokenLogProbs: make([]float64, n)}
		for t, loss := range losses[:n] {
			scored.TokenLogProbs[t] = -loss
			scored.LogProb -= loss
		}
		results[i], losses = scored, losses[n:]
	}
}
