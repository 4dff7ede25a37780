package language

import (
	"errors"
	"io/fs"

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
}

// TextNames say which texts are meant.
type TextNames struct {
	Train, Valid string
	Tests        []string
}

// Reader reads a text whose words enter words; flag names the one that chose it, as in -train.
type Reader func(name, flag string, words *corpus.Words) (corpus.Running, error)

// ReadTexts reads texts. Their words are those of the run in folder; where that has none yet, or folder is empty, the words are
// those of all texts, in order of first appearance or of frequency as the settings say.
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
			t.Sums[name+".txt"] = running.SHA256
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
