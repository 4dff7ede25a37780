package translation

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// TestJoined: sentences that the source does not separate are joined as the target language writes them, and their
// words with them.
func TestJoined(t *testing.T) {
	one := func(text string, confidence float64) piece {
		return piece{sentence: &sentence{}, words: 1, found: []written{{
			Translation: Translation{Text: text, Details: &Details{Words: []Word{{text, confidence, []int{0}}}}}}}}
	}
	for code, want := range map[string][]Word{
		"zh-Hant": {{"一。二。", 0.125, []int{1}}},
		"jpn":     {{"一。二。", 0.125, []int{1}}},
		"ko":      {{"一。", 0.5, []int{1}}, {"二。", 0.25, []int{1}}},
		"private": {{"一。", 0.5, []int{1}}, {"二。", 0.25, []int{1}}},
	} {
		x := joined([]piece{one("一。", 0.5), {}, one("二。", 0.25)}, spaced(code))[0]
		text := "一。二。"
		if len(want) == 2 {
			text = "一。 二。"
		}
		if diff := cmp.Diff(want, x.Details.Words); diff != "" || x.Text != text {
			t.Errorf("%s: %q\n%s", code, x.Text, diff)
		}
	}
}

// TestLanguageCodes: a code of the language to translate into stands before each piece of a text, up to the next one.
func TestLanguageCodes(t *testing.T) {
	model := fixtures.Gunzip(t, "../../tokenize/spm/testdata/unigram.model.gz")
	read, err := spm.Read(strings.NewReader(string(model)), "the model")
	if err != nil {
		t.Fatal(err)
	}
	given := bitext.Given{Tokens: []string{"<s>", "<pad>", "</s>", "<unk>", ">>deu<<", ">>nld<<"}, SentencePiece: model}
	for i := range read.Len() {
		if piece := read.Piece(i); !slices.Contains(given.Tokens, piece) {
			given.Tokens = append(given.Tokens, piece)
		}
	}
	text := bitext.TextSettings{Source: "en", Target: "de", SourceUnits: "sentencepiece", TargetUnits: "sentencepiece",
		Tokenize: "none", Joint: true, JointCodes: true}
	folder := t.TempDir()
	if err := bitext.SaveGiven(text, given, given, folder); err != nil {
		t.Fatal(err)
	}
	m := &served{Translator: &Translator{}, splitter: tokenize.NewSentenceSplitter("en")}
	if m.Text, err = bitext.OpenSides(text, folder); err != nil {
		t.Fatal(err)
	}
	m.Settings.Model.MaxPositions, m.Settings.Lines.MaxLine = 15, 1000
	for line, want := range map[string][]string{
		">>deu<< A man. A dog and a man and a dog and a man and a dog and a man.\nA man.\n>>nld<< A dog.\nA man.": {
			">>deu<< 0", ">>deu<< 2", ">>deu<< 11", ">>deu<< 19", ">>nld<< 22", ">>nld<< 24"},
		"A man.\n>>deu<< A dog.": {"A 0", ">>deu<< 2"},
	} {
		r := Request{Line: line, KeepAt: [][2]int{{len(line) - 6, len(line) - 5}}}
		pieces, err := m.passage(t.Context(), r, SplitAlways)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range pieces {
			got = append(got, strings.TrimPrefix(p.symbols[0], spm.Space))
			got[len(got)-1] += " " + strconv.Itoa(p.words)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
		if kept := pieces[len(pieces)-1].demand.phrases; len(kept) != 1 {
			t.Errorf("%q: kept is %+v", line, kept)
		}
	}
}
