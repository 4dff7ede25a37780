package translation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// withLexicon gives a translator a lexicon of lines "word TAB translation", for as long as the test takes.
func withLexicon(t *testing.T, made *translation.Translator, lines ...string) {
	t.Helper()
	l, err := align.ReadLexicon(strings.NewReader(strings.Join(lines, "\n")+"\n"), "lexicon")
	if err != nil {
		t.Fatal(err)
	}
	made.Text.Lexicon = l
}

// wordy has text whose source is split into pieces, and whose target is whole words: those of the lines, and <unk>.
func wordy(t *testing.T, lines ...string) *translation.Translator {
	t.Helper()
	d := few(func(d *bitext.TextSettings) {
		d.Joint, d.JointCodes, d.TargetUnits, d.Tokenize = false, false, "word", "none"
	})
	source, _ := numbers(1, 40, 1000)
	pair, err := bitext.Learn(d, bitext.InMemory(source, append(lines, make([]string, len(source)-len(lines))...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &translation.Translator{Text: pair}
}

// The unknown word becomes the lexicon's word of what it attended to, or that itself; with a lexicon, commas, full
// stops and what is far away give way to the second word.
func TestKnownWords(t *testing.T) {
	made := wordy(t)
	source := strings.Fields("a@@ b , c d@@ e@@ f . g h i")
	o := decode.Defaults()
	o.Alignment = true
	for _, c := range []struct {
		place, best, second int
		copied, translated  string
	}{
		{0, 0, 3, "ab", "AB"},
		{0, 1, 3, "ab", "AB"},
		{2, 2, 3, ",", "c"},
		{2, 2, 4, ",", "DEF"},
		{2, 2, -1, ",", ","},
		{6, 7, 8, ".", "GG"},
		{4, 5, 0, "def", "DEF"},
		{5, 10, 0, "i", "i"},  // half of 11 symbols is 5.5
		{4, 10, 0, "i", "AB"}, // which 6 is beyond
		{9, 4, 3, "def", "DEF"},
		{10, 4, 3, "def", "c"},
		{10, 4, -1, "def", "DEF"},
	} {
		h := decode.Hypothesis{IDs: slices.Repeat([]int32{tokenize.Unk}, c.place+1), Alignment: make([]int, c.place+1),
			Second: make([]int, c.place+1)}
		h.Alignment[c.place], h.Second[c.place] = c.best, c.second
		made.Text.Lexicon = nil
		if got := last(made.Words(source, h, o)); got != c.copied {
			t.Errorf("word %d, which attends to %d and %d, is %q, want %q", c.place, c.best, c.second, got, c.copied)
		}
		withLexicon(t, made, "ab\tAB", "def\tDEF", "a@@\twrong", "g\tGG")
		if got := last(made.Words(source, h, o)); got != c.translated {
			t.Errorf("word %d, which attends to %d and %d, is translated by %q, want %q", c.place, c.best, c.second,
				got, c.translated)
		}
		if got := last(made.Words(source, h, decode.Defaults())); got != "<unk>" {
			t.Errorf("an unknown word that is not to be replaced is %q", got)
		}
	}
}

func last(line string) string {
	words := strings.Fields(line)
	return words[len(words)-1]
}

// The paper's later processing: repeated words, numbers and percent signs.
func TestPostprocessing(t *testing.T) {
	source := strings.Fields("1.2@@ 34,5 Prozent um 8.30 Uhr 7 9.5")
	cases := []struct {
		line    string
		attends []int
		want    string
	}{
		{"a a b b b a", []int{3, 3, 3, 3, 3, 3}, "a b a"},
		{"9.99 %", []int{1, 2}, "1,234.5 percent"},
		{"% %", []int{3, 2}, "% percent"},
		{"9,99 a.m.", []int{4, 5}, "8 : 30 a.m."},
		{"9.99 o'clock", []int{4, 5}, "8,30 o'clock"},
		{"9 . 99 3.", []int{4, 4, 4, 4}, "9 . 99 3."},
		{"a9,9b c", []int{6, 3}, "7 c"},
		{"", nil, ""},
	}
	var lines []string
	for _, c := range cases {
		lines = append(lines, c.line)
	}
	made := wordy(t, lines...)
	plain, paper := decode.Defaults(), decode.Defaults()
	paper.Postprocess = "paper"
	for _, c := range cases {
		h := decode.Hypothesis{IDs: made.Text.Target.Encode(c.line), Alignment: c.attends,
			Second: slices.Repeat([]int{-1}, len(c.attends))}
		if got := made.Words(source, h, paper); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.line, got, c.want)
		}
		if got := made.Words(source, h, plain); got != c.line {
			t.Errorf("%q becomes %q without being asked for", c.line, got)
		}
	}
	// A number that takes the place of the unknown word is one too.
	paper.Alignment = true
	h := decode.Hypothesis{IDs: []int32{tokenize.Unk}, Alignment: []int{7}, Second: []int{-1}}
	if got := made.Words(source, h, paper); got != "9,5" {
		t.Errorf("an unknown number becomes %q", got)
	}
}

// A run with a lexicon translates unknown words by it, in the best translation and in the others.
func TestLexiconTranslates(t *testing.T) {
	made := openDigits(t)
	o := made.Settings.Decode
	o.Alignment, o.NBest = true, 2
	source, target := numbers(15, 90, 10)
	figures(source, target)
	var lines []string
	figure := map[string]string{} // of a line
	for _, line := range source {
		for _, word := range strings.Fields(made.Text.Source.Tokenize(line)) {
			if strings.ContainsAny(word, "0123456789") {
				lines = append(lines, word+"\tzahl"+word)
				figure[line] = word
			}
		}
	}
	withLexicon(t, made, lines...)
	right := 0
	all, err := made.TranslateNBest(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range all {
		if len(list) != 2 {
			t.Fatalf("line %d has %d translations", i+1, len(list))
		}
		for _, one := range list {
			if word := figure[source[i]]; word != "" && strings.Contains(one.Text, "zahl"+word) {
				right++
			}
			if strings.Contains(one.Text, "<unk>") {
				t.Errorf("%q is %q", source[i], one.Text)
			}
		}
	}
	if right < 40 {
		t.Errorf("%d of %d translations of %d lines with figures have the lexicon's words", right, 2*len(source),
			len(figure))
	}
}

// A lexicon is learnt from whole words of the training text, and kept in the run's folder.
func TestLexiconOfATrainingText(t *testing.T) {
	english, german := numbers(3, 400, 10)
	english, german = append(english, ""), append(german, "Leer")
	// A pair of far too many words teaches nothing.
	english, german = append(english, strings.Repeat("page three ", 2000)),
		append(german, strings.Repeat("Seite vier ", 2000))
	for name, kind := range texts {
		d := kind.data
		plain, err := bitext.Learn(d, bitext.InMemory(english, german), nil)
		if err != nil {
			t.Fatal(err)
		}
		if plain.Lexicon != nil {
			t.Errorf("%s: there is a lexicon that no one asked for", name)
		}
		d.Lexicon = true
		pair, err := bitext.Learn(d, bitext.InMemory(english, german), nil)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		if err := pair.Save(folder); err != nil {
			t.Fatal(err)
		}
		opened, err := bitext.OpenSides(d, folder)
		if err != nil {
			t.Fatal(err)
		}
		for english, german := range map[string]string{"three": "drei", "seven": "sieben", "and": "und",
			"nine": "neun"} {
			for _, l := range []*align.Lexicon{pair.Lexicon, opened.Lexicon} {
				if word, _ := l.Word(english); word != german {
					t.Errorf("%s: %s is %q", name, english, word)
				}
			}
		}
		if word, known := pair.Lexicon.Word("page"); known {
			t.Errorf("%s: page is %q", name, word)
		}
		if plain.Source.Vocabulary.Hash() != pair.Source.Vocabulary.Hash() {
			t.Errorf("%s: a lexicon changes the vocabulary", name)
		}
		path := filepath.Join(folder, "lexicon.en-de")
		if err := os.WriteFile(path, []byte("three drei\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := bitext.OpenSides(d, folder); err == nil || !strings.Contains(err.Error(), path+":1: ") {
			t.Errorf("a damaged lexicon: %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := bitext.OpenSides(d, folder); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a lexicon that is gone: %v", err)
		}
		if old, err := bitext.OpenSides(kind.data, folder); err != nil || old.Lexicon != nil {
			t.Errorf("a folder without a lexicon: %v, %v", old, err)
		}
	}
}

// An unknown word is translated by the source word that it came from, where the options say so.
func TestUnknownWords(t *testing.T) {
	made := openDigits(t)
	o := made.Settings.Decode
	source, target := numbers(15, 90, 10)
	figures(source, target)
	plain := translate(t, made, source, o)
	o.Alignment = true
	right := 0
	for i, line := range translate(t, made, source, o) {
		if line.Text == target[i] {
			right++
		}
		if strings.Contains(line.Text, "<unk>") || i%3 != 0 && line.Text != plain[i].Text {
			t.Errorf("%q is %q, and without words of the source %q", source[i], line.Text, plain[i].Text)
		}
		if figure := strings.ContainsAny(source[i], "0123456789"); figure != strings.Contains(plain[i].Text, "<unk>") {
			t.Errorf("%q is %q before words of the source are put in", source[i], plain[i].Text)
		}
	}
	if right < 80 {
		t.Errorf("%d of %d translations are right", right, len(source))
	}
}
