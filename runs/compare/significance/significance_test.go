package significance

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/tokenize/score"
)

// near allows for the last bits of exp and log, which differ between libraries.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func counted(t *testing.T, m score.Metric, hyps, refs []string) score.Counted {
	t.Helper()
	c, err := score.Count(m, hyps, [][]string{refs})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEqualsSacreBLEU: p values and intervals of both paired tests are sacreBLEU's, to the last digit, on what two
// trained runs made of the built-in sample. See testdata/gen_significance.py.
func TestEqualsSacreBLEU(t *testing.T) {
	var golden []struct {
		Metric             string
		Count              int
		Seed               uint64
		PBS                float64 `json:"p_bs"`
		PAR                float64 `json:"p_ar"`
		Scores, Means, CIs [2]float64
	}
	readJSON(t, "testdata/significance.json", &golden)
	refs, base, system := lines(t, "testdata/reference.de"), lines(t, "testdata/mle.de"),
		lines(t, "testdata/spectrum.de")
	for _, want := range golden {
		var m score.Metric = score.BLEUOptions{}
		if want.Metric == "chrF2" {
			m = score.CHRFOptions{}
		}
		a, b := counted(t, m, base[:want.Count], refs[:want.Count]),
			counted(t, m, system[:want.Count], refs[:want.Count])
		got := Bootstrap(a, b, 0, want.Seed)
		if got.OneTailed != want.PBS {
			t.Errorf("%s of %d lines, seed %d: the bootstrap's p is %v, want %v", want.Metric, want.Count, want.Seed,
				got.OneTailed, want.PBS)
		}
		for i, r := range []score.Result{got.Baseline, got.System} {
			if !near(r.Score, want.Scores[i]) || !near(r.Mean, want.Means[i]) || !near(r.HalfWidth, want.CIs[i]) {
				t.Errorf("%s of %d lines, seed %d: system %d has %v, %v ± %v, want %v, %v ± %v", want.Metric,
					want.Count, want.Seed, i,
					r.Score, r.Mean, r.HalfWidth, want.Scores[i], want.Means[i], want.CIs[i])
			}
		}
		if d := got.System.Score - got.Baseline.Score; d == 0 || !(got.Low < d && d < got.High) {
			t.Errorf("%s of %d lines, seed %d: the difference is %v, and its interval %v to %v", want.Metric, want.Count,
				want.Seed, d, got.Low, got.High)
		}
		if p := Randomisation(a, b, 0, want.Seed); p != want.PAR {
			t.Errorf("%s of %d lines, seed %d: the randomisation's p is %v, want %v", want.Metric, want.Count,
				want.Seed, p, want.PAR)
		}
	}
}

// TestBootstrapOfFewSamples holds the bootstrap to sacreBLEU's where the order of NumPy's additions shows.
func TestBootstrapOfFewSamples(t *testing.T) {
	var golden struct {
		Corpora map[string]struct {
			Hyps []string
			Refs [][]string
		}
		Pairs []struct {
			Metric  string
			Options struct {
				WordOrder int `json:"word_order"`
			}
			Samples    int
			P          float64
			Means, CIs [2]float64
		}
	}
	readJSON(t, "../../../tokenize/score/testdata/score.json", &golden)
	for _, want := range golden.Pairs {
		var m score.Metric = score.BLEUOptions{}
		if want.Metric != "BLEU" {
			m = score.CHRFOptions{WordOrder: want.Options.WordOrder}
		}
		refs := golden.Corpora["easy"].Refs[0]
		got := Bootstrap(counted(t, m, golden.Corpora["easy"].Hyps, refs),
			counted(t, m, golden.Corpora["easier"].Hyps, refs), want.Samples, 0)
		if got.OneTailed != want.P {
			t.Errorf("%s, %d samples: p is %g, want %g", want.Metric, want.Samples, got.OneTailed, want.P)
		}
		for i, r := range []score.Result{got.Baseline, got.System} {
			if !near(r.Mean, want.Means[i]) || !near(r.HalfWidth, want.CIs[i]) {
				t.Errorf("%s, %d samples, system %d: interval is %.17g ± %.17g, want %.17g ± %.17g",
					want.Metric, want.Samples, i, r.Mean, r.HalfWidth, want.Means[i], want.CIs[i])
			}
		}
	}
}

func TestEqualSystems(t *testing.T) {
	text := strings.Split("a b c d e|f g h i j|k l m n o", "|")
	c := counted(t, score.BLEUOptions{}, text, text)
	if b := Bootstrap(c, c, 100, 3); b.P != 1 || b.OneTailed != 1 || b.Low != 0 || b.High != 0 {
		t.Errorf("the bootstrap: %+v", b)
	}
	if p := Randomisation(c, c, 100, 3); p != 1 {
		t.Errorf("the randomisation: p is %g", p)
	}
}

// TestFewDifferences: where k sentences differ, all for the better, the exact p of randomisation is 2/2^k. One
// sentence gives the bootstrap nothing to judge by.
func TestFewDifferences(t *testing.T) {
	refs := make([]string, 400)
	for i := range refs {
		refs[i] = fmt.Sprintf("a b c d e%d f", i)
	}
	better := counted(t, score.BLEUOptions{}, refs, refs)
	for k, want := range map[int]float64{1: 1, 2: 0.5, 4: 0.125} {
		worse := slices.Clone(refs)
		for i := range k {
			worse[7*i] = "a b c x f"
		}
		base := counted(t, score.BLEUOptions{}, worse, refs)
		if p := Randomisation(base, better, 0, 0); math.Abs(p-want) > 0.02 {
			t.Errorf("%d of 400 sentences differ: p is %v, and the exact one %v", k, p, want)
		}
	}
	one := counted(t, score.BLEUOptions{}, refs[:1], refs[:1])
	other := counted(t, score.BLEUOptions{}, []string{"a b c d x f"}, refs[:1])
	if b := Bootstrap(other, one, 0, 0); !math.IsNaN(b.P) || !math.IsNaN(b.Low) || !math.IsNaN(b.High) {
		t.Errorf("the bootstrap of one sentence: %+v", b)
	}
	if p := Randomisation(other, one, 0, 0); p != 1 {
		t.Errorf("the randomisation of one sentence: p is %v", p)
	}
}

// TestPool: the pool of one is that one, and that of two scores as their texts one after the other.
func TestPool(t *testing.T) {
	refs := strings.Split("a b c d e|f g h i j|k l m n o", "|")
	one := counted(t, score.BLEUOptions{}, strings.Split("a b c d x|f g h i j|k l m", "|"), refs)
	two := counted(t, score.BLEUOptions{}, strings.Split("a b c d e|f g x i j|k l m n y", "|"), refs)
	both := counted(t, score.BLEUOptions{},
		strings.Split("a b c d x|f g h i j|k l m|a b c d e|f g x i j|k l m n y", "|"), append(refs[:3:3], refs...))
	if Pool([]score.Counted{one}).Score(nil).Score != one.Score(nil).Score ||
		Pool([]score.Counted{one, two}).Score(nil).Score != both.Score(nil).Score {
		t.Error("the pool has another score")
	}
	if p, q := Bootstrap(one, two, 0, 0),
		Bootstrap(Pool([]score.Counted{one}), Pool([]score.Counted{two}), 0, 0); p.P != q.P {
		t.Errorf("p of one seed is %g, and pooled %g", p.P, q.P)
	}
}

// TestPairedT holds the test to the incomplete beta function in 30 digits (mpmath).
func TestPairedT(t *testing.T) {
	got := PairedT([]float64{0.5, 0.1, 0.4, -0.2, 0.3})
	for name, x := range map[string][2]float64{"mean": {got.Mean, 0.22}, "low": {got.Low, -0.12454777651513},
		"high": {got.High, 0.56454777651513}, "p": {got.P, 0.15094405366902}} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s is %.12g, want %.12g", name, x[0], x[1])
		}
	}
	if one := PairedT([]float64{0.5}); one.Mean != 0.5 || !math.IsNaN(one.P) {
		t.Errorf("of one difference: %+v", one)
	}
	if same := PairedT([]float64{0, 0}); same.P != 1 {
		t.Errorf("of no difference: %+v", same)
	}
}

// TestDetectable holds the power of the test to the integral of the noncentral t distribution over the density of the
// sample's deviation (SciPy 1.17.1's quad and brentq).
func TestDetectable(t *testing.T) {
	for _, c := range []struct {
		n                  int
		level, power, want float64
	}{{2, 0.05, 0.8, 11.549888}, {3, 0.05, 0.8, 3.264044}, {3, 0.05 / 3, 0.8, 5.667476}, {5, 0.05, 0.8, 1.681997},
		{5, 0.01, 0.9, 3.027074}, {10, 0.05, 0.5, 0.694247}} {
		if got := Detectable(0.5/math.Sqrt(float64(c.n)), float64(c.n-1), c.level, c.power); math.Abs(got/(0.5*c.want)-1) > 1e-3 {
			t.Errorf("%d differences at %.3g with power %g: %.6g deviations, want %.6g", c.n, c.level, c.power, got/0.5,
				c.want)
		}
	}
	if got := Detectable(0.5, 0, 0.05, 0.8); !math.IsNaN(got) {
		t.Errorf("one difference detects %g", got)
	}
	if got := Detectable(0, 2, 0.05, 0.8); got != 0 {
		t.Errorf("differences without spread detect %g", got)
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, math.NaN(), 0.03, 0.9})
	for i, want := range []float64{0.04, 0.09, math.NaN(), 0.09, 0.9} {
		if math.Abs(got[i]-want) > 1e-12 || math.IsNaN(got[i]) != math.IsNaN(want) {
			t.Errorf("the corrected are %v", got)
			break
		}
	}
}

// TestHolmLevels: an interval of its level excludes 0 where Holm's p is at most the level of the family.
func TestHolmLevels(t *testing.T) {
	got := HolmLevels([]float64{0.03, 0.01, math.NaN(), 0.04}, 0.05)
	for i, want := range []float64{0.05 / 2, 0.05 / 3, math.NaN(), 0.05 / 2} { // 0.03 stops it
		if got[i] != want && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
			t.Errorf("level %d is %g, want %g", i, got[i], want)
		}
	}
	random, significant := rand.New(rand.NewPCG(1, 2)), 0
	for range 10_000 {
		ps := make([]float64, 1+random.IntN(5))
		for i := range ps {
			ps[i] = math.Pow(random.Float64(), 4)
		}
		holm, levels := Holm(ps), HolmLevels(ps, 0.05)
		for i, p := range ps {
			if (holm[i] <= 0.05) != (p <= levels[i]) {
				t.Fatalf("p %v, Holm's %v, levels %v", ps, holm, levels)
			}
			if p <= levels[i] {
				significant++
			}
		}
	}
	if significant < 1000 {
		t.Errorf("%d of 10,000 families have a significant difference", significant)
	}
}

// TestInterval: of the level that Linear was asked for it is the contrast's own, and it narrows with the level.
func TestInterval(t *testing.T) {
	c := Linear([][]float64{{1, 2, 3}, {2, 3.5, 4}}, 0, 0.1).Contrasts[1]
	low, high := c.Interval(0.1)
	wide, wider := c.Interval(0.01)
	if low != c.Low || high != c.High || !(wide < low && wider > high) {
		t.Errorf("%v: %g to %g, %g to %g", c, low, high, wide, wider)
	}
}
