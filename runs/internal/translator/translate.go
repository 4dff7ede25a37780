package translator

import (
	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/torch"
)

// Translation is what became of one line.
type Translation struct {
	Text      string  // running text
	Tokenised string  // the same as words joined by single spaces
	Score     float64 // log-probability under the length penalty
}

type Options struct{ Beam int }

func (t *Translator) DecodeOptions() Options { return Options{} }

// Translate translates raw lines greedily.
func (t *Translator) Translate(lines []string, o Options) ([]Translation, error) {
	out := make([]Translation, len(lines))
	const size = 50
	for start := 0; start < len(lines); start += size {
		scope := torch.OpenScope()
		torch.NoGrad(func() {
			batch := lines[start:min(start+size, len(lines))]
			ids := make([][]int32, len(batch))
			width := 0
			for i, line := range batch {
				ids[i] = append(t.Text.Source.Encode(line), 2)
				width = max(width, len(ids[i]))
			}
			source := models.Tokens{Rows: len(batch), Width: width, IDs: make([]int64, len(batch)*width)}
			for i := range source.IDs {
				source.IDs[i] = models.PadID
			}
			for i, row := range ids {
				for j, id := range row {
					source.IDs[i*width+j] = int64(id)
				}
			}
			cache := t.Model.Begin(t.Model.Encode(source, nil), 1)
			words := make([]int64, len(batch))
			for i := range words {
				words[i] = 2
			}
			results := make([][]int32, len(batch))
			done := make([]bool, len(batch))
			for step := 0; step < 60; step++ {
				inner := torch.OpenScope()
				hidden, _ := t.Model.Step(cache, words, false)
				words = t.Output.LogProbs(hidden).ArgMax(1).Int64s()
				inner.Close()
				all := true
				for i, w := range words {
					if w == 2 {
						done[i] = true
					}
					if !done[i] {
						results[i] = append(results[i], int32(w))
						all = false
					}
				}
				if all {
					break
				}
			}
			cache.Free()
			for i, r := range results {
				tok := t.Text.Target.Tokens(r)
				out[start+i] = Translation{Tokenised: tok, Text: t.Text.Target.Raw(tok)}
			}
		})
		scope.Close()
	}
	return out, nil
}
