package significance

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/tokenize/score"
)

// TestLinearEqualsStatsmodels: estimates, errors, intervals and p are those of ordinary least squares, with and without
// a term for each seed and where rows lack seeds. See testdata/gen_linear.py.
func TestLinearEqualsStatsmodels(t *testing.T) {
	var golden struct {
		Fits []struct {
			Scores         [][]*float64
			ICC, Deviation float64
			Freedom        int
			Contrasts      [][5]float64
		}
		Seeds [][6]float64
	}
	readJSON(t, "testdata/linear.json", &golden)
	close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
	with := 0
	for i, want := range golden.Fits {
		scores := make([][]float64, len(want.Scores))
		for r, row := range want.Scores {
			for _, x := range row {
				if x == nil {
					scores[r] = append(scores[r], math.NaN())
				} else {
					scores[r] = append(scores[r], *x)
				}
			}
		}
		got := Linear(scores, 0, 0.05)
		if got.Seeds {
			with++
		}
		if !close(got.ICC, want.ICC) || !close(got.Deviation, want.Deviation) || got.Freedom != want.Freedom {
			t.Errorf("case %d: correlation %v, deviation %v with %d degrees of freedom, want %v, %v, %d", i, got.ICC,
				got.Deviation,
				got.Freedom, want.ICC, want.Deviation, want.Freedom)
		}
		for row, c := range want.Contrasts {
			g := got.Contrasts[row+1]
			for k, x := range []float64{g.Estimate, g.Error, g.Low, g.High, g.P} {
				if !close(x, c[k]) {
					t.Errorf("case %d, row %d: %v, want %v", i, row+1, g, c)
					break
				}
			}
		}
	}
	if with == 0 || with == len(golden.Fits) {
		t.Errorf("%d of %d cases have terms for seeds: both kinds are wanted", with, len(golden.Fits))
	}
	for _, s := range golden.Seeds {
		if got := Seeds(s[0], Fit{Deviation: s[1]}, int(s[2]), s[3], s[4]); got != int(s[5]) {
			t.Errorf("a difference of %v at a deviation of %v with %v rows needs %d seeds, want %v", s[0], s[1], s[2],
				got, s[5])
		}
	}
	// With terms for seeds 6 seeds find 2 deviations with power 0.789, and 3 seeds find 4 with 0.705 (noncentral t).
	for difference, want := range map[float64]int{2: 7, 4: 4} {
		if got := Seeds(difference, Fit{Deviation: 1, Seeds: true}, 2, 0.05, 0.8); got != want {
			t.Errorf("a difference of %v with terms for seeds needs %d seeds, want %d", difference, got, want)
		}
	}
}

// TestLinearPoolsTheSpread: a row whose seeds happen to lie close together is no surer than the spread of all rows
// allows.
func TestLinearPoolsTheSpread(t *testing.T) {
	scores := [][]float64{{40, 41, 39.5}, {40.6, 40.61, 40.59}, {39, 40.4, 40.9}}
	c := Linear(scores, 0, 0.05).Contrasts[1]
	if c.P < 0.1 {
		t.Errorf("p is %v of a difference within the spread", c.P)
	}
	// Where all seeds differ by the same amount, terms for seeds leave nothing over.
	if same := Linear([][]float64{{500, 600, 700}, {600, 700, 800}}, 0, 0.05); !same.Seeds || same.Contrasts[1].P > 1e-9 {
		t.Errorf("rows with the same differences between seeds: %+v", same)
	}
	if missing := Linear([][]float64{{1, 2}, {2, math.NaN()}}, 0, 0.05); math.IsNaN(missing.Contrasts[1].P) ||
		missing.Seeds {
		t.Errorf("a row with one seed: %+v", missing)
	}
	if one := Linear([][]float64{{1}, {2}}, 0, 0.05); one.Contrasts[1].Estimate != 1 ||
		!math.IsNaN(one.Contrasts[1].P) {
		t.Errorf("a seed each: %+v", one)
	}
}

// TestLinearWithoutScores: rows and seeds without a score have no part in the model of the others, with terms for seeds
// as without.
func TestLinearWithoutScores(t *testing.T) {
	none := math.NaN()
	for _, shared := range []float64{0, 5} {
		a, b := []float64{1, 1.2 + shared, 0.9 - shared}, []float64{2, 2.1 + shared, 2.2 - shared}
		want := Linear([][]float64{a, b}, 0, 0.05)
		got := Linear([][]float64{{none, none, none, none}, {a[0], none, a[1], a[2]}, {b[0], none, b[1], b[2]}}, 1,
			0.05)
		if want.Seeds != (shared > 0) || got.Seeds != want.Seeds || got.Contrasts[2] != want.Contrasts[1] {
			t.Errorf("%+v, want %+v", got, want)
		}
		if !math.IsNaN(got.Contrasts[0].Estimate) {
			t.Errorf("a row without scores has the contrast %v", got.Contrasts[0])
		}
	}
	if fit := Linear([][]float64{{none}, {1}}, 0, 0.05); !math.IsNaN(fit.Contrasts[1].Estimate) {
		t.Errorf("without the control's scores: %+v", fit)
	}
}

// outputs makes translations of a text that are right word for word but for errors: a share of the words is wrong, by
// sentence.
func outputs(r *rand.Rand, refs []string, wrong []float64) []string {
	hyps := make([]string, len(refs))
	for i, ref := range refs {
		words := strings.Fields(ref)
		for j := range words {
			if r.Float64() < wrong[i] {
				words[j] = "x"
			}
		}
		hyps[i] = strings.Join(words, " ")
	}
	return hyps
}

// TestSeedsAndSentences: the mean of two seeds' differences, with an error by the formula.
func TestSeedsAndSentences(t *testing.T) {
	const samples, seed = 50, 3
	refs := lines(t, "testdata/reference.de")
	base, system := lines(t, "testdata/mle.de"), lines(t, "testdata/spectrum.de")
	half := len(refs) / 2
	controls := []score.Counted{counted(t, score.BLEUOptions{}, base, refs),
		counted(t, score.BLEUOptions{}, slices.Concat(refs[:2], base[2:]), refs)}
	systems := []score.Counted{counted(t, score.BLEUOptions{}, slices.Concat(refs[:half], system[half:]), refs),
		counted(t, score.BLEUOptions{}, slices.Concat(base[:half], refs[half:]), refs)}
	var differences, texts []float64
	own := 0.0
	for s := range controls {
		differences = append(differences, systems[s].Score(nil).Score-controls[s].Score(nil).Score)
		a, _ := controls[s].Resample(samples, seed)
		b, _ := systems[s].Resample(samples, seed)
		floats.Sub(b, a)
		own += stat.Variance(b, nil) / 4
		floats.Scale(0.5, b)
		if texts == nil {
			texts = make([]float64, samples)
		}
		floats.Add(texts, b)
	}
	want := math.Sqrt(stat.Variance(differences, nil)/2 + 2*max(0, stat.Variance(texts, nil)-own))
	got := SeedsAndSentences(controls, systems, samples, seed, 0.05)
	wide := SeedsAndSentences(controls, systems, samples, seed, 0.01)
	if !near(got.Estimate, stat.Mean(differences, nil)) || !(got.Estimate > 1) || !near(got.Error, want) {
		t.Errorf("%+v, want %v with the error %v", got, differences, want)
	}
	if !(wide.Low < got.Low && got.Low < got.Estimate && got.Estimate < got.High && got.High < wide.High) {
		t.Errorf("the interval of 0.05 is %v to %v, that of 0.01 %v to %v", got.Low, got.High, wide.Low, wide.High)
	}
	if low, high := got.Interval(0.05); got.Low != low || got.High != high {
		t.Errorf("the interval is %v to %v, want %v to %v", got.Low, got.High, low, high)
	}
}

// TestLinearOfConstants: what rounding leaves of equal constants is no difference, whatever the numbers of seeds.
func TestLinearOfConstants(t *testing.T) {
	for _, x := range []float64{13828478, 20000, 600, 0.1, 24221193} {
		for few := 2; few <= 10; few++ {
			for many := 2; many <= 10; many++ {
				of := func(x float64) []float64 { return slices.Repeat([]float64{x}, 10) }
				scores := [][]float64{of(math.NaN()), of(math.NaN()), of(2 * x)}
				for seed := range few {
					scores[0][seed] = x
				}
				for seed := range many {
					scores[1][seed] = x
				}
				fit := Linear(scores, 0, 0.05)
				if c := fit.Contrasts[1]; c.Estimate != 0 || c.P != 1 {
					t.Errorf("%v with %d and %d seeds: difference %v, p %v", x, few, many, c.Estimate, c.P)
				}
				if c := fit.Contrasts[2]; !near(c.Estimate, x) || c.P != 0 {
					t.Errorf("%v and twice it with %d and %d seeds: difference %v, p %v", x, few, many, c.Estimate, c.P)
				}
			}
		}
	}
}

// TestFalseAlarms simulates 600 comparisons of systems that do not differ, and counts how often each test says at 0.05
// that they do. A right test gives 3 to 7 in 100 in 97 of 100 such simulations; sacreBLEU's one-tailed bootstrap gives
// more.
func TestFalseAlarms(t *testing.T) {
	const nulls, sentences, samples = 600, 80, 199
	r := rand.New(rand.NewPCG(3, 4))
	refs := make([]string, sentences)
	for i := range refs {
		var words []string
		for range 8 + r.IntN(9) {
			words = append(words, string(rune('a'+r.IntN(20)))+string(rune('a'+r.IntN(20))))
		}
		refs[i] = strings.Join(words, " ")
	}
	difficulty := func(deviation float64, base []float64) []float64 { // of each sentence, for one system
		d := make([]float64, sentences)
		for i := range d {
			d[i] = min(0.9, max(0, base[i]+deviation*r.NormFloat64()))
		}
		return d
	}
	count := func(wrong []float64) score.Counted {
		c, err := score.Count(score.BLEUOptions{Tokenizer: "none"}, outputs(r, refs, wrong), [][]string{refs})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	alarms := map[string]int{}
	alarm := func(name string, p float64) {
		if p < 0.05 {
			alarms[name]++
		}
	}
	base := make([]float64, sentences)
	for i := range base {
		base[i] = 0.1 + 0.3*r.Float64()
	}
	for n := range nulls {
		// Two trained models: the text is what is drawn.
		one, two := count(difficulty(0.1, base)), count(difficulty(0.1, base))
		b := Bootstrap(one, two, samples, uint64(n+1))
		alarm("bootstrap", b.P)
		alarm("one-tailed bootstrap", b.OneTailed)
		alarm("randomisation", Randomisation(one, two, samples, uint64(n+1)))

		// Five rows of six seeds: seeds are drawn, alone or with an effect of each seed that all rows share.
		for shared, name := range []string{"linear model", "linear model, seeds alike"} {
			scores := make([][]float64, 5)
			effect := make([]float64, 6)
			for s := range effect {
				effect[s] = float64(shared) * r.NormFloat64()
			}
			for i := range scores {
				for s := range effect {
					scores[i] = append(scores[i], effect[s]+r.NormFloat64())
				}
			}
			fit := Linear(scores, 0, 0.05)
			alarm(name, fit.Contrasts[1+n%4].P)
			if name == "linear model" {
				var d []float64
				for s := range effect {
					d = append(d, scores[1][s]-scores[0][s])
				}
				alarm("paired t", PairedT(d).P)
			}
		}
		// Two methods of five seeds: what a method makes of a sentence, and each seed, are drawn.
		var control, system []score.Counted
		methods := [2][]float64{difficulty(0.12, base), difficulty(0.12, base)}
		for range 5 {
			for m, into := range []*[]score.Counted{&control, &system} {
				shift := 0.02 * r.NormFloat64()
				wrong := difficulty(0.05, methods[m])
				for i := range wrong {
					wrong[i] = max(0, wrong[i]+shift)
				}
				*into = append(*into, count(wrong))
			}
		}
		alarm("seeds and sentences", SeedsAndSentences(control, system, 100, uint64(n+1), 0.05).P)
	}
	for _, name := range slices.Sorted(maps.Keys(alarms)) {
		share := float64(alarms[name]) / nulls
		t.Logf("%s: %.3f", name, share)
		if right := share >= 0.03 && share <= 0.07; right == (name == "one-tailed bootstrap") {
			t.Errorf("the %s finds a difference in %.3f of nulls at a level of 0.05", name, share)
		}
	}
	if len(alarms) != 7 {
		t.Errorf("%d tests, want 7", len(alarms))
	}
}
