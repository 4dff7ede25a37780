package translation

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/decode"
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
		x := joined([]piece{one("一。", 0.5), {}, one("二。", 0.25)}, decode.Options{}, spaced(code))[0]
		text := "一。二。"
		if len(want) == 2 {
			text = "一。 二。"
		}
		if diff := cmp.Diff(want, x.Details.Words); diff != "" || x.Text != text {
			t.Errorf("%s: %q\n%s", code, x.Text, diff)
		}
	}
}

// imported are the texts of an imported run without a network: its pieces are those of a model of package spm's tests.
func imported(t *testing.T) *served {
	t.Helper()
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
	return m
}

// TestTermsOfNormalisedText: terms are found where the model of the pieces writes their characters another way.
func TestTermsOfNormalisedText(t *testing.T) {
	m := imported(t)
	for source, line := range map[string]string{"m²": "A m² is here.", "Brand™": "A Brand™ man.", "№ 5": "A № 5 dog.",
		"man": "A man.", "ﬁsh": "A fish."} {
		g, err := m.Glossary(t.Context(), []Term{{Source: source, Target: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := m.passage(t.Context(), Request{Line: line, Terms: g}, SplitNever)
		if err != nil {
			t.Fatal(err)
		}
		if found := pieces[0].demand.phrases; len(found) != 1 || found[0].text != "x" {
			t.Errorf("%q in %q: %+v", source, line, found)
		}
	}
}

// TestManyTerms: terms that all begin with the same word, of a text that is made of it, are found in bounded time.
func TestManyTerms(t *testing.T) {
	m := imported(t)
	var terms []Term
	for i := range 1000 {
		terms = append(terms, Term{Source: strings.Repeat(" ", i) + "a", Target: strconv.Itoa(i % 900)})
	}
	g, err := m.Glossary(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	words, began := slices.Repeat([]string{"a"}, 10_000), fixtures.ProcessorTime()
	if found := g.apply(words); len(found) != 900 || found[899].text != "899" {
		t.Errorf("%d terms are found", len(found))
	}
	if took := fixtures.ProcessorTime() - began; took > 2*time.Second {
		t.Errorf("that took %v", took)
	}
}

// TestPassageEnds: a call that is cancelled reads no more of its text.
func TestPassageEnds(t *testing.T) {
	m := imported(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if pieces, err := m.passage(ctx, Request{Line: "A man. A dog."}, SplitAlways); err != gone || len(pieces) > 0 {
		t.Errorf("%d pieces, %v", len(pieces), err)
	}
}

// TestLanguageCodes: a code of the language to translate into stands before each piece of a text, up to the next one.
func TestLanguageCodes(t *testing.T) {
	m := imported(t)
	for line, want := range map[string][]string{
		">>deu<< A man. A dog and a man and a dog and a man and a dog and a man.\nA man.\n>>nld<< A dog.\nA man.": {
			">>deu<< 0", ">>deu<< 3", ">>deu<< 12", ">>deu<< 20", ">>nld<< 22", ">>nld<< 25"},
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

// TestCodeIsNoWord: a word that attends to a code that was put in front stands for no word of the text.
func TestCodeIsNoWord(t *testing.T) {
	words := []Word{{Text: "Ein", Source: []int{0}}, {Text: "Hund", Source: []int{2}}}
	for coded, want := range map[bool][]Word{
		false: {{Text: "Ein", Source: []int{3}}, {Text: "Hund", Source: []int{5}}},
		true:  {{Text: "Ein"}, {Text: "Hund", Source: []int{4}}},
	} {
		var x Translation
		x.addWords(&Details{Words: words}, piece{words: 3, coded: coded}, false)
		if diff := cmp.Diff(want, x.Details.Words); diff != "" {
			t.Errorf("coded %v: %s", coded, diff)
		}
	}
}
