package language

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// Sampling says how the next word is chosen.
type Sampling struct {
	Temperature float64 // log-probabilities are divided by it; 0 takes the most probable word
	TopK        int     // only so many of the most probable words; 0: all
	TopP        float64 // only the most probable words that reach this probability together; 0 or 1: all
}

// Continue gives the n words that follow a prompt of at least one word, one drawn
// after the other.
func (m *Model) Continue(prompt []int32, n int, s Sampling, random *rand.Rand) []int32 {
	var carried models.Carried
	defer func() { carried.Free() }()
	next := make([]int64, len(prompt))
	for i, id := range prompt {
		next[i] = int64(id)
	}
	words := make([]int32, 0, n)
	for range n {
		scope := torch.OpenScope()
		var scores []float32
		torch.NoGrad(func() {
			states, after := m.Network.Forward(models.Chunk{IDs: next, Time: len(next), Columns: 1}, carried, nil)
			after.Keep()
			carried.Free()
			carried = after
			scores = m.Output.LogProbs(states.Hidden.Narrow(0, int64(len(next))-1, 1)).Float32s()
		})
		scope.Close()
		word := s.draw(scores, random)
		words = append(words, word)
		next = []int64{int64(word)}
	}
	return words
}

// draw chooses a word by its log-probabilities.
func (s Sampling) draw(logProbs []float32, random *rand.Rand) int32 {
	order := make([]int32, len(logProbs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch {
		case logProbs[a] > logProbs[b]:
			return -1
		case logProbs[a] < logProbs[b]:
			return 1
		}
		return 0
	})
	if s.Temperature == 0 {
		return order[0]
	}
	if s.TopK > 0 {
		order = order[:min(s.TopK, len(order))]
	}
	best := float64(logProbs[order[0]])
	weights, total := make([]float64, len(order)), 0.0
	for i, id := range order {
		weights[i] = math.Exp((float64(logProbs[id]) - best) / s.Temperature)
		total += weights[i]
	}
	if s.TopP > 0 && s.TopP < 1 {
		reached := 0.0
		for i, w := range weights {
			if reached += w; reached >= s.TopP*total {
				weights, total = weights[:i+1], reached
				break
			}
		}
	}
	at := random.Float64() * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return order[i]
		}
	}
	return order[len(weights)-1]
}
