package translation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// inFiles writes parallel lines into a folder.
func inFiles(t *testing.T, folder string, source, target []string) {
	t.Helper()
	for name, lines := range map[string][]string{"train.en": source, "train.de": target} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// started is what a run begins with: texts in files, sides that were learnt or found, pairs that were encoded or found.
func started(t *testing.T, s translation.Settings, folder, store string) (*translation.Texts, *translation.Pair) {
	t.Helper()
	cache := corpus.StoreSettings{Store: store}.Cache()
	train, err := cache.OpenParallel(filepath.Join(folder, "train.en"), filepath.Join(folder, "train.de"), "-train")
	if err != nil {
		t.Fatal(err)
	}
	texts := &translation.Texts{Train: train, Valid: translation.Lines{Name: "valid", Source: []string{"a b"}, Target: []string{"c d"}}, Cache: cache}
	pair, err := texts.Learn(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Encode(pair, corpus.Limits{MaxRatio: 4}, 200); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(texts.Close)
	return texts, pair
}

// A first start, a second one and one without a store have the pairs and vocabularies that Learn and Encode give of lines in
// memory, for all that a text goes through.
func TestStoreIsWhatLearningGives(t *testing.T) {
	english, german := lines(3)
	folder := t.TempDir()
	inFiles(t, folder, english, german)
	for name, change := range map[string]func(*translation.Settings){
		"joint":      func(s *translation.Settings) {},
		"truecase":   func(s *translation.Settings) { s.Text.Truecase, s.Text.Normalize = true, true },
		"apart":      func(s *translation.Settings) { s.Text.Joint, s.Text.JointCodes = false, false },
		"threshold":  func(s *translation.Settings) { s.Text.VocabularyThreshold = 3 },
		"words":      func(s *translation.Settings) { s.Text.Joint, s.Text.TargetUnits, s.Text.Lexicon = false, "word", true },
		"2017":       func(s *translation.Settings) { s.Text.Tokenize, s.Text.Lowercase = "2017", true },
		"few merges": func(s *translation.Settings) { s.Text.Merges, s.Text.MinCount = 20, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			s := translation.Defaults()
			s.Text.Merges = 100
			change(&s)
			plain, err := translation.Learn(s.Text, english, german)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := corpus.Filter(corpus.Encode(english, german, plain.Source.Encode, plain.Target.Encode), corpus.Limits{MaxLength: 199, MaxRatio: 4})
			if err != nil {
				t.Fatal(err)
			}
			store := filepath.Join(t.TempDir(), "store")
			for start, at := range []string{store, store, "none"} {
				texts, pair := started(t, s, folder, at)
				says := []string{"made in", "from ", "in memory"}[start]
				if !strings.Contains(texts.Stored, says) {
					t.Errorf("start %d says %q, want %q in it", start, texts.Stored, says)
				}
				if pair.Source.Vocabulary.Hash() != plain.Source.Vocabulary.Hash() || pair.Target.Vocabulary.Hash() != plain.Target.Vocabulary.Hash() {
					t.Errorf("start %d has other vocabularies", start)
				}
				if diff := cmp.Diff(listed(want), listed(texts.TrainPairs)); diff != "" {
					t.Errorf("start %d: %s", start, diff)
				}
				// What is learnt again from the store translates as what was learnt from the text.
				for _, line := range english[:20] {
					if diff := cmp.Diff(plain.Source.Encode(line), pair.Source.Encode(line)); diff != "" {
						t.Error(diff)
					}
				}
				if s.Text.Lexicon && (pair.Lexicon == nil) {
					t.Errorf("start %d has no lexicon", start)
				}
			}
		})
	}
}

func listed(pairs corpus.Pairs) (list corpus.List) {
	for i := range pairs.Len() {
		list = append(list, pairs.At(i))
	}
	return list
}

// Another text, or another setting that ids depend on, has another store; a method, a seed and limits have not.
func TestStoreDependsOnWhatMatters(t *testing.T) {
	english, german := lines(3)
	folder, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	inFiles(t, folder, english, german)
	stores := func() int {
		names, _ := filepath.Glob(filepath.Join(store, "*.pairs"))
		return len(names)
	}
	s := translation.Defaults()
	s.Text.Merges = 50
	started(t, s, folder, store)
	same := s
	same.Seed, same.Objective.Method, same.Decode.Beam = 7, "spectrum", 2
	if started(t, same, folder, store); stores() != 1 {
		t.Errorf("%d stores after another method and seed", stores())
	}
	for i, change := range []func(*translation.TextSettings){
		func(d *translation.TextSettings) { d.Merges = 51 },
		func(d *translation.TextSettings) { d.Lowercase = true },
		func(d *translation.TextSettings) { d.Normalize = true },
		func(d *translation.TextSettings) { d.Aggressive = true },
		func(d *translation.TextSettings) { d.Escape = false },
	} {
		other := s
		change(&other.Text)
		if started(t, other, folder, store); stores() != i+2 {
			t.Errorf("%d stores after change %d", stores(), i)
		}
	}
	before := stores()
	german[3] += " und"
	inFiles(t, folder, english, german)
	if started(t, s, folder, store); stores() != before+1 {
		t.Errorf("%d stores after a change of the text, %d before", stores(), before)
	}
}

func TestSingleSpaced(t *testing.T) {
	for _, line := range []string{"", "a", "a b", " a", "a ", "a  b", "a\tb", "a\u00a0b", "a \u2003 b", "ü ß", "\xff \xfe", " ", "a\u0085"} {
		if want := strings.Join(strings.Fields(line), " ") == line; translation.SingleSpaced(line) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

// TestTrainPairs: of the training text as many pairs are taken as asked for, at equal distances; what is learnt knows no other words. Other
// texts are whole, and sums are those of the files.
func TestTrainPairs(t *testing.T) {
	folder := t.TempDir()
	inFiles(t, folder, []string{"one", "two", "three", "four", "five", "six", "seven"}, []string{"eins", "zwei", "drei", "vier", "fuenf", "sechs", "sieben"})
	for _, name := range []string{"valid", "test"} {
		for _, language := range []string{".en", ".de"} {
			if err := os.WriteFile(filepath.Join(folder, name+language), []byte("one\nseven\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := translation.Defaults()
	names := translation.TextNames{Train: "train", Valid: "valid", Tests: []string{"test"}}
	read := func(n int) (*translation.Texts, error) {
		s.Text.TrainPairs = n
		return translation.ReadFiles(s.Text, names, folder, corpus.StoreSettings{Store: filepath.Join(folder, "store")}.Cache())
	}
	all, err := read(0)
	if err != nil || all.Train.Source.Len() != 7 {
		t.Fatalf("%d pairs: %v", all.Train.Source.Len(), err)
	}
	some, err := read(3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"one", "three", "five"}, {"eins", "drei", "fuenf"}}, [][]string{some.Train.Source.Lines, some.Train.Target.Lines}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all.Sums, some.Sums); diff != "" || len(some.Valid.Source) != 2 {
		t.Errorf("%d lines to validate; %s", len(some.Valid.Source), diff)
	}
	s.Text.Joint, s.Text.SourceUnits, s.Text.TargetUnits = false, "word", "word"
	pair, err := some.Learn(s)
	if err != nil {
		t.Fatal(err)
	}
	if v := pair.Source.Vocabulary; v.Count(v.ID("three")) != 1 || v.ID("two") != v.ID("none") {
		t.Errorf("the vocabulary has %d entries, three %d times", v.Len(), v.Count(v.ID("three")))
	}
	if err := some.Encode(pair, corpus.Limits{}, 50); err != nil || some.TrainPairs.Len() != 3 {
		t.Errorf("%v: %v", some.Stored, err)
	}
	some.Close()
	if _, err := read(8); err == nil || !strings.Contains(err.Error(), "data.train_pairs = 8, and "+filepath.Join(folder, "train.en")+" has 7 lines") {
		t.Errorf("8 of 7 pairs: %v", err)
	}
}
