package translation_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
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
func started(t *testing.T, s translation.Settings, folder, store string) (*bitext.Texts, *bitext.Sides) {
	t.Helper()
	cache := corpus.StoreSettings{Store: store}.Cache()
	train, err := cache.OpenParallel(corpus.PairName{Folder: folder, Name: "train", Source: "en", Target: "de"},
		"-train")
	if err != nil {
		t.Fatal(err)
	}
	texts := &bitext.Texts{Train: train, Valid: bitext.Lines{Name: "valid", Source: []string{"a b"},
		Target: []string{"c d"}}, Cache: cache}
	pair, err := translation.LearnText(s, texts.Train, texts.Cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Encode(pair, corpus.Limits{MaxRatio: 4}, 200); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(texts.Close)
	return texts, pair
}

// A first start, a second one and one without a store have the pairs and vocabularies that Learn and Encode give of
// lines in memory, for all that a text goes through.
func TestStoreIsWhatLearningGives(t *testing.T) {
	english, german := lines(3)
	folder := t.TempDir()
	inFiles(t, folder, english, german)
	for name, change := range map[string]func(*translation.Settings){
		"joint":     func(s *translation.Settings) {},
		"truecase":  func(s *translation.Settings) { s.Text.Truecase, s.Text.Normalize = true, true },
		"apart":     func(s *translation.Settings) { s.Text.Joint, s.Text.JointCodes = false, false },
		"threshold": func(s *translation.Settings) { s.Text.VocabularyThreshold = 3 },
		"words": func(s *translation.Settings) {
			s.Text.Joint, s.Text.TargetUnits, s.Text.Lexicon = false, "word",
				true
		},
		"2017":       func(s *translation.Settings) { s.Text.Tokenize, s.Text.Lowercase = "2017", true },
		"few merges": func(s *translation.Settings) { s.Text.Merges, s.Text.MinCount = 20, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			s := translation.Defaults()
			s.Text.Merges = 100
			change(&s)
			plain, err := bitext.Learn(s.Text, bitext.InMemory(english, german), nil)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := corpus.Filter(corpus.Encode(english, german, plain.Source.Encode, plain.Target.Encode),
				corpus.Limits{MaxLength: 199, MaxRatio: 4})
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
				if pair.Source.Vocabulary.Hash() != plain.Source.Vocabulary.Hash() ||
					pair.Target.Vocabulary.Hash() != plain.Target.Vocabulary.Hash() {
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

// What was learnt is taken from the store as it lies there; an archive that says it holds more than its file is not
// unpacked.
func TestPackedLearntIsMadeAnew(t *testing.T) {
	english, german := lines(3)
	folder, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	inFiles(t, folder, english, german)
	s := translation.Defaults()
	s.Text.Merges = 50
	_, want := started(t, s, folder, store)
	names, _ := filepath.Glob(filepath.Join(store, "*.learnt"))
	kept, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	in, err := zip.NewReader(bytes.NewReader(kept[64:]), int64(len(kept)-64))
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		var b bytes.Buffer
		out := zip.NewWriter(&b)
		for _, f := range in.File {
			from, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(from)
			if err != nil {
				t.Fatal(err)
			}
			to, err := out.CreateHeader(&zip.FileHeader{Name: f.Name, Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(f.Name, "vocabulary.") {
				text = append(text, "added 1\n"...)
			}
			to.Write(text)
		}
		out.Close()
		if err := (corpus.StoreSettings{Store: store}).Cache().Put(corpus.Key(kept), b.Bytes()); err != nil {
			t.Fatal(err)
		}
		_, pair := started(t, s, folder, store)
		if taken := pair.Source.Vocabulary.Hash() != want.Source.Vocabulary.Hash(); taken != (method == zip.Store) {
			t.Errorf("method %d: what the store has is taken: %v", method, taken)
		}
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
	for i, change := range []func(*bitext.TextSettings){
		func(d *bitext.TextSettings) { d.Merges = 51 },
		func(d *bitext.TextSettings) { d.Lowercase = true },
		func(d *bitext.TextSettings) { d.Normalize = true },
		func(d *bitext.TextSettings) { d.Aggressive = true },
		func(d *bitext.TextSettings) { d.Escape = false },
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

// TestTrainPairs: of the training text the number of pairs is taken that was asked for, at equal distances; what is
// learnt knows no other words. Other texts are whole, and sums are those of the files.
func TestTrainPairs(t *testing.T) {
	folder := t.TempDir()
	inFiles(t, folder, []string{"one", "two", "three", "four", "five", "six", "seven"},
		[]string{"eins", "zwei", "drei", "vier", "fuenf", "sechs", "sieben"})
	for _, name := range []string{"valid", "test"} {
		for _, language := range []string{".en", ".de"} {
			if err := os.WriteFile(filepath.Join(folder, name+language), []byte("one\nseven\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := translation.Defaults()
	names := bitext.TextNames{Dir: folder, Train: "train", Valid: "valid", Tests: []string{"test"}}
	read := func(n int) (*bitext.Texts, error) {
		s.Text.TrainPairs = n
		return bitext.ReadFiles(s.Text, names, corpus.StoreSettings{Store: filepath.Join(folder, "store")}.Cache())
	}
	all, err := read(0)
	if err != nil || all.Train.Source.Len() != 7 {
		t.Fatalf("%d pairs: %v", all.Train.Source.Len(), err)
	}
	some, err := read(3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"one", "three", "five"}, {"eins", "drei", "fuenf"}},
		[][]string{some.Train.Source.Lines, some.Train.Target.Lines}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all.Sums, some.Sums); diff != "" || len(some.Valid.Source) != 2 {
		t.Errorf("%d lines to validate; %s", len(some.Valid.Source), diff)
	}
	s.Text.Joint, s.Text.SourceUnits, s.Text.TargetUnits = false, "word", "word"
	pair, err := translation.LearnText(s, some.Train, some.Cache)
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
	if _, err := read(8); err == nil ||
		!strings.Contains(err.Error(), "data.train_pairs = 8, and "+filepath.Join(folder, "train.en")+" has 7 lines") {
		t.Errorf("8 of 7 pairs: %v", err)
	}
}

// One corpus has the same texts, sums and pairs however its files are packed, from files and from the cache.
func TestTextsInAnyFiles(t *testing.T) {
	english, german := lines(3)
	en, de := strings.Join(english, "\n")+"\n", strings.Join(german, "\n")+"\n"
	var table strings.Builder
	for i := range english {
		table.WriteString(german[i] + "\t" + english[i] + "\n")
	}
	s := translation.Defaults()
	s.Text.Source, s.Text.Target, s.Text.Merges = "en", "de", 50
	store := filepath.Join(t.TempDir(), "store")
	var first *bitext.Texts
	for _, contents := range []map[string]string{
		{"train.en": en, "train.de": de, "valid.en": en, "valid.de": de, "test.en": en, "test.de": de},
		{"train.en.gz": fixtures.Gzip(t, en), "train.de.zst": fixtures.Zstandard(t, de),
			"valid.en.gz": fixtures.Gzip(t, en), "valid.de": de, "test.en": en, "test.de.gz": fixtures.Gzip(t, de)},
		{"train.de-en.tsv": table.String(), "valid.de-en.tsv.gz": fixtures.Gzip(t, table.String()),
			"test.de-en.tsv.zst": fixtures.Zstandard(t, table.String())},
	} {
		folder := t.TempDir()
		for name, content := range contents {
			fixtures.Put(t, folder, name, content)
		}
		names := bitext.TextNames{Dir: folder, Train: "train", Valid: "valid", Tests: []string{"test"}}
		texts, err := bitext.ReadFiles(s.Text, names, corpus.StoreSettings{Store: store}.Cache())
		if err != nil {
			t.Fatal(err)
		}
		pair, err := translation.LearnText(s, texts.Train, texts.Cache)
		if err != nil {
			t.Fatal(err)
		}
		if err := texts.Encode(pair, corpus.Limits{}, 200); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = texts
			defer texts.Close()
			continue
		}
		if diff := cmp.Diff(first.Sums, texts.Sums); diff != "" {
			t.Errorf("other sums: %s", diff)
		}
		if diff := cmp.Diff(first.Tests, texts.Tests); diff != "" {
			t.Errorf("other tests: %s", diff)
		}
		if diff := cmp.Diff(listed(first.TrainPairs), listed(texts.TrainPairs)); diff != "" {
			t.Errorf("other pairs: %s", diff)
		}
		texts.Close()
	}
	if names, _ := filepath.Glob(filepath.Join(store, "*.pairs")); len(names) != 1 {
		t.Errorf("%d stores of one corpus", len(names))
	}
}

// Where there is no validation or test text, lines of the training text stand in for it, and are not trained on.
func TestHeldOutTexts(t *testing.T) {
	english, german := lines(2)
	s := translation.Defaults()
	s.Text.Source, s.Text.Target, s.Text.Merges = "en", "de", 50
	folder := t.TempDir()
	inFiles(t, folder, english, german)
	names := bitext.TextNames{Dir: folder, Train: "train", Valid: "valid", Tests: []string{"test"}}
	cache := corpus.StoreSettings{Store: filepath.Join(t.TempDir(), "store")}.Cache()
	if _, err := bitext.ReadFiles(s.Text, names, cache); err == nil ||
		!strings.Contains(err.Error(), "valid.en: there is no such file; -valid names it") {
		t.Errorf("no validation text gives %v", err)
	}
	names.HeldOut, names.Valid = 2000, "vaild"
	if _, err := bitext.ReadFiles(s.Text, names, cache); err == nil ||
		!strings.Contains(err.Error(), "vaild.en: there is no such file; -valid names it") {
		t.Errorf("a name that is misspelt gives %v", err)
	}
	names.Valid = "valid"
	texts, err := bitext.ReadFiles(s.Text, names, cache)
	if err != nil {
		t.Fatal(err)
	}
	valid, test := texts.Valid, texts.Tests[0]
	n, each := len(english), len(english)/20
	if len(valid.Source) != each || valid.Source[0] != english[19] || valid.Target[each-1] != german[20*each-1] ||
		test.Name != "test" || test.Source[0] != english[9] {
		t.Errorf("%d pairs to validate, first %q; test %s, first %q", len(valid.Source), valid.Source[0], test.Name,
			test.Source[0])
	}
	if left := texts.Train.Source.Len(); left != n-len(valid.Source)-len(test.Source) {
		t.Errorf("%d pairs are left of %d", left, n)
	}
	about := strings.Join(texts.About(), "\n")
	if !strings.Contains(about, "one in 20 of the 34 pairs of train, spread evenly, is held out as validation text, "+
		"and another as test text (data.held_out)") {
		t.Errorf("it says %q", about)
	}
	pair, err := translation.LearnText(s, texts.Train, cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := texts.Encode(pair, corpus.Limits{}, 2); err == nil || !strings.Contains(err.Error(),
		filepath.Join(folder, "train.")) || !strings.Contains(err.Error(), ":20: this line of the text valid has ") {
		t.Errorf("a line that is too long is named so: %v", err)
	}
	again, err := bitext.ReadLines(s.Text, names, "test", "data.dir", cache)
	if diff := cmp.Diff(test, again); err != nil || diff != "" {
		t.Errorf("the test text alone: %v, %s", err, diff)
	}
	fixtures.Put(t, folder, "valid.en", "a\n")
	fixtures.Put(t, folder, "valid.de", "x\n")
	if texts, err = bitext.ReadFiles(s.Text, names, cache); err != nil || len(texts.Valid.Source) != 1 ||
		texts.Train.Source.Len() != n-len(test.Source) {
		t.Errorf("with a validation text of its own: %+v, %v", texts.Valid, err)
	}
}
