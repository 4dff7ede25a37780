package decode

import (
	"context"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Attended is what the words of a translation attend to in their source: the decoder's last layer, averaged over heads.
type Attended struct {
	Weights []float32 // [T,S], by word; ends of sentence are left out
	Width   int       // S, the words of the source
}

// Row is what a word attends to.
func (a Attended) Row(word int) []float32 { return a.Weights[word*a.Width:][:a.Width] }

// Attend reads translations again, each of the source of the same place, and gives their attention.
func (s *Searcher) Attend(ctx context.Context, sources, targets [][]int32) ([]Attended, error) {
	out := make([]Attended, len(sources))
	length := func(i int) int {
		if len(sources[i]) == 0 || len(targets[i]) == 0 {
			return 0
		}
		return len(sources[i]) + 1
	}
	err := torch.Try(func() (err error) {
		torch.ScopedNoGrad(func() {
			for _, places := range batches(len(sources), s.options, length) {
				if err = s.attend(ctx, sources, targets, places, out); err != nil {
					return
				}
			}
		})
		return err
	})
	return out, err
}

func (s *Searcher) attend(ctx context.Context, sources, targets [][]int32, places []int, out []Attended) error {
	start := torch.OpenScope()
	decoding := s.decoder.Start(padded(sources, places))
	start.Close()
	defer decoding.Free()
	longest := 0
	for _, i := range places {
		out[i].Width = len(sources[i])
		longest = max(longest, len(targets[i]))
	}
	words := slices.Repeat([]int64{tokenize.EOS}, len(places))
	for t := range longest {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		step := torch.OpenScope()
		_, attention := decoding.Step(words, true)
		weights, width := attention.Float32s(), int(attention.Size(1))
		step.Close()
		for r, i := range places {
			if t < len(targets[i]) {
				out[i].Weights = append(out[i].Weights, weights[r*width:][:out[i].Width]...)
				words[r] = int64(targets[i][t])
			}
		}
	}
	return nil
}
