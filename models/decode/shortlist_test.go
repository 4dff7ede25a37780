package decode_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// wholeList allows every word.
func wholeList(f *fixture) *decode.Shortlist {
	l := &decode.Shortlist{}
	for id := range int32(f.output.Size(0)) {
		l.Always = append(l.Always, id)
	}
	return l
}

// shortList draws words that are always allowed, and some for each word of the source.
func shortList(f *fixture) *decode.Shortlist {
	r := rand.New(rand.NewPCG(3, 4))
	v := int(f.output.Size(0))
	l := &decode.Shortlist{Always: []int32{tokenize.Unk, tokenize.Pad, 9}, Of: make([][]int32, f.words)}
	for i := range l.Of {
		for range r.IntN(4) {
			l.Of[i] = append(l.Of[i], int32(3+r.IntN(v-3)))
		}
	}
	return l
}

// masked scores with the whole matrix, and makes all words but those allowed impossible before the softmax.
type masked struct {
	softmax decode.Softmax
	allowed []int32
}

func (m masked) LogProbs(hidden torch.Tensor) torch.Tensor {
	others := make([]bool, m.softmax.Weight.Size(0))
	for id := range others {
		others[id] = id != tokenize.EOS && !slices.Contains(m.allowed, int32(id))
	}
	mask := torch.FromBools(others, device, 1, int64(len(others)))
	return torch.Linear(hidden, m.softmax.Weight, m.softmax.Bias).MaskedFill(mask, math.Inf(-1)).LogSoftmax(1)
}

// biased is the scorer with a bias.
func biased(f *fixture) decode.Softmax {
	s := f.scorer()
	s.Bias = torch.NewStream(5, "test").Normal(0, 1, s.Weight.DType(), device, s.Weight.Size(0))
	return s
}

// TestWholeShortlist: with every word in it a list changes nothing, to the last bit, in greedy and in beam search, in
// eight bits too.
func TestWholeShortlist(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		for _, beam := range []int{1, 5} {
			for _, int8 := range []bool{false, true} {
				if int8 && device != torch.CPU {
					continue
				}
				o := small()
				o.Beam, o.NBest, o.Int8, o.NoRepeatNgram, o.Alignment = beam, beam, int8, 2, true
				scorer := biased(f)
				want := must(t, f.model, scorer, sources(f, 12, 7), o)
				o.Shortlist = wholeList(f)
				got := must(t, f.model, scorer, sources(f, 12, 7), o)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("beam %d, eight bits %v (-without, +with the list):\n%s", beam, int8, diff)
				}
			}
		}
	})
}

// TestShortlist: a search with a short list is one of the whole matrix where the scores of all other words are minus
// infinity, for each sentence alone and for all in a batch.
func TestShortlist(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		list, s, scorer := shortList(f), sources(f, 12, 6), biased(f)
		differ := 0
		for _, beam := range []int{1, 4} {
			o := small()
			o.Beam, o.NBest, o.NoRepeatNgram, o.MinLength = beam, beam, 2, 2
			without := must(t, f.model, scorer, s, o)
			want := make([][]decode.Hypothesis, len(s))
			for i := range s {
				allowed := slices.Clone(list.Always)
				for _, id := range s[i] {
					allowed = append(allowed, list.Of[id]...)
				}
				want[i] = must(t, f.model, masked{scorer, allowed}, s[i:i+1], o)[0]
				if !cmp.Equal(want[i], without[i]) {
					differ++
				}
			}
			o.Shortlist = list
			same(t, fmt.Sprintf("a batch, beam %d", beam), must(t, f.model, scorer, s, o), want)
			same(t, fmt.Sprintf("unfused, beam %d", beam), must(t, plain{f.model}, scorer, s, o), want)
			o.BatchSentences = 1
			same(t, fmt.Sprintf("each alone, beam %d", beam), must(t, f.model, scorer, s, o), want)
		}
		if differ < len(s) {
			t.Errorf("the list changes %d translations: the test shows little", differ)
		}
	})
}

// TestShortlistInFloat64: where nothing is laid out, the same is found with plain operators.
func TestShortlistInFloat64(t *testing.T) {
	torch.Test(t, func() {
		single, double := load(t, "postnorm_tied", torch.Float32, 4), load(t, "postnorm_tied", torch.Float64, 4)
		defer single.free()
		defer double.free()
		o := small()
		o.Shortlist = shortList(single)
		same(t, "float64", must(t, double.model, double.scorer(), sources(double, 9, 6), o),
			must(t, single.model, single.scorer(), sources(single, 9, 6), o))
	})
}

// TestShortlistAndConstraints: what a translation must hold is allowed, for its own sentence alone.
func TestShortlistAndConstraints(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s := slices.Repeat([][]int32{{5, 7, 9}}, 3)
		o := small()
		o.Shortlist = &decode.Shortlist{Always: []int32{10}}
		c := decode.Constraints{Of: []decode.Constraint{{}, {Prefix: []int32{11}, Phrases: [][]int32{{12, 13}}}, {}}}
		searcher, err := decode.New(f.model, f.scorer(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer searcher.Free()
		found, err := searcher.SearchConstrained(context.Background(), s, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range found {
			for _, h := range list {
				allowed := []int32{10}
				if i == 1 {
					allowed = []int32{10, 11, 12, 13, 0}
					if text := fmt.Sprint(h.IDs); h.IDs[0] != 11 || !strings.Contains(text, "12 13") {
						t.Errorf("%v does not hold what it must", h.IDs)
					}
				}
				for _, id := range h.IDs {
					if !slices.Contains(allowed, id) {
						t.Errorf("translation %v of source %d holds %d", h.IDs, i, id)
					}
				}
			}
			if len(list) == 0 {
				t.Errorf("source %d has no translation", i)
			}
		}
	})
}

// TestOneWithoutTranslation: a source for which nothing is left has an error of its own, and the others of its batch
// have their translations.
func TestOneWithoutTranslation(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s := [][]int32{{5, 7}, {8}, {5}}
		o := small()
		o.NoUnk, o.MinLength = true, 1
		o.Shortlist = &decode.Shortlist{Of: make([][]int32, f.words)}
		o.Shortlist.Of[5] = []int32{10, 12}
		searcher, err := decode.New(f.model, f.scorer(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer searcher.Free()
		found, failed := make([][]decode.Hypothesis, len(s)), make([]error, len(s))
		err = searcher.SearchEach(t.Context(), s, decode.Constraints{Of: make([]decode.Constraint, len(s))},
			func(i int, best []decode.Hypothesis, err error) { found[i], failed[i] = best, err })
		if err != nil || len(found[0]) == 0 || len(found[2]) == 0 || failed[0] != nil || failed[2] != nil {
			t.Errorf("%v, %v: %v", err, failed, found)
		}
		wantError(t, failed[1], "it has no translation: after 0 words")
		_, err = searcher.Search(t.Context(), s)
		wantError(t, err, "source 2: it has no translation")
	})
}

// TestShortlistRefuses scorers without a matrix and lists of another vocabulary, and leaves no tensors behind.
func TestShortlistRefuses(t *testing.T) {
	torch.Test(t, func() {
		f := load(t, "postnorm_tied", torch.Float32, 4)
		defer f.free()
		o := small()
		o.Shortlist = wholeList(f)
		_, err := decode.New(f.model, plainScorer{f.scorer()}, o)
		wantError(t, err, "this output layer has none")
		searcher, err := decode.New(f.model, f.scorer(), small())
		if err != nil {
			t.Fatal(err)
		}
		defer searcher.Free()
		before := torch.LiveHandles()
		for _, ids := range [][]int32{{-1}, {int32(f.output.Size(0))}, {tokenize.EOS, int32(f.output.Size(0)) + 9}} {
			o.Shortlist = &decode.Shortlist{Always: ids}
			with, err := searcher.With(o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = with.Search(context.Background(), sources(f, 3, 5))
			wantError(t, err, "it was made for another model")
		}
		o.Shortlist = &decode.Shortlist{} // leaves the unknown word
		with, err := searcher.With(o)
		if err != nil {
			t.Fatal(err)
		}
		found, err := with.Search(context.Background(), sources(f, 5, 5)) // the third of which is empty
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range found {
			ids := list[0].IDs
			other := slices.ContainsFunc(ids, func(id int32) bool { return id != tokenize.Unk })
			if other || len(ids) == 0 && i != 2 {
				t.Errorf("by an empty list the translation is %v", ids)
			}
		}
		o.Shortlist = shortList(f)
		with, err = searcher.With(o)
		if err == nil {
			_, err = with.Search(context.Background(), sources(f, 5, 5))
		}
		if err != nil {
			t.Fatal(err)
		}
		if after := torch.LiveHandles(); after != before {
			t.Errorf("%d tensors were alive, and %d are now", before, after)
		}
	})
}
