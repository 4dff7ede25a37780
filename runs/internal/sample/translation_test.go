package sample

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/tokenize/score"
)

// A run without data trains on text of this size.
const trainPairs, heldOutPairs = 10000, 500

// bleu forgives differences of case, which makes the baselines look their best.
func bleu(t *testing.T, hypotheses, references []string) float64 {
	t.Helper()
	result, err := score.BLEUOptions{Lowercase: true}.Corpus(hypotheses, [][]string{references})
	if err != nil {
		t.Fatal(err)
	}
	return result.Score
}

func words(lines []string) []string {
	return strings.Fields(strings.NewReplacer(",", "", ".", "", "?", "").Replace(strings.ToLower(strings.Join(lines, " "))))
}

func counts(words []string) map[string]int {
	n := map[string]int{}
	for _, w := range words {
		n[w]++
	}
	return n
}

func TestTranslationDependsOnSeedAlone(t *testing.T) {
	train, valid, test := Translation(1, 300, 20, 20)
	again, validAgain, testAgain := Translation(1, 300, 20, 20)
	if diff := cmp.Diff([]Split{train, valid, test}, []Split{again, validAgain, testAgain}); diff != "" {
		t.Error(diff)
	}
	more, _, testOfMore := Translation(1, 400, 20, 20)
	if diff := cmp.Diff(test, testOfMore); diff != "" {
		t.Error("a longer training text changes the test text")
	}
	if diff := cmp.Diff(train.Source, more.Source[:300]); diff != "" {
		t.Error("a longer training text does not begin as a shorter one")
	}
	other, _, _ := Translation(2, 300, 20, 20)
	shared := 0
	known := counts(words(train.Source))
	for w := range counts(words(other.Source)) {
		if known[w] > 0 {
			shared++
		}
	}
	if shared > len(known)/4 {
		t.Errorf("two seeds share %d of %d words", shared, len(known))
	}
}

// Scores of the built-in sample are only comparable while its text is the same.
func TestTranslationIsFixed(t *testing.T) {
	train, valid, test := Translation(1, 1000, 100, 100)
	hash := sha256.New()
	for _, split := range []Split{train, valid, test} {
		for i := range split.Source {
			fmt.Fprintf(hash, "%s\t%s\n", split.Source[i], split.Target[i])
		}
	}
	if got, want := fmt.Sprintf("%x", hash.Sum(nil)), "2468c41ac3fb6a61b61dc8bdc6f4210368bc5de8ebff450f70b412af7e2c141b"; got != want {
		t.Errorf("the text has changed: sha256 %s, was %s; first pair %q, %q", got, want, train.Source[0], train.Target[0])
	}
}

func TestNoSourceOccursTwice(t *testing.T) {
	train, valid, test := Translation(1, trainPairs, heldOutPairs, heldOutPairs)
	seen := map[string]bool{}
	for _, split := range []Split{test, valid, train} {
		for i, source := range split.Source {
			if seen[source] {
				t.Errorf("%q occurs twice", source)
			}
			seen[source] = true
			if n := len(strings.Fields(source)); n < minWords || n > maxWords {
				t.Errorf("%q has %d words", source, n)
			}
			if split.Target[i] == "" {
				t.Errorf("%q has no translation", source)
			}
		}
	}
	if len(train.Source) != trainPairs || len(train.Target) != trainPairs || len(valid.Source) != heldOutPairs || len(test.Target) != heldOutPairs {
		t.Error("the splits have other sizes than asked for")
	}
}

// What the source says decides the target: all ambiguity can be resolved.
func TestSourceDecidesTarget(t *testing.T) {
	for seed := range uint64(3) {
		s := &speaker{lexicon: newLexicon(seed), rng: newStream(seed, "test")}
		translations, repeated := map[string]string{}, 0
		for range 100_000 {
			meaning := s.sentence()
			source, target := s.source(meaning).raw(), s.target(meaning).raw()
			before, ok := translations[source]
			if ok {
				repeated++
			}
			if ok && before != target {
				t.Fatalf("seed %d: %q is both %q and %q", seed, source, before, target)
			}
			translations[source] = target
		}
		if repeated < 500 {
			t.Errorf("seed %d: only %d sentences came twice, too few to tell", seed, repeated)
		}
	}
}

func TestCopyingIsNoTranslation(t *testing.T) {
	_, _, test := Translation(1, 0, 0, heldOutPairs)
	if got := bleu(t, test.Source, test.Target); got > 5 {
		t.Errorf("copying the source gives BLEU %.2f", got)
	} else {
		t.Logf("copying: BLEU %.2f", got)
	}
}

// A word list replaces each source word by the target form that most often
// expresses the same piece of meaning. It is built with the true alignment, so
// none learnt from the text alone is better.
func TestWordListIsNoTranslation(t *testing.T) {
	lexicon := newLexicon(1)
	s := &speaker{lexicon: lexicon, rng: newStream(1, "word list")}
	forms := map[string]map[string]int{}
	for range trainPairs {
		source, target := s.pair()
		for _, w := range source.words {
			key := strings.ToLower(w.text)
			if forms[key] == nil {
				forms[key] = map[string]int{}
			}
			for _, v := range target.words {
				if v.leaf == w.leaf && (w.leaf.role != isMark || v.text == w.text) {
					forms[key][strings.ToLower(v.text)]++
				}
			}
		}
	}
	list := map[string]string{}
	for word, found := range forms {
		best := ""
		for form, n := range found {
			if n > found[best] || n == found[best] && form < best {
				best = form
			}
		}
		list[word] = best
	}
	var hypotheses, references []string
	for range heldOutPairs {
		source, target := s.pair()
		out := line{}
		for _, w := range source.words {
			text, known := list[strings.ToLower(w.text)]
			if !known {
				text = w.text
			}
			if text != "" {
				out.words = append(out.words, word{text, w.leaf})
			}
		}
		hypotheses = append(hypotheses, out.raw())
		references = append(references, target.raw())
	}
	got := bleu(t, hypotheses, references)
	t.Logf("word list: BLEU %.2f; %q for %q", got, hypotheses[0], references[0])
	if got > 35 || got < 1 {
		t.Errorf("a word list gives BLEU %.2f, want 1 to 35", got)
	}
}

func TestWordFrequenciesFollowZipf(t *testing.T) {
	train, _, test := Translation(1, trainPairs, 0, heldOutPairs)
	for name, lines := range map[string][2][]string{"source": {train.Source, test.Source}, "target": {train.Target, test.Target}} {
		known := counts(words(lines[0]))
		var byRank []int
		rare := 0
		for _, n := range known {
			byRank = append(byRank, n)
			if n <= 2 {
				rare++
			}
		}
		sort.Sort(sort.Reverse(sort.IntSlice(byRank)))
		slope, correlation := logLogFit(byRank[:1000])
		unseen, total := 0, 0
		for _, w := range words(lines[1]) {
			total++
			if known[w] == 0 {
				unseen++
			}
		}
		t.Logf("%s: %d types, slope %.2f, correlation %.3f, %d types at most twice, %d of %d test words unseen", name, len(known), slope, correlation, rare, unseen, total)
		if slope > -0.8 || slope < -1.3 || correlation > -0.97 {
			t.Errorf("%s: frequency falls with exponent %.2f of the rank (correlation %.3f), want about -1", name, slope, correlation)
		}
		if share := float64(rare) / float64(len(known)); share < 0.1 {
			t.Errorf("%s: only %.0f %% of the types occur at most twice", name, 100*share)
		}
		if name == "target" && (unseen*100 < total || unseen*10 > total) {
			t.Errorf("%d of %d target words of the test text are unseen in training, want 1 to 10 %%", unseen, total)
		}
	}
}

// logLogFit fits log(count) = a + slope log(rank) by least squares.
func logLogFit(byRank []int) (slope, correlation float64) {
	var n, sx, sy, sxx, syy, sxy float64
	for i, count := range byRank {
		x, y := math.Log(float64(i+1)), math.Log(float64(count))
		n, sx, sy, sxx, syy, sxy = n+1, sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
	}
	cov, vx, vy := sxy-sx*sy/n, sxx-sx*sx/n, syy-sy*sy/n
	return cov / vx, cov / math.Sqrt(vx*vy)
}

// Senses depend on another word: the verb on its object, the noun on its
// preposition, the particle's verb on the particle.
func TestHomographs(t *testing.T) {
	l := newLexicon(1)
	shared := 0
	for _, a := range l.nouns[place].words {
		if slices.ContainsFunc(l.nouns[thing].words, func(b *noun) bool { return a.source == b.source && a.target != b.target }) {
			shared++
		}
	}
	if shared < 8 {
		t.Errorf("%d places share their word with a thing", shared)
	}
	shared, phrasal := 0, 0
	for _, a := range l.verbs[treats].words {
		if slices.ContainsFunc(l.verbs[handles].words, func(b *verb) bool { return a.source == b.source && a.particle == b.particle }) {
			shared++
		}
		if a.particle != "" {
			phrasal++
		}
	}
	if shared < 10 || phrasal == 0 {
		t.Errorf("%d verbs share their word between senses, %d are phrasal", shared, phrasal)
	}
}

func TestText(t *testing.T) {
	train, valid, test := Text(1, 2000, 100, 100)
	if len(train) != 2000 || len(valid) != 100 || len(test) != 100 {
		t.Fatalf("%d, %d and %d lines", len(train), len(valid), len(test))
	}
	again, _, testAgain := Text(1, 2500, 0, 100)
	if !slices.Equal(train, again[:2000]) || !slices.Equal(test, testAgain) {
		t.Error("the text does not depend on the seed alone")
	}
	if slices.Equal(train[:100], test) || slices.Equal(valid, test) {
		t.Error("two splits are alike")
	}
	for _, text := range train {
		tokens := strings.Split(text, " ")
		if text != strings.ToLower(text) || slices.Contains(tokens, "") {
			t.Errorf("%q is not in lower case with single spaces", text)
		}
		if last := tokens[len(tokens)-1]; last != "." && last != "?" {
			t.Errorf("%q does not end in a mark of its own", text)
		}
	}
}
