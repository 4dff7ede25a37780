package experiment

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/sample"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// RunningText is a text of a language model by its name.
type RunningText struct {
	Name string
	IDs  []int32
}

// Texts are those of a language model's run, with the vocabulary of all of them.
type Texts struct {
	Words        *corpus.Words
	Train, Valid RunningText
	Tests        []RunningText
	Sums         map[string]string // SHA-256 of each file
}

// sampleTest is the number of lines of the sample's validation and test texts.
const sampleTest = 1000

// ReadTexts reads the texts that the configuration names, or generates the sample.
// Their words are those of the run in folder; where that has none yet, or folder is
// empty, the words are those of all texts, in order of first appearance or of
// frequency as the configuration says.
func ReadTexts(d Data, folder string) (*Texts, error) {
	words, err := language.ReadWords(folder)
	fresh := errors.Is(err, fs.ErrNotExist)
	if fresh {
		words, err = corpus.NewWords(), nil
	}
	if err != nil {
		return nil, err
	}
	t := &Texts{Words: words, Sums: map[string]string{}}
	read := t.file(d)
	if d.Sample {
		read = t.sample(d)
	}
	if t.Train, err = read(d.Train, "-train"); err != nil {
		return nil, err
	}
	if t.Valid, err = read(d.Valid, "-valid"); err != nil {
		return nil, err
	}
	for _, name := range d.Test {
		test, err := read(name, "-test")
		if err != nil {
			return nil, err
		}
		t.Tests = append(t.Tests, test)
	}
	if fresh && d.VocabularyOrder == "frequency" {
		all := [][]int32{t.Train.IDs, t.Valid.IDs}
		for _, test := range t.Tests {
			all = append(all, test.IDs)
		}
		words.SortByFrequency(t.Train.IDs, all...)
	}
	words.Close()
	return t, nil
}

// file reads DIR/NAME.txt.
func (t *Texts) file(d Data) func(name, flag string) (RunningText, error) {
	return func(name, flag string) (RunningText, error) {
		text, err := corpus.ReadRunning(filepath.Join(d.Dir, name+".txt"), flag, t.Words)
		t.Sums[filepath.Base(name)+".txt"] = text.SHA256
		return RunningText{name, text.IDs}, err
	}
}

// sample gives the built-in texts, whatever they are called.
func (t *Texts) sample(d Data) func(name, flag string) (RunningText, error) {
	train, valid, test := sample.Text(uint64(d.SampleSeed), d.SampleSize, sampleTest, sampleTest)
	lines := map[string][]string{"-train": train, "-valid": valid, "-test": test}
	return func(name, flag string) (RunningText, error) {
		text, err := corpus.RunningLines(lines[flag], name, t.Words)
		t.Sums[name+".txt"] = text.SHA256
		return RunningText{name, text.IDs}, err
	}
}
