package decode_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// TestNothingIsLeftBehind: no tensor outlives a search, nor one that fails.
func TestNothingIsLeftBehind(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		broken := decode.Softmax{Weight: torch.Full(math.NaN(), torch.Float32, device, f.output.Shape()...)}
		wrong := decode.Softmax{Weight: torch.Zeros(torch.Float32, device, 47, 5)}
		s := sources(f, 9, 5)
		before := torch.LiveHandles()
		for range 2 {
			for _, model := range []decode.Model{f.model, plain{f.model}} {
				must(t, model, f.scorer(), s, small())
				must(t, model, plainScorer{f.scorer()}, s, small())
				_, err := decode.Search(context.Background(), model, broken, s, small())
				wantError(t, err, "no continuation has a probability")
				if _, err := decode.Search(context.Background(), model, wrong, s, small()); err == nil {
					t.Error("a matrix of another width is no error")
				}
			}
			if left := torch.LiveHandles() - before; left != 0 {
				t.Fatalf("%d tensors are left", left)
			}
		}
	})
}

// TestBatchesLeaveNothing: what a batch needed is given back before the next, and not only at the search's end.
func TestBatchesLeaveNothing(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		o := small()
		o.BatchSentences = 2
		for _, model := range []decode.Model{f.model, plain{f.model}} {
			searcher, err := decode.New(model, f.scorer(), o)
			if err != nil {
				t.Fatal(err)
			}
			s := slices.Repeat([][]int32{{5, 7}}, 16) // batches of one size
			var alive []int64
			err = searcher.SearchEach(t.Context(), s, decode.Constraints{Of: make([]decode.Constraint, len(s))},
				func(int, []decode.Hypothesis, error) { alive = append(alive, torch.LiveHandles()) })
			searcher.Free()
			if err != nil || len(alive) != len(s) {
				t.Fatalf("%v, %d translations", err, len(alive))
			}
			if first, last := alive[1], alive[len(s)-1]; last != first {
				t.Errorf("%d tensors live in the first batch and %d in the last", first, last)
			}
		}
	})
}

// TestOutOfMemoryLeavesNothing: a search that runs out of memory at any place leaves no tensors, so that a server that
// goes on has what it had before.
func TestOutOfMemoryLeavesNothing(t *testing.T) {
	if device != torch.CPU {
		t.Skip("tests compute on " + string(device) + ", and torch.Within limits the CPU's tensors alone")
	}
	torch.Test(t, func() {
		f := load(t, "postnorm_tied", torch.Float32, 4)
		defer f.free()
		bias := torch.Zeros(torch.Float32, device, f.output.Size(0))
		defer torch.Free(bias)
		torch.Keep(bias)
		short := small()
		short.Shortlist = shortList(f)
		for what, search := range map[string]func() error{
			"fused": func() error {
				_, err := decode.Search(t.Context(), f.model, f.scorer(), sources(f, 6, 5), small())
				return err
			},
			"unfused": func() error {
				_, err := decode.Search(t.Context(), plain{f.model}, plainScorer{f.scorer()}, sources(f, 6, 5), small())
				return err
			},
			"short list": func() error {
				scorer := decode.Softmax{Weight: f.output, Bias: bias}
				_, err := decode.Search(t.Context(), f.model, scorer, sources(f, 6, 5), short)
				return err
			},
		} {
			before := torch.LiveBytes()
			torch.ResetPeakBytes()
			if err := search(); err != nil {
				t.Fatal(err)
			}
			handles, most := torch.LiveHandles(), torch.PeakBytes()-before
			if after := torch.LiveBytes(); after != before {
				t.Errorf("%s: a search holds %d bytes more than before", what, after-before)
			}
			const steps = 100
			for i := range int64(steps) {
				err := torch.Within(most*i/steps, search)
				if !errors.Is(err, torch.ErrOutOfMemory) {
					t.Errorf("%s: in %d of %d bytes: %v", what, most*i/steps, most, err)
				}
				if now := torch.LiveHandles(); now != handles {
					t.Fatalf("%s: a search in %d of %d bytes leaves %d tensors", what, most*i/steps, most, now-handles)
				}
			}
		}
	})
}

// TestEmptySources have empty translations, wherever they stand, and so has no source.
func TestEmptySources(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		word := []int32{5}
		out, err := decode.Search(context.Background(), f.model, f.scorer(), [][]int32{{}, word, nil, word}, small())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 2} {
			if len(out[i]) != 1 || len(out[i][0].IDs) != 0 || out[i][0].Score != 0 {
				t.Errorf("the empty source %d becomes %+v", i, out[i])
			}
		}
		same(t, "the same word twice", out[1:2], out[3:4])
		if out := must(t, f.model, f.scorer(), nil, small()); len(out) != 0 {
			t.Errorf("no sources become %v", out)
		}
	})
}

// TestCancelled: a search whose context is cancelled ends with the context's cause.
func TestCancelled(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancelCause(context.Background())
		cause := errors.New("no longer wanted")
		cancel(cause)
		if _, err := decode.Search(ctx, f.model, f.scorer(), [][]int32{{5, 6}}, small()); !errors.Is(err, cause) {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestBadInput is reported in one sentence.
func TestBadInput(t *testing.T) {
	torch.Test(t, func() {
		f := load(t, "prenorm_learned", torch.Float32, 1)
		defer f.free()
		for want, change := range map[string]func(o *decode.Options){
			"decode.beam = 0 is out of range":              func(o *decode.Options) { o.Beam = 0 },
			"1 to 5 translations, not 6":                   func(o *decode.Options) { o.NBest = 6 },
			`decode.length_penalty = "wu" is out of range`: func(o *decode.Options) { o.LengthPenalty = "wu" },
			"decode.lenpen = nan":                          func(o *decode.Options) { o.Lenpen = math.NaN() },
			"decode.max_length_a = -1.0":                   func(o *decode.Options) { o.MaxLengthA = -1 },
			"decode.min_length = -1":                       func(o *decode.Options) { o.MinLength = -1 },
			"decode.batch_sentences = 0":                   func(o *decode.Options) { o.BatchSentences = 0 },
		} {
			o := decode.Defaults()
			change(&o)
			_, err := decode.Search(context.Background(), f.model, f.scorer(), [][]int32{{4}}, o)
			wantError(t, err, want)
		}
		long := slices.Repeat([]int32{4}, 29)
		_, err := decode.Search(context.Background(), f.model, f.scorer(), [][]int32{{4}, long}, decode.Defaults())
		wantError(t, err, "source 2 has 30 tokens")
		_, err = decode.Search(context.Background(), f.model, f.scorer(), [][]int32{{4, tokenize.Pad}},
			decode.Defaults())
		wantError(t, err, "source 1 holds padding")
		_, err = decode.Search(context.Background(), f.model, f.scorer(), [][]int32{{4, 5000}}, decode.Defaults())
		wantError(t, err, "an id of 5000 is outside the table of ")

		score := func(sources, targets [][]int32) error {
			_, err := decode.Score(t.Context(), f.model, f.scorer().NLL, sources, targets, f.model.MaxPositions,
				decode.Defaults())
			return err
		}
		wantError(t, score([][]int32{{4}}, nil), "do not make pairs")
		wantError(t, score([][]int32{{4}}, [][]int32{long}), "translation 1 has 30 tokens")
		wantError(t, score([][]int32{{tokenize.Pad}}, [][]int32{{4}}), "source 1 holds padding")
	})
}

// TestSmallVocabulary: a beam wider than the words there are.
func TestSmallVocabulary(t *testing.T) {
	torch.Test(t, func() {
		f := build(t, transformer(1, 1, 8, 8, 2, 20, torch.Float32), 5, 5, "all")
		defer f.free()
		o := small()
		o.Beam, o.NBest, o.MaxLengthA, o.MaxLengthB = 12, 12, 0, 3
		s := [][]int32{{3}, {4, 3, 4}}
		same(t, "fused", must(t, f.model, f.scorer(), s, o), must(t, plain{f.model}, plainScorer{f.scorer()}, s, o))
	})
}

// TestWideBeamFindsAll: a beam wider than the number of translations ranks all of
// them, as their forced scores under the length penalty do.
func TestWideBeamFindsAll(t *testing.T) {
	torch.Test(t, func() {
		f := build(t, transformer(1, 1, 8, 8, 2, 20, torch.Float32), 6, 5, "decoder")
		defer f.free()
		var all [][]int32 // of up to 3 words that are neither padding nor an end
		for level := [][]int32{{}}; len(level[0]) < 3; {
			var next [][]int32
			for _, prefix := range level {
				for _, id := range []int32{0, 3, 4} {
					next = append(next, append(slices.Clone(prefix), id))
				}
			}
			all, level = append(all, next...), next
		}
		source := []int32{3, 5, 4}
		o := small()
		o.Beam, o.NBest, o.MaxLengthA, o.MaxLengthB = 40, 40, 0, 3
		forced, err := decode.Score(t.Context(), f.model, f.scorer().NLL, slices.Repeat([][]int32{source}, len(all)),
			all, 20, o)
		if err != nil {
			t.Fatal(err)
		}
		for penalty, divisor := range map[string]func(n float64) float64{
			"fairseq": func(n float64) float64 { return math.Pow(n, o.Lenpen) },
			"gnmt":    func(n float64) float64 { return math.Pow(5+n, o.Lenpen) / math.Pow(6, o.Lenpen) },
		} {
			for _, o.Lenpen = range []float64{0, 0.6, 1} {
				o.LengthPenalty = penalty
				want := make([]decode.Hypothesis, len(all))
				for i, ids := range all {
					want[i] = decode.Hypothesis{IDs: ids, Score: forced[i].LogProb / divisor(float64(len(ids)+1))}
				}
				slices.SortFunc(want, func(a, b decode.Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
				same(t, fmt.Sprintf("%s, lenpen %v", penalty, o.Lenpen),
					must(t, f.model, f.scorer(), [][]int32{source}, o), [][]decode.Hypothesis{want})
			}
		}
	})
}

// density is a likelihood whose logarithm may be positive.
type density struct{ softmax decode.Softmax }

func (d density) LogProbs(h torch.Tensor) torch.Tensor { return d.softmax.LogProbs(h).AddScalar(3) }

// TestDensities: scores that rise with the length do not end a search early.
func TestDensities(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s, o := sources(f, 8, 5), small()
		o.Lenpen = 0
		for _, penalty := range []string{"fairseq", "gnmt"} {
			o.LengthPenalty, o.NBest = penalty, 5
			all := must(t, f.model, density{f.scorer()}, s, o)
			for i := range all {
				all[i] = all[i][:1]
			}
			o.NBest = 1
			same(t, penalty, must(t, f.model, density{f.scorer()}, s, o), all)
		}
	})
}

// script is a network whose next words are written down: log-probabilities by the first word of a source and by step,
// the last of which holds for all later ones.
type script map[int64][][]float64

func (s script) Decoder() models.Decoder                   { return s }
func (s script) Longest() int                              { return 10 }
func (s script) Free()                                     {}
func (s script) LogProbs(hidden torch.Tensor) torch.Tensor { return hidden }
func (s script) Start(source models.Tokens) (d models.Decoding) {
	c := &scripted{script: s}
	for r := range source.Rows {
		c.of = append(c.of, source.IDs[r*source.Width])
	}
	return c
}

// scripted is a search of it, with the source of each hypothesis.
type scripted struct {
	script
	of   []int64
	step int
}

func (c *scripted) Step(words []int64, _ bool) (hidden, attention torch.Tensor) {
	var scores []float64
	for _, source := range c.of {
		steps := c.script[source]
		scores = append(scores, steps[min(c.step, len(steps)-1)]...)
	}
	c.step++
	return torch.FromFloat64s(scores, device, int64(len(words)), int64(len(scores)/len(words))), attention
}

func (c *scripted) Reorder(order, _ []int64) {
	var of []int64
	for _, i := range order {
		of = append(of, c.of[i])
	}
	c.of = of
}

// TestDensitiesAlone: a sentence that has met no score above 0 ends as it does alone, whatever the scores of others.
func TestDensitiesAlone(t *testing.T) {
	torch.Test(t, func() {
		const never = -50
		// Words: <s>, padding, the end, and two more. Source 3 could rise behind its third word, source 4 does at once.
		m := script{
			3: {{never, never, never, -1, -9}, {never, never, -0.1, -0.5, -9}, {never, never, -3, 5, -9}},
			4: {{never, never, never, 1, -9}, {never, never, 1, -0.5, -9}},
		}
		o := decode.Defaults()
		o.Beam, o.NBest, o.Lenpen, o.MaxLengthA, o.MaxLengthB = 2, 1, 0, 0, 5
		alone := must(t, m, m, [][]int32{{3}}, o)
		same(t, "beside another", must(t, m, m, [][]int32{{3}, {4}}, o)[:1], alone)
		same(t, "behind another", must(t, m, m, [][]int32{{4}, {3}}, o)[1:], alone)
		if ids := alone[0][0].IDs; !slices.Equal(ids, []int32{3}) {
			t.Errorf("alone it is %v", ids)
		}
	})
}

// BenchmarkSearch translates 64 sentences with a beam of 5.
func BenchmarkSearch(b *testing.B) {
	torch.Do(func() {
		scope := torch.OpenScope()
		defer scope.Close()
		f := build(b, transformer(4, 4, 256, 1024, 4, 1024, torch.Float32), 10000, 10000, "all")
		defer f.free()
		s, o := sources(f, 64, 25), decode.Defaults()
		o.MaxLengthB = 20
		for b.Loop() {
			must(b, f.model, f.scorer(), s, o)
		}
	})
}
