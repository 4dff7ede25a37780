package language

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// Sample continues a prompt, words separated by spaces, and returns it with its continuation. An empty prompt starts a
// line.
func (m *Model) Sample(ctx context.Context, prompt string, o SampleOptions) (string, error) {
	if err := o.check(); err != nil {
		return "", err
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

// Continue gives the words that follow a prompt of at least one word, one chosen after the other, fewer where ctx is
// cancelled.
func (m *Model) Continue(ctx context.Context, prompt []int32, o SampleOptions) []int32 {
	random := rand.New(rand.NewPCG(o.Seed, o.Stream))
	text := m.onward()
	text.far = true
	defer text.free()
	search := contrastive{alpha: o.Contrastive}
	defer search.free()
	words, next := slices.Clone(prompt), prompt
	for range o.Words {
		if ctx.Err() != nil {
			break
		}
		scope := torch.OpenScope()
		torch.NoGrad(func() {
			hidden_ND := text.read(next)
			logProbs := m.Output.LogProbs(hidden_ND.Narrow(0, hidden_ND.Size(0)-1, 1)).Float32s()
			o.penalise(logProbs, words)
			var word int32
			if o.Contrastive > 0 {
				search.saw(hidden_ND)
				candidates := best(logProbs, cmp.Or(o.TopK, contrastiveCandidates))
				word = candidates[search.choose(candidates, logProbs, text.after(candidates))]
			} else {
				word = o.draw(logProbs, random)
			}
			words = append(words, word)
			next = words[len(words)-1:]
		})
		scope.Close()
	}
	return words[len(prompt):]
}
