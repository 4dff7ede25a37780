package decode_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// next are the log-probabilities of the words that may follow a prefix, each word of which is read anew.
func (f *fixture) next(source, prefix []int32) []float64 {
	scope := torch.OpenScope()
	defer scope.Close()
	tokens := models.Tokens{Rows: 1, Width: len(source) + 1}
	for _, id := range append(slices.Clone(source), tokenize.EOS) {
		tokens.IDs = append(tokens.IDs, int64(id))
	}
	decoder := f.model.UnfusedDecoder()
	defer decoder.Free()
	decoding := decoder.Start(tokens)
	defer decoding.Free()
	var hidden torch.Tensor
	for _, id := range append([]int32{tokenize.EOS}, prefix...) {
		hidden, _ = decoding.Step([]int64{int64(id)}, false)
	}
	return f.scorer().LogProbs(hidden).Float64s()
}

// generate is the beam search of transformers' generate() for early_stopping = False and a forced end of sentence,
// written for the reader: of the 2 beam best continuations the ends among the first beam are finished, and the others
// go on; it stops where the best that goes on, at the length of now, is no better than the worst of beam finished ones.
func generate(next func(prefix []int32) []float64, beam, longest int, lenpen float64) []decode.Hypothesis {
	type candidate struct {
		ids []int32
		sum float64
	}
	var finished []decode.Hypothesis
	open := []candidate{{}}
	for step := 0; ; step++ {
		penalty := math.Pow(float64(step+1), lenpen)
		var all []candidate
		for _, o := range open {
			if step == longest { // transformers gives the end it forces the probability 1
				all = append(all, candidate{append(slices.Clone(o.ids), tokenize.EOS), o.sum})
				continue
			}
			for id, p := range next(o.ids) {
				if id != tokenize.Pad && !(id == tokenize.EOS && step == 0) {
					all = append(all, candidate{append(slices.Clone(o.ids), int32(id)), o.sum + p})
				}
			}
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.sum, a.sum) })
		open = nil
		for rank, c := range all[:min(len(all), 2*beam)] {
			switch {
			case c.ids[step] != tokenize.EOS:
				if len(open) < beam {
					open = append(open, c)
				}
			case rank < beam:
				finished = append(finished, decode.Hypothesis{IDs: c.ids[:step], Score: c.sum / penalty})
			}
		}
		slices.SortStableFunc(finished, func(a, b decode.Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
		finished = finished[:min(len(finished), beam)]
		if step == longest || len(finished) == beam && open[0].sum/penalty <= finished[beam-1].Score {
			return finished
		}
	}
}

// TestStopOfTransformers: with decode.stop = "transformers", which imported models have, the search is generate()'s.
func TestStopOfTransformers(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s := slices.DeleteFunc(sources(f, 7, 5), func(source []int32) bool { return len(source) == 0 })
		others, longest := 0, 0
		known := map[string][]float64{}
		next := func(source []int32) func(prefix []int32) []float64 {
			return func(prefix []int32) []float64 {
				key := fmt.Sprint(source, prefix)
				if known[key] == nil {
					known[key] = f.next(source, prefix)
				}
				return known[key]
			}
		}
		for _, lenpen := range []float64{0, 1, 2} {
			for _, beam := range []int{1, 2, 4} {
				o := decode.Defaults()
				o.Beam, o.NBest, o.Lenpen, o.MaxLengthA, o.MaxLengthB, o.Stop = beam, 1, lenpen, 0, 7, "transformers"
				want := make([][]decode.Hypothesis, len(s))
				for i, source := range s {
					want[i] = generate(next(source), beam, 7, lenpen)[:1]
					if len(want[i][0].IDs) == 7 {
						longest++
					}
				}
				what := fmt.Sprintf("beam %d, lenpen %v", beam, lenpen)
				same(t, what, must(t, f.model, f.scorer(), s, o), want)
				same(t, what+", unfused", must(t, plain{f.model}, plainScorer{f.scorer()}, s, o), want)
				o.Stop = "fairseq"
				for i, list := range must(t, f.model, f.scorer(), s, o) {
					if !slices.Equal(list[0].IDs, want[i][0].IDs) || math.Abs(list[0].Score-want[i][0].Score) > 1e-3 {
						others++
					}
				}
			}
		}
		if others == 0 || longest == 0 {
			t.Errorf("%d translations differ from fairseq's, and %d have the longest length: this test sees nothing",
				others, longest)
		}
	})
}
