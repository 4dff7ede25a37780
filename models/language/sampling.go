package language

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// SampleOptions say how a text is continued.
type SampleOptions struct {
	Words       int     // to add, ends of lines among them; 0 is 100
	Temperature float64 // log-probabilities are divided by it; 0 takes the most probable word
	TopK        int     // only this number of the most probable words; 0: all
	TopP        float64 // only the most probable words that reach this probability together; 0 or 1: all
	Seed        uint64  // of the draws
	Stream      uint64  // which of the seed's streams of draws
}

// Sample continues a prompt, words separated by spaces, and returns it with its continuation. An empty prompt starts a
// line.
func (m *Model) Sample(ctx context.Context, prompt string, o SampleOptions) (string, error) {
	if !(o.Temperature >= 0) || o.TopK < 0 || !(o.TopP >= 0 && o.TopP <= 1) || o.Words < 0 {
		return "", fmt.Errorf("temperature %v, top k %d, top p %v and %d words make no sense: all are at least 0, and "+
			"top p is at most 1", o.Temperature, o.TopK, o.TopP, o.Words)
	}
	if o.Words == 0 {
		o.Words = 100
	}
	ids, err := m.encode(prompt, false)
	if err != nil {
		return "", err
	}
	var text string
	err = m.Queue(ctx, func() error {
		text = m.spell(prompt, m.Continue(ctx, ids, o))
		return context.Cause(ctx)
	})
	if err != nil {
		return "", err
	}
	return text, nil
}

// spell is a prompt and the ids behind it as text, without the end of the last line.
func (m *Model) spell(prompt string, ids []int32) string {
	if m.Words.Pieces() != nil {
		return strings.TrimSuffix(prompt+m.Words.Text(ids), "\n")
	}
	end, _ := m.Words.End()
	var text strings.Builder
	gap := ""
	for i, line := range strings.Split(prompt, "\n") {
		if i > 0 {
			text.WriteByte('\n')
		}
		words := strings.Fields(line)
		text.WriteString(strings.Join(words, " "))
		if gap = ""; len(words) > 0 {
			gap = " "
		}
	}
	for _, id := range ids {
		if id == end {
			text.WriteByte('\n')
			gap = ""
			continue
		}
		text.WriteString(gap + m.Words.Word(id))
		gap = " "
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// Continue gives the words that follow a prompt of at least one word, one drawn after the other, fewer where ctx is
// cancelled.
func (m *Model) Continue(ctx context.Context, prompt []int32, o SampleOptions) []int32 {
	random := rand.New(rand.NewPCG(o.Seed, o.Stream))
	text := m.onward()
	defer text.free()
	next := prompt
	words := make([]int32, 0, o.Words)
	for range o.Words {
		if ctx.Err() != nil {
			break
		}
		scope := torch.OpenScope()
		var scores []float32
		torch.NoGrad(func() {
			hidden_ND := text.read(next)
			scores = m.Output.LogProbs(hidden_ND.Narrow(0, hidden_ND.Size(0)-1, 1)).Float32s()
		})
		scope.Close()
		word := o.draw(scores, random)
		words = append(words, word)
		next = []int32{word}
	}
	return words
}

// draw chooses a word by its log-probabilities.
func (s SampleOptions) draw(logProbs []float32, random *rand.Rand) int32 {
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
