package language_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Texts from a store, made and found again, are those that are read from files: ids, words, sums. A run's own words,
// another order or another text has another store; a store that cannot be kept changes nothing.
func TestReadFilesGivesTheTexts(t *testing.T) {
	folder, run := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("train", "b a a\n\n<unk> b ü a\n")
	write("valid", "c a\n")
	write("test", "a d\n")
	write("other", "d d d b")
	names := language.TextNames{Train: "train", Valid: "valid", Tests: []string{"test", "other"}}
	store := filepath.Join(folder, "store")
	stores := func() int {
		found, _ := filepath.Glob(filepath.Join(store, "*.pairs"))
		return len(found)
	}
	known := corpus.NewWords()
	for _, word := range []string{"a", corpus.UnknownWord, corpus.EndOfLine} {
		known.ID(word)
	}
	if err := language.SaveWords(known, run); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ order, run string }{{"appearance", ""}, {"frequency", ""}, {"frequency", run}} {
		s := language.VocabularySettings{VocabularyOrder: c.order}
		want, err := language.ReadTexts(s, c.run, names,
			func(name, flag string, words *corpus.Words) (corpus.Running, error) {
				return corpus.LineSettings{}.ReadRunning(filepath.Join(folder, name+".txt"), flag, words)
			})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{store, store, "none", filepath.Join(folder, "train.txt", "below a file")} {
			got, err := language.ReadFiles(s, c.run, names, folder, corpus.StoreSettings{Store: at}.Cache())
			if err != nil {
				t.Fatal(err)
			}
			if got.Words.Hash() != want.Words.Hash() {
				t.Errorf("%v: other words", c)
			}
			if _, unknown := got.Words.ID("new"); unknown != (i < 3) { // <unk> stands for it
				t.Errorf("%v: the words are not closed", c)
			}
			got.Words = want.Words
			if (got.Unkept != nil) != strings.Contains(at, "below a file") {
				t.Errorf("in %s it is not kept because of %v", at, got.Unkept)
			}
			got.Unkept = nil
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(corpus.Words{})); diff != "" {
				t.Errorf("%v in %s: %s", c, at, diff)
			}
		}
		if stores() != i+1 {
			t.Errorf("%v: %d stores", c, stores())
		}
	}
	// Who scores texts needs none to train on, and not its file.
	untaught := names
	untaught.Train = ""
	if err := os.Remove(filepath.Join(folder, "train.txt")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from the store
		got, err := language.ReadFiles(language.VocabularySettings{}, run, untaught, folder,
			corpus.StoreSettings{Store: store}.Cache())
		if err != nil || len(got.Train.IDs) > 0 || len(got.Valid.IDs) != 3 || len(got.Tests[1].IDs) != 5 ||
			len(got.Sums) != 3 || got.Unkept != nil {
			t.Errorf("without a training text: %+v, %v", got, err)
		}
	}
	if stores() != 4 {
		t.Errorf("without a training text: %d stores", stores())
	}
	write("train", "b a a\n")
	write("valid", "\xff\n")
	_, err := language.ReadFiles(language.VocabularySettings{VocabularyOrder: "appearance"}, "", names, folder,
		corpus.StoreSettings{Store: store}.Cache())
	if err == nil || !strings.Contains(err.Error(), "valid.txt:1: byte 1 (0xff)") {
		t.Errorf("bad text gives %v", err)
	}
	names.Valid = "none"
	_, err = language.ReadFiles(language.VocabularySettings{VocabularyOrder: "appearance"}, "", names, folder,
		corpus.StoreSettings{Store: store}.Cache())
	if err == nil || !strings.Contains(err.Error(), "none.txt: there is no such file; -valid names it") {
		t.Errorf("a missing text gives %v", err)
	}
}

// TestSaveWordsReplaces: a folder has one vocabulary, that which was saved last.
func TestSaveWordsReplaces(t *testing.T) {
	folder := t.TempDir()
	words := corpus.NewWords()
	words.ID("a")
	pieces := corpus.NewPieces(bytebpe.Learn(&bytebpe.Counts{}, 256))
	for _, saved := range []*corpus.Words{words, pieces, words} {
		if err := language.SaveWords(saved, folder); err != nil {
			t.Fatal(err)
		}
		if read, err := language.ReadWords(folder); err != nil || read.Hash() != saved.Hash() {
			t.Errorf("%d %s became %v, %v", saved.Len(), saved.Unit(), read, err)
		}
	}
}
