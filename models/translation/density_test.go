package translation_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// candidate is a translation with the sums over its words, the end of sentence included, that
// could rank it: log C(kappa) + kappa c, which is the log-density, and kappa c alone.
type candidate struct {
	words        string
	length       float64
	density, dot float64
}

// candidates are all translations of a source that have one or two words with vectors, scored as
// the definition says: on the sphere in three dimensions log C(kappa) = log(kappa / (4 pi sinh kappa)).
func candidates(made *translation.Translator, source string) []candidate {
	weight, bias := made.Params.Get("decoder.output_projection.map.weight"),
		made.Params.Get("decoder.output_projection.map.bias")
	var vectors [][]float64
	table := translation.VectorsTensor(made.Text.Vectors).Float64s()
	for i := 0; i < len(table); i += 3 {
		e := table[i : i+3]
		length := math.Sqrt(e[0]*e[0] + e[1]*e[1] + e[2]*e[2])
		vectors = append(vectors, []float64{e[0] / length, e[1] / length, e[2] / length}) // NaN where there is none
	}
	var known []int64
	for id, e := range vectors {
		if !math.IsNaN(e[0]) && id != tokenize.EOS {
			known = append(known, int64(id))
		}
	}
	var from []int64
	for _, id := range made.Text.Source.Encode(source) {
		from = append(from, int64(id))
	}
	from = append(from, tokenize.EOS)
	var all []candidate
	score := func(ids ...int64) {
		scope := torch.OpenScope()
		defer scope.Close()
		next := append(slices.Clone(ids), tokenize.EOS)
		states := made.Network.Forward(models.Tokens{IDs: from, Rows: 1, Width: len(from)},
			models.Tokens{IDs: append([]int64{tokenize.EOS}, ids...), Rows: 1, Width: len(next)}, nil)
		x := torch.Linear(states.Hidden, weight, bias).Float64s()
		c := candidate{length: float64(len(next))}
		for i, id := range next {
			out, e := x[3*i:3*i+3], vectors[id]
			kappa := math.Sqrt(out[0]*out[0] + out[1]*out[1] + out[2]*out[2])
			dot := out[0]*e[0] + out[1]*e[1] + out[2]*e[2]
			c.dot += dot
			c.density += math.Log(kappa/(4*math.Pi*math.Sinh(kappa))) + dot
		}
		var words []int32
		for _, id := range ids {
			words = append(words, int32(id))
		}
		c.words = made.Text.Target.Tokens(words)
		all = append(all, c)
	}
	for _, first := range known {
		score(first)
		for _, second := range known {
			score(first, second)
		}
	}
	return all
}

// A beam that is wide enough to keep everything finds what is best of all translations: by the true
// log-density of its vectors divided by the length, and by nothing else that could be taken for it.
func TestBeamRanksByDensity(t *testing.T) {
	config := strings.NewReplacer("merges = 50",
		"merges = 0\njoint = false\njoint_codes = false\ntarget_units = \"word\"\ntokenize = \"none\"",
		"width = 8", "width = 8\ntying = \"none\"").Replace(smallConfig) +
		"\n[objective]\nmethod = \"vmf\"\nvectors_width = 3\nmap_norm = false\n"
	torch.Test(t, func() {
		s := settings(t, config, func(*translation.Settings) {})
		source, target := numbers(1, 60, 3)
		pair, err := translation.LearnText(s, bitext.InMemory(source, target), nil)
		if err != nil {
			t.Fatal(err)
		}
		made, err := translation.New(s, pair, device)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Free()
		torch.NoGrad(func() { // outputs of many lengths, or their constants would hardly differ
			weight := made.Params.Get("decoder.output_projection.map.weight")
			weight.Assign(weight.Detach().MulScalar(3))
		})
		const sources, best = 4, 5
		ranked := func(all []candidate, by func(candidate) float64) []candidate {
			return slices.SortedFunc(slices.Values(all),
				func(a, b candidate) int { return cmp.Compare(by(b), by(a)) })[:best]
		}
		o := decode.Defaults()
		o.MaxLengthA, o.MaxLengthB, o.Beam, o.NBest = 0, 2, 1000, best
		var bySum, byDot int
		for _, line := range source[:sources] {
			all := candidates(made, line)
			want := ranked(all, func(c candidate) float64 { return c.density / c.length })
			if !slices.Equal(ranked(all, func(c candidate) float64 { return c.density }), want) {
				bySum++
			}
			if !slices.Equal(ranked(all, func(c candidate) float64 { return c.dot / c.length }), want) {
				byDot++
			}
			got, err := made.TranslateNBest(t.Context(), []string{line}, o)
			if err != nil {
				t.Fatal(err)
			}
			for i, found := range got[0] {
				if score := want[i].density / want[i].length; found.Tokenised != want[i].words ||
					!(math.Abs(found.Score-score) < 1e-4) {
					t.Errorf("%q: translation %d is %q with %.5f, of all %d the best is %q with %.5f", line, i+1,
						found.Tokenised, found.Score, len(all), want[i].words, score)
				}
			}
		}
		if bySum == 0 || byDot == 0 {
			t.Errorf("the sum of densities has another order in %d of %d sources and the dot product in %d, so that "+
				"this test cannot tell them apart", bySum, sources, byDot)
		}
	})
}
