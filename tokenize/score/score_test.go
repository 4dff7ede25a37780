package score

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

func one(line string) [][]string { return [][]string{{line}} }

// The numbers are what multi-bleu.perl and sacrebleu 2.6.0 -ci print.
func TestScoresOnMulti30k(t *testing.T) {
	data, err := os.ReadFile(fixtures.Path(t, "multi30k/test_2016_flickr.de"))
	if err != nil {
		t.Fatal(err)
	}
	refs := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	edit := func(change func(string) string) []string {
		out := make([]string, len(refs))
		for i, ref := range refs {
			out[i] = change(ref)
		}
		return out
	}
	eine := edit(func(s string) string { return strings.ReplaceAll(s, "ein", "eine") })
	for _, c := range []struct {
		name, want string
		hyps       []string
	}{
		{"itself", "BLEU = 100.00, 100.0/100.0/100.0/100.0 (BP=1.000, ratio=1.000, hyp_len=10905, ref_len=10905)",
			refs},
		{"without the last word", "BLEU = 90.40, 100.0/100.0/100.0/100.0 (BP=0.904, ratio=0.908, hyp_len=9905, " +
			"ref_len=10905)",
			edit(func(s string) string { return s[:strings.LastIndex(s, " ")] })},
		{"ein to eine", "BLEU = 65.22, 87.7/73.3/59.7/47.2 (BP=1.000, ratio=1.000, hyp_len=10905, ref_len=10905)",
			eine},
	} {
		got, err := MultiBLEU(c.hyps, [][]string{refs}, false)
		if err != nil || got.Format() != c.want {
			t.Errorf("%s: got\n%s, %v, want\n%s", c.name, got.Format(), err, c.want)
		}
	}
	for _, c := range []struct {
		m    Metric
		want string
	}{
		{BLEUOptions{Bootstrap: DefaultSamples},
			"BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 67.3 (μ = 67.3 ± " +
				"1.3) 88.9/76.1/61.7/49.2 (BP = 1.000 ratio = 1.000 hyp_len = 12106 ref_len = 12106)"},
		{CHRFOptions{Bootstrap: DefaultSamples},
			"chrF2|nrefs:1|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 95.1 (μ = 95.1 ± " +
				"0.2)"},
	} {
		got, err := c.m.Corpus(eine, [][]string{refs})
		if err != nil || got.Format(1) != c.want {
			t.Errorf("got\n%s, %v, want\n%s", got.Format(1), err, c.want)
		}
	}
}

func TestMultiBLEUOfNothing(t *testing.T) {
	for _, c := range []struct{ hyp, ref, want string }{
		{"", "a b", "BLEU = 0.00, 0.0/0.0/0.0/0.0 (BP=0.000, ratio=0.000, hyp_len=0, ref_len=2)"},
		{"a b", "", "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)"},
		{"a b c", "a b c", "BLEU = 0.00, 100.0/100.0/100.0/0.0 (BP=1.000, ratio=1.000, hyp_len=3, ref_len=3)"},
	} {
		got, err := MultiBLEU([]string{c.hyp}, one(c.ref), false)
		if err != nil || got.Format() != c.want {
			t.Errorf("%q against %q: got %s, %v, want %s", c.hyp, c.ref, got.Format(), err, c.want)
		}
	}
}

func TestMultiBLEUReadsBytes(t *testing.T) {
	// U+00A0 and U+001C do not split for Perl, and only ASCII has case.
	got, err := MultiBLEU([]string{"A\u00a0B C\x1cD Ä"}, one("a\u00a0b c\x1cd ä"), true)
	if err != nil || got.HypLen != 3 || math.Abs(got.Precisions[0]-200.0/3) > 1e-12 {
		t.Errorf("got %+v, %v, want 3 tokens of which 2 match", got, err)
	}
}

func TestPublishedBLEUOfSentences(t *testing.T) {
	hyp := "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;"
	ref := "producţia de zahăr brut se exprimă în zahăr alb;"
	for _, c := range []struct {
		opts BLEUOptions
		want float64
	}{
		{BLEUOptions{}, 8.493},
		{BLEUOptions{Smooth: SmoothFloor}, 4.51688},
		{BLEUOptions{Smooth: SmoothFloor, SmoothValue: 0.5}, 10.10},
		{BLEUOptions{Smooth: SmoothAddK}, 14.882},
		{BLEUOptions{Tokenizer: TokChar}, 40.8759},
		{BLEUOptions{Tokenizer: TokChar, Lowercase: true}, 42.0267},
	} {
		got, err := SentenceBLEU(hyp, []string{ref}, c.opts)
		if err != nil || math.Abs(got.Score-c.want) > 0.01 {
			t.Errorf("%+v: got %g, %v, want %g", c.opts, got.Score, err, c.want)
		}
	}
}

func TestPublishedCHRFOfSentences(t *testing.T) {
	for _, c := range []struct {
		hyp, ref string
		want     float64
	}{
		{"aa", "ab", 25},
		{"a b c", "abc", 100},
		{"The dog bit the man.", "The dog had bit the man.", 67.64711},
		{"It wasn't surprising.", "It was not unexpected.", 24.73802},
	} {
		got, err := SentenceCHRF(c.hyp, []string{c.ref}, CHRFOptions{})
		if err != nil || math.Abs(got.Score-c.want) > 5e-6 {
			t.Errorf("%q against %q: got %.7g, %v, want %g", c.hyp, c.ref, got.Score, err, c.want)
		}
	}
}

func TestSignatureNamesTheSeed(t *testing.T) {
	r, err := BLEUOptions{Bootstrap: 20, Seed: 7}.Corpus([]string{"a b"}, one("a b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "nrefs:1|bs:20|seed:7|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"; r.Signature() != want {
		t.Errorf("signature is %s, want %s", r.Signature(), want)
	}
}

func TestBadInputIsAnError(t *testing.T) {
	two := []string{"a", "b"}
	for _, c := range []struct {
		name string
		hyps []string
		refs [][]string
		m    Metric
		want string
	}{
		{"no hypotheses", nil, [][]string{{}}, BLEUOptions{}, "no hypotheses"},
		{"no references", two, nil, BLEUOptions{}, "no references"},
		{"lengths", two, [][]string{two, {"a"}}, CHRFOptions{}, "reference 2 has 1 lines and the hypotheses have 2"},
		{"segment", two, [][]string{{"a", NoReference}}, CHRFOptions{}, "segment 2 has no reference"},
		{"tokenizer", two, [][]string{two}, BLEUOptions{Tokenizer: "zh"}, `unknown tokenizer "zh"`},
		{"smoothing", two, [][]string{two}, BLEUOptions{Smooth: "x"},
			`unknown smoothing "x": use one of exp, floor, add-k, none`},
		{"smoothing value", two, [][]string{two}, BLEUOptions{Smooth: SmoothFloor, SmoothValue: -1}, "above 0"},
		{"order", two, [][]string{two}, BLEUOptions{MaxOrder: -1}, "at least 1"},
		{"character order", two, [][]string{two}, CHRFOptions{CharOrder: -1}, "negative"},
	} {
		if _, err := c.m.Corpus(c.hyps, c.refs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q in it", c.name, err, c.want)
		}
		if _, err := Count(c.m, c.hyps, c.refs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, counted: error is %v, want %q in it", c.name, err, c.want)
		}
	}
	if _, err := MultiBLEU(two, one("a"), false); err == nil {
		t.Error("MultiBLEU took streams of different lengths")
	}
	if _, err := WordF1(two, []string{"a"}, nil); err == nil {
		t.Error("WordF1 took streams of different lengths")
	}
}

func TestBytesThatAreNotUTF8AreScored(t *testing.T) {
	hyps := []string{"a\xff b\xfe\xfe c d e", "\xc3"}
	for _, m := range []Metric{BLEUOptions{Tokenizer: TokIntl}, BLEUOptions{}, BLEUOptions{Tokenizer: TokChar},
		CHRFOptions{WordOrder: 2, Lowercase: true}} {
		r, err := m.Corpus(hyps, [][]string{hyps})
		if err != nil || r.Score == 0 {
			t.Errorf("%+v: got %g, %v", m, r.Score, err)
		}
	}
}

func TestWordF1(t *testing.T) {
	var training []string
	for word, n := range map[string]int{"one": 1, "four": 4, "five": 5, "nine": 9, "ten": 10, "many": 1000,
		"hundreds": 999} {
		training = append(training, strings.Repeat(word+" ", n))
	}
	hyps := []string{"many many one new", "four five", "ten ten hundreds"}
	refs := []string{"many one one old", "five four nine", "many hundreds"}
	got, err := WordF1(hyps, refs, WordCounts(training))
	if err != nil {
		t.Fatal(err)
	}
	want := []FrequencyBucket{
		{Low: 0, High: 0, Reference: 1, Output: 1},
		{Low: 1, High: 1, Reference: 2, Output: 1, Matches: 1},
		{Low: 2, High: 2},
		{Low: 3, High: 3},
		{Low: 4, High: 4, Reference: 1, Output: 1, Matches: 1},
		{Low: 5, High: 9, Reference: 2, Output: 1, Matches: 1},
		{Low: 10, High: 99, Output: 2},
		{Low: 100, High: 999, Reference: 1, Output: 1, Matches: 1},
		{Low: 1000, High: -1, Reference: 2, Output: 2, Matches: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
	if b := got[1]; b.Precision() != 1 || b.Recall() != 0.5 || b.F1() != 2.0/3 {
		t.Errorf("bucket 1: precision %g, recall %g, F1 %g, want 1, 1/2, 2/3", b.Precision(), b.Recall(), b.F1())
	}
	if b := got[2]; !math.IsNaN(b.Precision()) || !math.IsNaN(b.Recall()) || !math.IsNaN(b.F1()) {
		t.Errorf("an empty bucket scores %g, %g, %g, want NaN", b.Precision(), b.Recall(), b.F1())
	}
}

// TestWordF1Golden holds it to testdata/gen_wordf1.py, which is written from the definition.
func TestWordF1Golden(t *testing.T) {
	data, err := os.ReadFile("testdata/wordf1.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Hyps, Refs, Training []string
		Rows                 []struct {
			Name                       string
			Reference, Output, Matches int
			Precision, Recall, F1      *float64
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	same := func(want *float64, got float64) bool {
		return want == nil && math.IsNaN(got) || want != nil && math.Abs(*want-got) < 1e-12
	}
	for i, c := range cases {
		got, err := WordF1(c.Hyps, c.Refs, WordCounts(c.Training))
		if err != nil || len(got) != len(c.Rows) {
			t.Fatalf("case %d: %d buckets, %v", i, len(got), err)
		}
		for j, want := range c.Rows {
			b := got[j]
			if b.Name() != want.Name || b.Reference != want.Reference || b.Output != want.Output ||
				b.Matches != want.Matches ||
				!same(want.Precision, b.Precision()) || !same(want.Recall, b.Recall()) || !same(want.F1, b.F1()) {
				t.Errorf("case %d, %s: %s %+v with precision %g, recall %g, F1 %g, want %+v", i, want.Name, b.Name(), b,
					b.Precision(), b.Recall(), b.F1(), want)
			}
		}
	}
}

// SentenceBLEU is BLEU of one segment, with EffectiveOrder on: without it a
// hypothesis of fewer words than the longest n-gram scores 0.
func SentenceBLEU(hyp string, refs []string, opts BLEUOptions) (Result, error) {
	opts.EffectiveOrder = true
	opts.Bootstrap = 0
	return opts.Corpus([]string{hyp}, streams(refs))
}

// streams makes the references of one segment streams of one line.
func streams(refs []string) [][]string {
	out := make([][]string, len(refs))
	for k, ref := range refs {
		out[k] = []string{ref}
	}
	return out
}

// SentenceCHRF is CHRF of one segment.
func SentenceCHRF(hyp string, refs []string, opts CHRFOptions) (Result, error) {
	opts.Bootstrap = 0
	return opts.Corpus([]string{hyp}, streams(refs))
}
