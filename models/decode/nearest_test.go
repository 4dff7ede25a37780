package decode_test

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/torch"
)

// vectors is a scorer that finds its nearest words itself, and counts how often it was asked.
type vectors struct {
	plainScorer
	asked *int
	nan   bool
}

func (v vectors) Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor) {
	*v.asked++
	scores, ids = v.LogProbs(hidden).TopK(k, 1)
	if v.nan {
		scores = scores.MulScalar(math.NaN())
	}
	return scores, ids
}

// Greedy search by the nearest words is greedy search over scores of all words; a beam, a block of n-grams and a
// shortest length need the scores of all.
func TestNearestWordsAreTheGreedySearch(t *testing.T) {
	eachModel(t, func(t *testing.T, f *fixture) {
		s := sources(f, 20, 12)
		for what, c := range map[string]struct {
			change func(o *decode.Options)
			asks   bool
		}{
			"greedy":          {func(o *decode.Options) { o.Beam = 1 }, true},
			"any length":      {func(o *decode.Options) { o.Beam, o.MinLength = 1, 0 }, true},
			"with alignment":  {func(o *decode.Options) { o.Beam, o.Alignment = 1, true }, true},
			"beam":            {func(o *decode.Options) { o.Beam = 3 }, false},
			"another penalty": {func(o *decode.Options) { o.Beam, o.LengthPenalty = 1, "gnmt" }, false},
			"n-gram block":    {func(o *decode.Options) { o.Beam, o.NoRepeatNgram = 1, 1 }, false},
			"no unknown word": {func(o *decode.Options) { o.Beam, o.NoUnk = 1, true }, false},
			"too short":       {func(o *decode.Options) { o.Beam, o.MinLength = 1, 1000 }, false},
		} {
			o := decode.Defaults()
			o.MaxLengthA, o.MaxLengthB = 1, 5
			c.change(&o)
			asked := 0
			got := must(t, plain{f.model}, vectors{plainScorer{f.scorer()}, &asked, false}, s, o)
			want := must(t, plain{f.model}, plainScorer{f.scorer()}, s, o)
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-4 })); diff != "" {
				t.Errorf("%s: all words (-), nearest words (+):\n%s", what, diff)
			}
			if (asked > 0) != c.asks {
				t.Errorf("%s: nearest words were asked for %d times", what, asked)
			}
		}
		o := decode.Defaults()
		o.Beam, o.MinLength = 1, 0
		asked := 0
		_, err := decode.Search(context.Background(), plain{f.model}, vectors{plainScorer{f.scorer()}, &asked, true}, s,
			o)
		wantError(t, err, "has no translation")
	})
}
