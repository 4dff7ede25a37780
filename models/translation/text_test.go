package translation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
)

// few are the default settings of text, with few merges and a change.
func few(change func(*bitext.TextSettings)) bitext.TextSettings {
	d := translation.Defaults().Text
	d.Merges = 120
	change(&d)
	return d
}

var texts = map[string]struct {
	data  bitext.TextSettings
	files string // of the tokenizer folder
}{
	"one vocabulary": {few(func(d *bitext.TextSettings) {}), "codes.de codes.en vocabulary.de vocabulary.en"},
	"two vocabularies": {few(func(d *bitext.TextSettings) { d.Joint = false }),
		"codes.de codes.en vocabulary.de vocabulary.en"},
	"two lists of merges": {few(func(d *bitext.TextSettings) { d.Joint, d.JointCodes = false, false }),
		"codes.de codes.en vocabulary.de vocabulary.en"},
	"a threshold": {few(func(d *bitext.TextSettings) {
		d.Merges, d.VocabularyThreshold, d.Lowercase, d.Normalize, d.Tokenize = 500, 8, true, true, "2017"
	}),
		"codes.de codes.en units.de units.en vocabulary.de vocabulary.en"},
	"word targets": {few(func(d *bitext.TextSettings) {
		d.Joint, d.JointCodes, d.TargetUnits, d.MinCount = false, false, "word", 2
	}),
		"codes.en vocabulary.de vocabulary.en"},
	"word sources": {few(func(d *bitext.TextSettings) { d.Joint, d.SourceUnits = false, "word" }),
		"codes.de vocabulary.de vocabulary.en"},
	"truecased": {few(func(d *bitext.TextSettings) { d.Truecase, d.Aggressive, d.Escape = true, true, false }),
		"codes.de codes.en truecase.de truecase.en vocabulary.de vocabulary.en"},
	"sizes": {few(func(d *bitext.TextSettings) {
		d.Joint, d.TargetUnits, d.SourceSize, d.TargetSize = false, "word", 40, 50
	}),
		"codes.en vocabulary.de vocabulary.en"},
	"words": {few(func(d *bitext.TextSettings) { d.Merges, d.Tokenize = 0, "none" }),
		"vocabulary.de vocabulary.en"},
}

// lines have what training text has, and what it has not.
func lines(seed uint64) (source, target []string) {
	source, target = numbers(seed, 30, 1000)
	extra := []string{"", "Ein \"Zitat\" & ein  Punkt.", "zxqv Übergröße 3,5 %", "it's « odd »"}
	return append(source, extra...), append(target, extra...)
}

// What was saved reads every line as what was learnt does, and saves the same files again.
func TestSavedIsLearnt(t *testing.T) {
	english, german := numbers(3, 150, 1000)
	for name, kind := range texts {
		t.Run(name, func(t *testing.T) {
			learnt, err := bitext.Learn(kind.data, bitext.InMemory(english, german), nil)
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), "tokenizer")
			if err := learnt.Save(folder); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(kind.files, strings.Join(names(t, folder), " ")); diff != "" {
				t.Error(diff)
			}
			opened, err := bitext.OpenSides(kind.data, folder)
			if err != nil {
				t.Fatal(err)
			}
			if one, other := learnt.Source.Vocabulary == learnt.Target.Vocabulary,
				opened.Source.Vocabulary == opened.Target.Vocabulary; one != kind.data.Joint ||
				other != kind.data.Joint {
				t.Errorf("one vocabulary: learnt %v, opened %v", one, other)
			}
			source, target := lines(4)
			for i := range source {
				compare(t, learnt.Source, opened.Source, source[i])
				compare(t, learnt.Target, opened.Target, target[i])
			}
			again := filepath.Join(t.TempDir(), "again")
			if err := opened.Save(again); err != nil {
				t.Fatal(err)
			}
			for _, file := range names(t, folder) {
				if content(t, folder, file) != content(t, again, file) {
					t.Errorf("%s is saved differently the second time", file)
				}
			}
			// A run that is killed early learns again, and must learn the same.
			second, err := bitext.Learn(kind.data, bitext.InMemory(english, german), nil)
			if err != nil || second.Source.Vocabulary.Hash() != learnt.Source.Vocabulary.Hash() ||
				second.Target.Vocabulary.Hash() != learnt.Target.Vocabulary.Hash() {
				t.Errorf("learning twice gives two vocabularies, %v", err)
			}
		})
	}
}

func compare(t *testing.T, one, other *bitext.Side, line string) {
	t.Helper()
	ids := one.Encode(line)
	if diff := cmp.Diff(ids, other.Encode(line)); diff != "" {
		t.Errorf("%q is read differently:\n%s", line, diff)
	}
	if diff := cmp.Diff(one.Raw(one.Tokens(ids)), other.Raw(other.Tokens(ids))); diff != "" {
		t.Errorf("%q comes back differently:\n%s", line, diff)
	}
}

// Ids of text from the training data are that text: nothing is unknown, and raw text comes back.
func TestTrainingTextComesBack(t *testing.T) {
	english, german := numbers(4, 100, 1000)
	for name, kind := range texts {
		kind.data.MinCount, kind.data.SourceSize, kind.data.TargetSize = 1, 0, 0
		pair, err := bitext.Learn(kind.data, bitext.InMemory(english, german), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range english {
			side := pair.Source
			tokenised := side.Tokenize(line)
			if got := side.Tokens(side.Encode(line)); got != tokenised {
				t.Fatalf("%s: line %d is %q, and comes back as %q", name, i+1, tokenised, got)
			}
			if !kind.data.Lowercase && side.Raw(tokenised) != line {
				t.Errorf("%s: the raw line %q comes back as %q", name, line, side.Raw(tokenised))
			}
		}
	}
}

// Behind a threshold no rare unit is left but what cannot be split, and rare words are still made of known units.
func TestThresholdSplitsRareUnits(t *testing.T) {
	english, german := numbers(3, 150, 1000)
	d := texts["a threshold"].data
	pair, err := bitext.Learn(d, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := units(t, pair, "en")
	if len(counts) == 0 {
		t.Fatal("no units were counted")
	}
	for _, line := range english {
		for _, unit := range pair.Source.Units(pair.Source.Tokenize(line)) {
			if plain := strings.TrimSuffix(unit, "@@"); counts[unit] < d.VocabularyThreshold && len([]rune(plain)) > 1 {
				t.Errorf("%q is a unit, with a count of %d", unit, counts[unit])
			}
		}
	}
	unlimited := d
	unlimited.VocabularyThreshold = 0
	all, err := bitext.Learn(unlimited, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	if all.Source.Vocabulary.Len() <= pair.Source.Vocabulary.Len() {
		t.Errorf("the threshold leaves %d types of %d", pair.Source.Vocabulary.Len(), all.Source.Vocabulary.Len())
	}
}

// units are the counted units that a language's threshold is about, as its pair saves them.
func units(t *testing.T, pair *bitext.Sides, language string) map[string]int {
	t.Helper()
	folder := t.TempDir()
	if err := pair.Save(folder); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(content(t, folder, "units."+language)) {
		var unit string
		var n int
		if _, err := fmt.Sscan(line, &unit, &n); err != nil {
			t.Fatal(err)
		}
		counts[unit] = n
	}
	return counts
}

// Files of the user take the place of learning; what is wrong with one is said with its name and key.
func TestFilesOfTheUser(t *testing.T) {
	english, german := numbers(3, 150, 1000)
	otherEnglish, otherGerman := numbers(9, 50, 1000)
	folder := t.TempDir()
	first, err := bitext.Learn(texts["one vocabulary"].data, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Save(folder); err != nil {
		t.Fatal(err)
	}
	given := texts["one vocabulary"].data
	given.Codes = filepath.Join(folder, "codes.en")
	given.SourceVocabulary, given.TargetVocabulary = filepath.Join(folder, "vocabulary.en"),
		filepath.Join(folder, "vocabulary.de")
	second, err := bitext.Learn(given, bitext.InMemory(otherEnglish, otherGerman), nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Source.Vocabulary != second.Target.Vocabulary {
		t.Error("one vocabulary became two")
	}
	for _, line := range append(slices.Clone(english), otherEnglish...) {
		compare(t, first.Source, second.Source, line)
	}

	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		change func(*bitext.TextSettings)
		parts  []string
	}{
		{func(d *bitext.TextSettings) { d.Codes = filepath.Join(folder, "none") },
			[]string{"none", "no such file", "data.codes"}},
		{func(d *bitext.TextSettings) { d.Codes = write("broken", "#version: 0.2\na b\nc\n") }, []string{"broken:3"}},
		{func(d *bitext.TextSettings) { d.SourceVocabulary = write("words", "a 3\nb\n") }, []string{"words:2"}},
		{func(d *bitext.TextSettings) { d.TargetVocabulary = write("other", "a 3\nb 2\n") },
			[]string{"data.joint wants one vocabulary", "vocabulary.en", "other", "differ"}},
	} {
		bad := given
		c.change(&bad)
		_, err := bitext.Learn(bad, bitext.InMemory(otherEnglish, otherGerman), nil)
		if err == nil {
			t.Errorf("no error, want one with %q", c.parts)
			continue
		}
		for _, part := range c.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
}

// A tokenizer folder that lacks a file, or holds a broken one, is not used in part.
func TestOpenSidesRefuses(t *testing.T) {
	english, german := numbers(3, 60, 1000)
	d := texts["a threshold"].data
	d.Lowercase, d.Truecase = false, true
	pair, err := bitext.Learn(d, bitext.InMemory(english, german), nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, broken := range map[string]string{"vocabulary.de": "x\n", "codes.en": "#version: 0.2\na\n",
		"units.de": "a\n", "truecase.de": "und (3/4\n"} {
		folder := t.TempDir()
		if err := pair.Save(folder); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, file)
		if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := bitext.OpenSides(d, folder); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("a broken %s gives %v", file, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := bitext.OpenSides(d, folder); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("without %s: %v", file, err)
		}
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func content(t *testing.T, folder, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
