package translation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// apart are the settings of two languages that share nothing.
func apart(source, target string) bitext.TextSettings {
	return few(func(d *bitext.TextSettings) {
		d.Joint, d.JointCodes, d.SourceUnits, d.TargetUnits = false, false, source, target
	})
}

// learn is Learn, and what it keeps in a folder.
func learn(t *testing.T, d bitext.TextSettings, source, target []string) (*bitext.Sides, string) {
	t.Helper()
	pair, err := bitext.Learn(d, bitext.InMemory(source, target), nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := pair.Save(folder); err != nil {
		t.Fatal(err)
	}
	return pair, folder
}

// Each language has the units that its key says, and merges are those that it would have alone.
func TestUnitsOfEachLanguage(t *testing.T) {
	english, german := numbers(3, 150, 1000)
	_, alone := learn(t, apart("bpe", "bpe"), english, german)
	for _, c := range []struct{ source, target, files string }{
		{"word", "word", "vocabulary.de vocabulary.en"},
		{"word", "bpe", "codes.de vocabulary.de vocabulary.en"},
		{"bpe", "word", "codes.en vocabulary.de vocabulary.en"},
		{"bpe", "bpe", "codes.de codes.en vocabulary.de vocabulary.en"},
	} {
		for _, jointCodes := range []bool{false, true} {
			if c.source == c.target && c.source == "bpe" && jointCodes {
				continue // both languages learn them then
			}
			d := apart(c.source, c.target)
			d.JointCodes = jointCodes
			pair, folder := learn(t, d, english, german)
			if diff := cmp.Diff(c.files, strings.Join(names(t, folder), " ")); diff != "" {
				t.Errorf("%s to %s: %s", c.source, c.target, diff)
			}
			for _, side := range []struct {
				*bitext.Side
				units string
				lines []string
			}{{pair.Source, c.source, english}, {pair.Target, c.target, german}} {
				if side.units == "bpe" {
					if codes := "codes." + side.Language; content(t, folder, codes) != content(t, alone, codes) {
						t.Errorf("%s to %s: %s is not that of the language alone", c.source, c.target, codes)
					}
				}
				split := false
				for _, line := range side.lines {
					tokenised := side.Tokenize(line)
					units := side.Units(tokenised)
					split = split || !slices.Equal(units, strings.Fields(tokenised))
				}
				if split != (side.units == "bpe") {
					t.Errorf("%s to %s: words of %s are split: %v", c.source, c.target, side.Language, split)
				}
			}
		}
	}
}

// rows are the lines of a vocabulary file, less the padding of a full vocabulary.
func rows(t *testing.T, folder, language string) (all []string) {
	t.Helper()
	for line := range strings.Lines(content(t, folder, "vocabulary."+language)) {
		if !strings.HasPrefix(line, "madeupword") {
			all = append(all, line)
		}
	}
	return all
}

// A size keeps the first types of the full vocabulary, words or pieces, exactly that number beside the special tokens;
// what it leaves out is the unknown word. A size beyond the text keeps all.
func TestSizesKeepTheMostFrequent(t *testing.T) {
	english, german := numbers(3, 150, 1000)
	joint := few(func(*bitext.TextSettings) {})
	for name, d := range map[string]bitext.TextSettings{"words": apart("word", "word"), "pieces": apart("bpe", "bpe"),
		"mixed": apart("word", "bpe"), "joint": joint} {
		_, full := learn(t, d, english, german)
		for _, size := range []int{1, 30, 47, 100000} {
			d.SourceSize, d.TargetSize = size, size
			if !d.Joint {
				d.TargetSize = 2 * size
			}
			pair, cut := learn(t, d, english, german)
			for language, n := range map[string]int{"en": d.SourceSize, "de": d.TargetSize} {
				all := rows(t, full, language)
				if diff := cmp.Diff(all[:min(n, len(all))],
					strings.SplitAfter(strings.TrimSuffix(content(t, cut, "vocabulary."+language), "\n")+"\n",
						"\n")[:min(n, len(all))]); diff != "" {
					t.Errorf("%s, %d of %s: %s", name, n, language, diff)
				}
				side := map[string]*bitext.Side{"en": pair.Source, "de": pair.Target}[language]
				if got := side.Vocabulary.Len(); got != min(n, len(all))+tokenize.Unk+1 {
					t.Errorf("%s: %d of the %d %s types and the special tokens make %d", name, n, len(all), language,
						got)
				}
			}
			opened, err := bitext.OpenSides(d, cut)
			if err != nil {
				t.Fatal(err)
			}
			for i := range english {
				compare(t, pair.Source, opened.Source, english[i])
				compare(t, pair.Target, opened.Target, german[i])
			}
		}
	}
}

// With a file of vectors the size counts the words that have one; a word of the text is <unk> where it has none or is
// too rare, and <unk> has the vector of words that are outside. Without a file <unk> has a vector of its own, made of
// the rarer words.
func TestSizeWithVectors(t *testing.T) {
	english, german := numbers(1, 80, 1000)
	_, full := learn(t, apart("word", "word"), english, german)
	vec := filepath.Join(t.TempDir(), "german.vec")
	var text strings.Builder
	var want []string
	for i, row := range rows(t, full, "de") {
		if i%3 == 1 {
			continue // no vector
		}
		word, _, _ := strings.Cut(row, " ")
		fmt.Fprintf(&text, "%s %d %d 1\n", word, i%7, i%5)
		if len(want) < 20 {
			want = append(want, word)
		}
	}
	if err := os.WriteFile(vec, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, units := range []string{"word", "bpe"} {
		s := translation.Defaults()
		s.Text, s.Model.Tying, s.Objective.Method = apart(units, "word"), "decoder", "vmf"
		s.Text.TargetSize, s.Seed = 20, 1
		s.Objective.Set("vectors_width", 9)
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{vec, ""} {
			s.Objective.Set("vectors", file)
			pair, err := translation.LearnText(s, bitext.InMemory(english, german), nil)
			if err != nil {
				t.Fatal(err)
			}
			n := pair.Target.Vocabulary.Len() - tokenize.Unk - 1
			got := pair.Target.Vocabulary.Decode([]int32{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
				21, 22, 23})
			if diff := cmp.Diff(want, got); diff != "" && file != "" || n > 20 || n < 18 {
				t.Errorf("%d words, of %q: %s", n, file, diff)
			}
			if !pair.Vectors.Has(tokenize.Unk) || pair.Vectors.Missing != 0 {
				t.Errorf("<unk> has no vector: %+v", pair.Vectors)
			}
			folder := t.TempDir()
			torch.Test(t, func() {
				if err := translation.SaveText(pair, folder); err != nil {
					t.Fatal(err)
				}
				opened, err := translation.OpenText(s, folder)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, pair.Target, opened.Target, german[7])
				if opened.Vectors.Hash() != pair.Vectors.Hash() {
					t.Error("other vectors are read than were kept")
				}
			})
		}
	}
}

// The paper's text: tokenizer -a -no-escape, then truecased. Raw text comes back. The tokens before truecasing are
// those of the Moses tokenizer.
func TestTextOfThePaper(t *testing.T) {
	english := []string{
		`He says the Dog of the house barks.`, `A man at the US border saw the dog.`,
		`Then he said: the well-known U.S. firm re-opened.`,
		`In "The Dog" the house is well-known.`, `So the man of the house says it.`,
	}
	german := []string{
		`Er sagt, das Haus hat einen Hund.`, `Ein Mann sah den Hund vor dem Haus.`, `Dann sagte er: das Haus ist groß.`,
		`Der Mann sah das Haus.`, `Wo ist der Mann?`,
	}
	d := apart("word", "word")
	d.Aggressive, d.Escape, d.Truecase = true, false, true
	pair, folder := learn(t, d, english, german)
	for raw, want := range map[string]string{
		`The house & the dog's <tag> [x] | y: 50% of $10.`: `the house & the dog 's < tag > [ x ] | y : 50 % of $ 10 .`,
		`House of a well-known MAN! He re-did it.`:         `house of a well @-@ known man ! he re @-@ did it .`,
		`"The man" doesn't.`:                               `" the man " doesn 't .`,
		`US firm.`:                                         `US firm .`,
	} {
		if got := pair.Source.Tokenize(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
	for side, lines := range map[*bitext.Side][]string{pair.Source: english, pair.Target: german} {
		for _, line := range lines {
			// Moses takes a colon for the end of a sentence
			want := strings.NewReplacer(": the", ": The", ": das", ": Das").Replace(line)
			if tokens := side.Tokens(side.Encode(line)); side.Raw(tokens) != want {
				t.Errorf("%q is %q, and comes back as %q", line, tokens, side.Raw(tokens))
			}
		}
	}
	for _, raw := range []string{`The house & the dog's [x] | y < z, 50% of $10.`,
		`It's a re-opened firm (well-known). So what?`, `"Quoted text", he said; fine!`} {
		if got := pair.Source.Raw(pair.Source.Tokenize(raw)); got != raw {
			t.Errorf("%q comes back as %q", raw, got)
		}
	}

	// The model is the one that runs/text truecase-train makes of the tokenised text, and what was kept reads as what was
	// learnt.
	plain := d
	plain.Truecase = false
	before, _ := learn(t, plain, english, german)
	var tokenised strings.Builder
	for _, line := range german {
		tokenised.WriteString(before.Target.Tokenize(line) + "\n")
	}
	model, err := tokenize.TrainTruecaser(strings.NewReader(tokenised.String()), "train.tok.de")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := model.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file.String(), content(t, folder, "truecase.de")); diff != "" {
		t.Error(diff)
	}
}
