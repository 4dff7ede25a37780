package decode_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// small are options under which the small models finish at various lengths.
func small() decode.Options {
	o := decode.Defaults()
	o.MaxLengthA, o.MaxLengthB, o.NBest = 0.5, 8, 5
	return o
}

// same fails unless the translations are the same and scores near.
func same(t *testing.T, what string, got, want [][]decode.Hypothesis) {
	t.Helper()
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s: source %d has %d translations, want %d", what, i, len(got[i]), len(want[i]))
		}
		for j, h := range want[i] {
			if !slices.Equal(got[i][j].IDs, h.IDs) {
				t.Fatalf("%s: translation %d of source %d is %v, want %v", what, j, i, got[i][j].IDs, h.IDs)
			}
			if d := math.Abs(got[i][j].Score - h.Score); !(d <= 1e-5*math.Max(1, math.Abs(h.Score))) {
				t.Fatalf("%s: translation %d of source %d has the score %v, want %v", what, j, i, got[i][j].Score,
					h.Score)
			}
		}
	}
}

// TestBatchesChangeNothing: their size, the order of sources, and a sentence
// far longer than the others beside them.
func TestBatchesChangeNothing(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s := sources(f, 12, 6)
		s[3] = slices.Repeat(s[0][:1], 26)
		o := small()
		want := must(t, f.model, f.scorer(), s, o)
		for _, size := range []int{1, 5} {
			o.BatchSentences = size
			same(t, fmt.Sprintf("batches of %d", size), must(t, f.model, f.scorer(), s, o), want)
		}
		o = small()
		o.BatchTokens = 20
		same(t, "batches of 20 tokens", must(t, f.model, f.scorer(), s, o), want)
		slices.Reverse(s)
		backwards := must(t, f.model, f.scorer(), s, small())
		slices.Reverse(backwards)
		same(t, "sources backwards", backwards, want)
	})
}

// TestFusedEqualsPlain: the fused operators and those they stand for.
func TestFusedEqualsPlain(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s := sources(f, 9, 7)
		o := small()
		o.NoRepeatNgram, o.Alignment = 2, true
		want := must(t, plain{f.model}, plainScorer{f.scorer()}, s, o)
		for what, got := range map[string][][]decode.Hypothesis{
			"fused":           must(t, f.model, f.scorer(), s, o),
			"fused selection": must(t, plain{f.model}, f.scorer(), s, o),
			"fused decoder":   must(t, f.model, plainScorer{f.scorer()}, s, o),
		} {
			same(t, what, got, want)
			for i := range want {
				for j := range want[i] {
					if !slices.Equal(got[i][j].Alignment, want[i][j].Alignment) {
						t.Fatalf("%s: the alignment of translation %d of source %d is %v, want %v", what, j, i,
							got[i][j].Alignment, want[i][j].Alignment)
					}
				}
			}
		}
	})
}

// TestBeamOneIsGreedy compares with the most probable word after each prefix.
func TestBeamOneIsGreedy(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		o := small()
		o.Beam, o.NBest, o.MaxLengthA, o.MaxLengthB = 1, 1, 0, 9
		s := sources(f, 7, 6)
		got := must(t, f.model, f.scorer(), s, o)
		for i, source := range s {
			if len(source) == 0 {
				continue
			}
			ids := []int64{tokenize.EOS}
			for len(ids) <= 9 {
				states := f.model.Forward(row(source), models.Tokens{IDs: ids, Rows: 1, Width: len(ids)}, nil)
				logits := torch.Linear(states.Hidden, f.output, torch.Tensor{}).Narrow(0, int64(len(ids)-1),
					1).Float64s()
				logits[tokenize.Pad] = math.Inf(-1)
				if len(ids) == 1 {
					logits[tokenize.EOS] = math.Inf(-1)
				}
				best := slices.Index(logits, slices.Max(logits))
				if best == tokenize.EOS {
					break
				}
				ids = append(ids, int64(best))
			}
			if fmt.Sprint(got[i][0].IDs) != fmt.Sprint(ids[1:]) {
				t.Errorf("source %d becomes %v, greedily %v", i, got[i][0].IDs, ids[1:])
			}
		}
	})
}

func row(source []int32) models.Tokens {
	var t models.Tokens
	for _, id := range append(slices.Clone(source), tokenize.EOS) {
		t.IDs = append(t.IDs, int64(id))
	}
	t.Rows, t.Width = 1, len(t.IDs)
	return t
}

// TestBestFirst: translations are sorted, differ, and the first ones are those
// that a shorter list holds.
func TestBestFirst(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		for _, penalty := range []string{"fairseq", "gnmt"} {
			for _, lenpen := range []float64{0, 0.6, 1, -0.5} {
				s, o := sources(f, 8, 6), small()
				o.LengthPenalty, o.Lenpen = penalty, lenpen
				all := must(t, f.model, f.scorer(), s, o)
				for i, list := range all {
					for j := 1; j < len(list); j++ {
						if list[j].Score > list[j-1].Score {
							t.Fatalf("source %d: translation %d has a better score than the one before", i, j)
						}
						if slices.Equal(list[j].IDs, list[j-1].IDs) {
							t.Fatalf("source %d: translations %d and %d are the same", i, j-1, j)
						}
					}
				}
				for _, n := range []int{1, 3} {
					o.NBest = n
					short := make([][]decode.Hypothesis, len(all))
					for i := range all {
						short[i] = all[i][:min(n, len(all[i]))]
					}
					same(t, fmt.Sprintf("%s, lenpen %v, the %d best", penalty, lenpen, n),
						must(t, f.model, f.scorer(), s, o), short)
				}
			}
		}
	})
}

// TestLengths: neither bound is crossed, and positions bound too.
func TestLengths(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		for _, bound := range []struct {
			min, b int
			a      float64
		}{{1, 0, 1}, {5, 6, 0}, {0, 0, 0.5}, {3, 200, 0}, {9, 4, 0}} {
			if bound.b == 200 && f.model.MaxPositions > 100 {
				continue // only the model with few positions: others would write 200 words
			}
			o := small()
			o.MinLength, o.MaxLengthA, o.MaxLengthB = bound.min, bound.a, bound.b
			s := sources(f, 6, 6)
			for i, list := range must(t, f.model, f.scorer(), s, o) {
				for _, h := range list {
					most := min(int(bound.a*float64(len(s[i])+1))+bound.b, f.model.MaxPositions-1)
					if n := len(h.IDs); len(s[i]) > 0 && (n > most || n < min(bound.min, most)) {
						t.Errorf("bounds %+v: source %d of %d words has a translation of %d", bound, i, len(s[i]), n)
					}
					if slices.Contains(h.IDs, tokenize.EOS) || slices.Contains(h.IDs, tokenize.Pad) {
						t.Errorf("source %d: %v holds padding or an end of sentence", i, h.IDs)
					}
				}
			}
		}
	})
}

// TestNoRepeatedNgrams in translations that repeat words without the block.
func TestNoRepeatedNgrams(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		for n := 1; n <= 3; n++ {
			o := small()
			o.MaxLengthB, o.MinLength = 14, 12
			repeats := func() (count int) {
				for _, list := range must(t, f.model, f.scorer(), sources(f, 6, 6), o) {
					for _, h := range list {
						seen := map[string]bool{}
						for i := 0; i+n <= len(h.IDs); i++ {
							ngram := fmt.Sprint(h.IDs[i : i+n])
							if seen[ngram] {
								count++
							}
							seen[ngram] = true
						}
					}
				}
				return count
			}
			if n == 1 && repeats() == 0 {
				t.Error("without the block no word is repeated: the test shows nothing")
			}
			o.NoRepeatNgram = n
			if count := repeats(); count > 0 {
				t.Errorf("%d n-grams of %d words are repeated", count, n)
			}
		}
	})
}

// unknowing makes the unknown word the most probable one of all.
type unknowing struct{ decode.Scorer }

func (u unknowing) LogProbs(hidden torch.Tensor) torch.Tensor {
	p := u.Scorer.LogProbs(hidden)
	p.Narrow(1, tokenize.Unk, 1).Assign(torch.Zeros(p.DType(), p.Device(), p.Size(0), 1))
	return p
}

// TestNoUnk: the unknown word is never written where it is ruled out, with repeated words ruled out as well or without.
func TestNoUnk(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		for _, beam := range []int{1, 4} {
			for _, n := range []int{0, 1} {
				o := small()
				o.Beam, o.NBest, o.MaxLengthB, o.MinLength, o.NoRepeatNgram = beam, 1, 8, 6, n
				unknown := func() (count int) {
					for _, list := range must(t, f.model, unknowing{f.scorer()}, sources(f, 6, 6), o) {
						for _, id := range list[0].IDs {
							if id == tokenize.Unk {
								count++
							}
						}
					}
					return count
				}
				if unknown() == 0 {
					t.Error("it is not written anyway: the test shows nothing")
				}
				o.NoUnk = true
				if count := unknown(); count > 0 {
					t.Errorf("beam %d, n-grams of %d: it is written %d times", beam, n, count)
				}
			}
		}
	})
}

// TestAlignment: each word names the source word with the most attention when it
// was predicted.
func TestAlignment(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		o := small()
		o.Alignment = true
		s := sources(f, 8, 6)
		for i, list := range must(t, f.model, f.scorer(), s, o) {
			if len(s[i]) == 0 {
				continue
			}
			for _, h := range list {
				prev := models.Tokens{IDs: []int64{tokenize.EOS}, Rows: 1, Width: 1 + len(h.IDs)}
				for _, id := range h.IDs {
					prev.IDs = append(prev.IDs, int64(id))
				}
				attention := f.model.ForwardWithAttention(row(s[i]), prev, nil).Attention
				for j, at := range h.Alignment {
					seen := attention.Narrow(1, int64(j), 1).Narrow(2, 0, int64(len(s[i]))).Float64s()
					if seen[at] < slices.Max(seen)-1e-6 {
						t.Fatalf("source %d: word %d attends to %v, not most to %d", i, j, seen, at)
					}
					second := h.Second[j]
					if (second < 0) != (len(seen) == 1) || second == at {
						t.Fatalf("source %d: word %d attends to %v, most to %d and then to %d", i, j, seen, at, second)
					}
					for other, a := range seen {
						if other != at && a > seen[second]+1e-6 {
							t.Fatalf("source %d: word %d attends to %v, and after %d not most to %d", i, j, seen, at,
								second)
						}
					}
				}
				if len(h.Alignment) != len(h.IDs) || len(h.Second) != len(h.IDs) {
					t.Fatalf("source %d: %d words have %d alignments", i, len(h.IDs), len(h.Alignment))
				}
			}
		}
	})
}

// TestForcedScores: what a search says of its translations is what they score
// when they are given.
func TestForcedScores(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s, o := sources(f, 8, 6), small()
		var from, to [][]int32
		var want []decode.Hypothesis
		for i, list := range must(t, f.model, f.scorer(), s, o) {
			for _, h := range list {
				if len(s[i]) > 0 {
					from, to, want = append(from, s[i]), append(to, h.IDs), append(want, h)
				}
			}
		}
		o.BatchSentences = 5
		got, err := decode.Score(t.Context(), f.model, f.scorer().NLL, from, to, f.model.MaxPositions, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range want {
			sum := 0.0
			for j, p := range h.TokenLogProbs {
				sum += p
				if d := math.Abs(got[i].TokenLogProbs[j] - p); d > 1e-5 {
					t.Fatalf("word %d of pair %d has the log-probability %v, in the search %v", j, i,
						got[i].TokenLogProbs[j], p)
				}
			}
			if math.Abs(sum-h.LogProb) > 1e-9 || math.Abs(got[i].LogProb-h.LogProb) > 1e-4 {
				t.Errorf("pair %d has the log-probability %v, in the search %v, the sum of its words' %v", i,
					got[i].LogProb, h.LogProb, sum)
			}
			if d := h.LogProb/float64(len(h.IDs)+1) - h.Score; math.Abs(d) > 1e-9 {
				t.Errorf("pair %d: the score %v is not the log-probability over the length", i, h.Score)
			}
		}
	})
}
