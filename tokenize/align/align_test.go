package align

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/tokenize"
)

// corpusOf makes a corpus of sentences.
func corpusOf(source, target [][]string) *Corpus {
	c := &Corpus{}
	for i := range source {
		c.Add(source[i], target[i])
	}
	return c
}

// multi30k are the first lines of Multi30k's training text, lower-cased and tokenised; 0 reads all.
func multi30k(t testing.TB, language string, lines int) (out [][]string) {
	t.Helper()
	file, err := os.Open(fixtures.Path(t, "multi30k/train."+language))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: language, Version: tokenize.Moses2017})
	if err != nil {
		t.Fatal(err)
	}
	normalizer := tokenize.NewNormalizer(language, tokenize.Moses2017)
	for l := tokenize.NewLines(file, language); l.Next() && (lines == 0 || len(out) < lines); {
		out = append(out, strings.Fields(moses.Tokenize(normalizer.Normalize(tokenize.Lowercase(l.Text())))))
	}
	return out
}

// random are sentences over few words, some empty, with words that repeat.
func random(seed uint64, pairs, longest int) (source, target [][]string) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range pairs {
		var e, f []string
		for range r.IntN(longest + 1) {
			word := int(30 * r.Float64() * r.Float64())
			e = append(e, fmt.Sprint("e", word))
			if r.IntN(8) > 0 {
				f = append(f, fmt.Sprint("f", word))
			}
			if r.IntN(8) == 0 {
				f = append(f, fmt.Sprint("f", r.IntN(40)))
			}
		}
		if len(f) > 2 && r.IntN(2) == 0 {
			i := r.IntN(len(f) - 1)
			f[i], f[i+1] = f[i+1], f[i]
		}
		source, target = append(source, e), append(target, f)
	}
	return source, target
}

var variants = map[string]Options{
	"model 1":       {},
	"-d":            {Diagonal: true},
	"-v":            {Bayes: true},
	"-d -o":         {Diagonal: true, Tension: true},
	"-d -v":         {Diagonal: true, Bayes: true},
	"-d -o -v":      Recommended(),
	"-d -o -v -i 9": {Diagonal: true, Tension: true, Bayes: true, Iterations: 9},
	"-d -i 1":       {Diagonal: true, Iterations: 1},
}

func eachVariant(t *testing.T, source, target [][]string) {
	for name, o := range variants {
		for _, o.Reverse = range []bool{false, true} {
			got := Align(corpusOf(source, target), o)
			formulas := learnt(source, target, o)
			for k, links := range got {
				if wrong := formulas.check(k, links); wrong != "" {
					t.Errorf("%s, reverse %v, pair %d, %s: %s", name, o.Reverse, k+1, Format(links), wrong)
				}
			}
		}
	}
}

// The aligner gives what its formulas give.
func TestFormulas(t *testing.T) {
	source, target := random(3, 150, 9)
	eachVariant(t, source, target)
}

func TestFormulasMulti30k(t *testing.T) {
	eachVariant(t, multi30k(t, "en", 300), multi30k(t, "de", 300))
}

// Sums in closed form are those term by term, and the slope is the derivative where the lengths are equal.
func TestDiagonal(t *testing.T) {
	close := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
	for _, tension := range []float64{0.1, 1, 4, 14} {
		for m := 1; m <= 9; m++ {
			for n := 1; n <= 9; n++ {
				for i := 1; i <= m; i++ {
					if got, want := normaliser(i, m, n, tension), deltas(tension, i, m, n, n, false); !close(got, want) {
						t.Errorf("normaliser(%d, %d, %d, %v) is %v, want %v", i, m, n, tension, got, want)
					}
					last := m
					if i > n {
						last = 0
					}
					want := deltas(tension, i, m, n, n, true) / deltas(tension, i, n, m, last, false)
					if got := slope(i, m, n, tension); !close(got, want) {
						t.Errorf("slope(%d, %d, %d, %v) is %v, want %v", i, m, n, tension, got, want)
					}
					const h = 1e-6
					numeric := (math.Log(normaliser(i, m, n, tension+h)) - math.Log(normaliser(i, m, n, tension-h))) / (2 * h)
					if got := slope(i, m, n, tension); m == n && math.Abs(got-numeric) > 1e-6 {
						t.Errorf("slope(%d, %d, %d, %v) is %v, by differences %v", i, m, n, tension, got, numeric)
					}
				}
			}
		}
	}
}

// The number of threads changes nothing.
func TestThreads(t *testing.T) {
	source, target := random(5, 3000, 25) // more than one block
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := Align(corpusOf(source, target), Recommended())
	for _, threads := range []int{2, 3, 8} {
		runtime.GOMAXPROCS(threads)
		for k, links := range Align(corpusOf(source, target), Recommended()) {
			if !slices.Equal(links, want[k]) {
				t.Fatalf("pair %d is aligned otherwise by %d threads", k+1, threads)
			}
		}
	}
}

// A pair with an empty side has no links, and is as if it were not there.
func TestEmptySides(t *testing.T) {
	source, target := random(6, 60, 6)
	var without [2][][]string
	var kept []int
	for k := range source {
		if len(source[k]) > 0 && len(target[k]) > 0 {
			without[0], without[1] = append(without[0], source[k]), append(without[1], target[k])
			kept = append(kept, k)
		}
	}
	if len(kept) == len(source) {
		t.Fatal("no side is empty")
	}
	for _, o := range variants {
		got, want := Align(corpusOf(source, target), o), Align(corpusOf(without[0], without[1]), o)
		for i, k := range kept {
			if !slices.Equal(got[k], want[i]) {
				t.Errorf("pair %d is aligned otherwise among pairs with an empty side", k+1)
			}
			got[k] = nil
		}
		for k, links := range got {
			if len(links) > 0 {
				t.Errorf("pair %d has links %s and an empty side", k+1, Format(links))
			}
		}
	}
	if got := Align(&Corpus{}, Recommended()); len(got) != 0 {
		t.Errorf("no pairs have %d alignments", len(got))
	}
	if got := Align(corpusOf([][]string{nil}, [][]string{nil}), Recommended()); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("an empty pair has the alignments %v", got)
	}
}

func BenchmarkAlign(b *testing.B) {
	c := corpusOf(multi30k(b, "en", 0), multi30k(b, "de", 0))
	for b.Loop() {
		Align(c, Recommended())
	}
}
