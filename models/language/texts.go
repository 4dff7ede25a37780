package language

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Text is running text by its name, as ids.
type Text struct {
	Name string
	IDs  []int32
}

// Texts are those of a run, with the vocabulary of all of them.
type Texts struct {
	Words        *corpus.Words
	Train, Valid Text
	Tests        []Text
	Sums         map[string]string // SHA-256 of each file
	Unkept       error             // why their ids are made anew by each start, where that is not by choice
}

// TextNames say which texts are meant.
type TextNames struct {
	Train, Valid string
	Tests        []string
	corpus.LineSettings
}

// Reader reads a text whose words enter words; flag names the one that chose it, as in -train.
type Reader func(name, flag string, words *corpus.Words) (corpus.Running, error)

// ReadFiles is ReadTexts of the files NAME.txt of a folder, or what stands for them (see [corpus.RunningFile]), by way
// of a cache: another run with the same files finds their ids there, and does not read them.
func ReadFiles(s VocabularySettings, folder string, names TextNames, dir string, cache *corpus.Cache) (*Texts, error) {
	path := func(name string) string { return corpus.RunningFile(dir, name) }
	key, sums, err := keyOf(s, folder, names, path, cache)
	if err == nil {
		if t := kept(key, folder, names, cache); t != nil {
			t.Sums = sums
			return t, nil
		}
	}
	t, unknown := ReadTexts(s, folder, names, func(name, flag string, words *corpus.Words) (corpus.Running, error) {
		return names.ReadRunning(path(name), flag, words)
	})
	if unknown != nil || err != nil || !maps.Equal(t.Sums, sums) {
		return t, unknown
	}
	var words bytes.Buffer
	all := [][]int32{t.Train.IDs, t.Valid.IDs}
	for _, test := range t.Tests {
		all = append(all, test.IDs)
	}
	err = t.Words.Write(&words)
	if err == nil {
		err = cache.Put(key, words.Bytes())
	}
	if err == nil {
		err = cache.PutTexts(key, all)
	}
	if !errors.Is(err, corpus.ErrSwitchedOff) {
		t.Unkept = err
	}
	return t, nil
}

// keyOf names the ids of texts by what they depend on: the files, the order of words, and the words of a run that has
// some.
func keyOf(s VocabularySettings, folder string, names TextNames, path func(string) string,
	cache *corpus.Cache) (corpus.Key, map[string]string, error) {
	parts, sums := []string{"running text", s.VocabularyOrder}, map[string]string{}
	words, err := ReadWords(folder)
	switch {
	case err == nil:
		parts = append(parts, words.Hash())
	case !errors.Is(err, fs.ErrNotExist):
		return corpus.Key{}, nil, err
	}
	for _, name := range append([]string{names.Train, names.Valid}, names.Tests...) {
		sum, err := cache.SumRunning(names.LineSettings, path(name), "data.dir")
		if err != nil {
			return corpus.Key{}, nil, err
		}
		parts, sums[corpus.FileName(path(name))] = append(parts, sum), sum
	}
	return corpus.NewKey(parts...), sums, nil
}

// kept gives the texts that a cache has, or nil.
func kept(key corpus.Key, folder string, names TextNames, cache *corpus.Cache) *Texts {
	text, found := cache.Get(key)
	if !found {
		return nil
	}
	words, err := corpus.WordsOf(text, folder)
	if err != nil {
		return nil
	}
	ids, found := cache.GetTexts(key, 2+len(names.Tests), int32(words.Len()-1))
	if !found {
		return nil
	}
	t := &Texts{Words: words, Train: Text{names.Train, ids[0]}, Valid: Text{names.Valid, ids[1]}}
	for i, name := range names.Tests {
		t.Tests = append(t.Tests, Text{name, ids[2+i]})
	}
	return t
}

// ReadTexts reads texts. Their words are those of the run in folder; where that has none yet, or folder is empty, the
// words are those of all texts, in order of first appearance or of frequency as the settings say.
func ReadTexts(s VocabularySettings, folder string, names TextNames, read Reader) (*Texts, error) {
	words, err := ReadWords(folder)
	fresh := errors.Is(err, fs.ErrNotExist)
	if fresh {
		words, err = corpus.NewWords(), nil
	}
	if err != nil {
		return nil, err
	}
	t := &Texts{Words: words, Sums: map[string]string{}}
	text := func(name, flag string) Text {
		var running corpus.Running
		if err == nil {
			running, err = read(name, flag, words)
			t.Sums[running.File] = running.SHA256
		}
		return Text{name, running.IDs}
	}
	t.Train, t.Valid = text(names.Train, "-train"), text(names.Valid, "-valid")
	all := [][]int32{t.Train.IDs, t.Valid.IDs}
	for _, name := range names.Tests {
		t.Tests = append(t.Tests, text(name, "-test"))
		all = append(all, t.Tests[len(t.Tests)-1].IDs)
	}
	if err != nil {
		return nil, err
	}
	if fresh && s.VocabularyOrder == "frequency" {
		words.SortByFrequency(t.Train.IDs, all...)
	}
	words.Close()
	return t, nil
}
