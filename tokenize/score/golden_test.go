package score

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is testdata/score.json: see gen_score.py beside it.
type golden struct {
	Corpora map[string]struct {
		Hyps []string
		Refs [][]*string
	}
	BLEU          []goldenScore
	CHRF          []goldenScore
	BLEUIntervals []goldenScore `json:"bleu_intervals"`
	CHRFIntervals []goldenScore `json:"chrf_intervals"`
	BLEUSentences []goldenLines `json:"bleu_sentences"`
	CHRFSentences []goldenLines `json:"chrf_sentences"`
	MultiBLEU     []struct {
		Corpus    string
		Lowercase bool
		Line      string
	} `json:"multi_bleu"`
	Tokens []map[string]json.RawMessage
	Lowers []struct{ Line, Lower string }
	Draws  []struct {
		Seed  string
		N     uint32
		Draws []int
	}
}

type goldenScore struct {
	Corpus           string
	Options          goldenOptions
	Score, Mean, CI  float64
	Text, Wide, JSON string
	Short            string
	Samples          int
}

type goldenLines struct {
	Corpus  string
	Options goldenOptions
	Scores  []float64
}

// goldenOptions holds sacreBLEU's keyword arguments of both metrics.
type goldenOptions struct {
	Tokenize       string
	SmoothMethod   string  `json:"smooth_method"`
	SmoothValue    float64 `json:"smooth_value"`
	Lowercase      bool
	EffectiveOrder bool `json:"effective_order"`
	MaxNgramOrder  int  `json:"max_ngram_order"`
	CharOrder      int  `json:"char_order"`
	WordOrder      int  `json:"word_order"`
	Beta           int
	Whitespace     bool
	EpsSmoothing   bool `json:"eps_smoothing"`
}

func (o goldenOptions) bleu(samples int) BLEUOptions {
	return BLEUOptions{
		Tokenizer: Tokenizer(o.Tokenize), Smooth: Smoothing(o.SmoothMethod), SmoothValue: o.SmoothValue,
		Lowercase: o.Lowercase, EffectiveOrder: o.EffectiveOrder, MaxOrder: o.MaxNgramOrder, Bootstrap: samples,
	}
}

func (o goldenOptions) chrf(samples int) CHRFOptions {
	return CHRFOptions{
		CharOrder: o.CharOrder, WordOrder: o.WordOrder, Beta: o.Beta, Lowercase: o.Lowercase,
		Whitespace: o.Whitespace, EpsSmooth: o.EpsSmoothing, Bootstrap: samples,
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/score.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g golden) corpus(name string) (hyps []string, refs [][]string) {
	c := g.Corpora[name]
	for _, stream := range c.Refs {
		lines := make([]string, len(stream))
		for i, line := range stream {
			if line == nil {
				lines[i] = NoReference
			} else {
				lines[i] = *line
			}
		}
		refs = append(refs, lines)
	}
	return c.Hyps, refs
}

// near allows for the last bits of exp and log, which differ between libraries.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

func (want goldenScore) compare(t *testing.T, got Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.Score, want.Score) {
		t.Errorf("score is %.17g, want %.17g", got.Score, want.Score)
	}
	if text := got.Format(1); text != want.Text {
		t.Errorf("text is\n%s, want\n%s", text, want.Text)
	}
	if want.Short == "" { // a row with the score alone
		return
	}
	if text := got.Format(2); text != want.Wide {
		t.Errorf("text is\n%s, want\n%s", text, want.Wide)
	}
	if diff := cmp.Diff(want.JSON, got.JSON(1)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if want.Samples > 0 && (!near(got.Mean, want.Mean) || !near(got.HalfWidth, want.CI)) {
		t.Errorf("interval is %.17g ± %.17g, want %.17g ± %.17g", got.Mean, got.HalfWidth, want.Mean, want.CI)
	}
}

func TestCorpusScoresEqualSacreBLEU(t *testing.T) {
	g := readGolden(t)
	for _, want := range append(g.BLEU, g.BLEUIntervals...) {
		t.Run(fmt.Sprintf("BLEU/%s/%+v", want.Corpus, want.Options), func(t *testing.T) {
			hyps, refs := g.corpus(want.Corpus)
			got, err := want.Options.bleu(want.Samples).Corpus(hyps, refs)
			want.compare(t, got, err)
		})
	}
	for _, want := range append(g.CHRF, g.CHRFIntervals...) {
		t.Run(fmt.Sprintf("CHRF/%s/%+v", want.Corpus, want.Options), func(t *testing.T) {
			hyps, refs := g.corpus(want.Corpus)
			got, err := want.Options.chrf(want.Samples).Corpus(hyps, refs)
			want.compare(t, got, err)
		})
	}
}

func TestSentenceScoresEqualSacreBLEU(t *testing.T) {
	g := readGolden(t)
	check := func(kind string, lines goldenLines, score func(hyp string, refs []string) (Result, error)) {
		hyps, refs := g.corpus(lines.Corpus)
		for i, want := range lines.Scores {
			var segment []string
			for _, stream := range refs {
				segment = append(segment, stream[i])
			}
			got, err := score(hyps[i], segment)
			if err != nil || !near(got.Score, want) {
				t.Errorf("%s of line %d of %q with %+v is %.17g, %v, want %.17g", kind, i+1, lines.Corpus,
					lines.Options, got.Score, err, want)
			}
		}
	}
	for _, lines := range g.BLEUSentences {
		check("BLEU", lines, func(hyp string, refs []string) (Result, error) {
			return SentenceBLEU(hyp, refs, lines.Options.bleu(0))
		})
	}
	for _, lines := range g.CHRFSentences {
		check("CHRF", lines, func(hyp string, refs []string) (Result, error) {
			return SentenceCHRF(hyp, refs, lines.Options.chrf(0))
		})
	}
}

func TestMultiBLEUEqualsThePerlScript(t *testing.T) {
	g := readGolden(t)
	for _, want := range g.MultiBLEU {
		hyps, refs := g.corpus(want.Corpus)
		got, err := MultiBLEU(hyps, refs, want.Lowercase)
		if err != nil || got.Format() != want.Line {
			t.Errorf("%q, lower-cased %t: got\n%s, %v, want\n%s", want.Corpus, want.Lowercase, got.Format(), err,
				want.Line)
		}
	}
}

func TestTokenizersEqualSacreBLEU(t *testing.T) {
	for _, want := range readGolden(t).Tokens {
		var line string
		if err := json.Unmarshal(want["line"], &line); err != nil {
			t.Fatal(err)
		}
		for _, tokenizer := range []Tokenizer{Tok13a, TokIntl, TokNone, TokChar} {
			var tokens []string
			if err := json.Unmarshal(want[string(tokenizer)], &tokens); err != nil {
				t.Fatal(err)
			}
			got, err := tokenizer.Tokenize(stripRight(line))
			if err != nil || len(got)+len(tokens) > 0 && !cmp.Equal(got, tokens) {
				t.Errorf("%s of %q: got %q, %v, want %q", tokenizer, line, got, err, tokens)
			}
		}
	}
}

func TestLowerEqualsPython(t *testing.T) {
	for _, want := range readGolden(t).Lowers {
		if got := lower(want.Line); got != want.Lower {
			t.Errorf("%q lower-cased is %q, want %q", want.Line, got, want.Lower)
		}
	}
}

func TestDrawsEqualNumPy(t *testing.T) {
	for _, want := range readGolden(t).Draws {
		seed, err := strconv.ParseUint(want.Seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		generator := NewPCG64(seed)
		for i, x := range want.Draws {
			if got := generator.below(want.N); got != x {
				t.Fatalf("seed %d, n %d: draw %d is %d, want %d", seed, want.N, i, got, x)
			}
		}
	}
}
