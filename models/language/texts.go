package language

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/tokenize/bytebpe"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Text is running text by its name, as ids.
type Text struct {
	Name string
	IDs  []int32
	corpus.Size
}

// PerWord turns a mean over the text's tokens into one over its words, the ends of lines among them.
func (t Text) PerWord(nll float64) float64 { return nll * float64(len(t.IDs)) / float64(t.Words) }

// BitsPerByte is a mean loss in nats a token as bits a byte of the text.
func (t Text) BitsPerByte(nll float64) float64 {
	return nll * float64(len(t.IDs)) / float64(t.Bytes) / math.Ln2
}

// Texts are those of a run, with the vocabulary of all of them.
type Texts struct {
	Words        *corpus.Words
	Train, Valid Text
	Tests        []Text
	Sums         map[string]string // SHA-256 of each file
	Unkept       error             // why their ids are made anew by each start, where that is not by choice
}

// TextNames say which texts are meant. A training or validation text without a name is not read.
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
	about, err := t.about()
	if err == nil {
		err = cache.Put(key, about)
	}
	if err == nil {
		err = cache.PutTexts(key, t.ids())
	}
	if !errors.Is(err, corpus.ErrSwitchedOff) {
		t.Unkept = err
	}
	return t, nil
}

// keptAbout is what a cache keeps of texts beside their ids.
type keptAbout struct {
	Words  string `json:"words,omitempty"` // one a line
	Pieces string `json:"pieces,omitempty"`
	Merges string `json:"merges,omitempty"`
	Sizes  []corpus.Size
}

// fileOf is the file of a text, with the folder that is part of its name: two texts may have files of one name.
func fileOf(name, path string) string {
	return filepath.ToSlash(filepath.Join(filepath.Dir(name), corpus.FileName(path)))
}

// all are the texts in their order.
func (t *Texts) all() []*Text {
	all := []*Text{&t.Train, &t.Valid}
	for i := range t.Tests {
		all = append(all, &t.Tests[i])
	}
	return all
}

func (t *Texts) ids() (ids [][]int32) {
	for _, text := range t.all() {
		ids = append(ids, text.IDs)
	}
	return ids
}

// about is keptAbout as a cache keeps it.
func (t *Texts) about() ([]byte, error) {
	var about keptAbout
	for _, text := range t.all() {
		about.Sizes = append(about.Sizes, text.Size)
	}
	var words, merges bytes.Buffer
	var err error
	if pieces := t.Words.Pieces(); pieces != nil {
		err = pieces.Write(&words, &merges)
		about.Pieces, about.Merges = words.String(), merges.String()
	} else {
		err = t.Words.Write(&words)
		about.Words = words.String()
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(about)
}

// words are those that were kept.
func (a keptAbout) words(name string) (*corpus.Words, error) {
	if a.Pieces == "" {
		return corpus.WordsOf([]byte(a.Words), name)
	}
	pieces, err := bytebpe.Read(strings.NewReader(a.Pieces), name, strings.NewReader(a.Merges), name)
	if err != nil {
		return nil, err
	}
	return corpus.NewPieces(pieces), nil
}

// keyOf names the ids of texts by what they depend on: the files, the order of words, and the words of a run that has
// some.
func keyOf(s VocabularySettings, folder string, names TextNames, path func(string) string,
	cache *corpus.Cache) (corpus.Key, map[string]string, error) {
	parts, sums := []string{"running text and sizes", s.VocabularyOrder, s.Units}, map[string]string{}
	words, fresh, err := s.vocabulary(folder)
	switch {
	case err != nil:
		return corpus.Key{}, nil, err
	case words.Pieces() == nil && fresh && s.ofPieces():
		parts = append(parts, strconv.Itoa(s.Pieces))
	case words.Len() > 0:
		parts = append(parts, words.Hash())
	}
	for _, name := range append([]string{names.Train, names.Valid}, names.Tests...) {
		if name == "" {
			parts = append(parts, name)
			continue
		}
		sum, err := cache.SumRunning(names.LineSettings, path(name), "data.dir")
		if err != nil {
			return corpus.Key{}, nil, err
		}
		parts, sums[fileOf(name, path(name))] = append(parts, sum), sum
	}
	return corpus.NewKey(parts...), sums, nil
}

// kept gives the texts that a cache has, or nil.
func kept(key corpus.Key, folder string, names TextNames, cache *corpus.Cache) *Texts {
	text, found := cache.Get(key)
	if !found {
		return nil
	}
	var about keptAbout
	count := 2 + len(names.Tests)
	if err := json.Unmarshal(text, &about); err != nil || len(about.Sizes) != count {
		return nil
	}
	words, err := about.words(folder)
	if err != nil {
		return nil
	}
	ids, found := cache.GetTexts(key, count, int32(words.Len()-1))
	if !found {
		return nil
	}
	t := &Texts{Words: words, Train: Text{Name: names.Train}, Valid: Text{Name: names.Valid}}
	for _, name := range names.Tests {
		t.Tests = append(t.Tests, Text{Name: name})
	}
	for i, text := range t.all() {
		text.IDs, text.Size = ids[i], about.Sizes[i]
	}
	return t
}

// vocabulary is that of the run in folder; where it has none yet, or folder is empty, a fresh one to read texts into.
func (s VocabularySettings) vocabulary(folder string) (words *corpus.Words, fresh bool, err error) {
	words, err = ReadWords(folder)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return words, false, err
	case !s.ofPieces():
		return corpus.NewWords(), true, nil
	case s.Tokenizer != "":
		pieces, err := ReadPieces(s.Tokenizer)
		if err != nil {
			return nil, true, fmt.Errorf("data.tokenizer: %w", err)
		}
		return corpus.NewPieces(pieces), true, nil
	}
	return corpus.LearntPieces(s.Pieces), true, nil
}

// ReadTexts reads texts. Their words are those of the run in folder; where that has none yet, or folder is empty, the
// words are those of all texts, in order of first appearance or of frequency as the settings say, or the pieces that
// the settings name or the training text teaches.
func ReadTexts(s VocabularySettings, folder string, names TextNames, read Reader) (*Texts, error) {
	words, fresh, err := s.vocabulary(folder)
	if err != nil {
		return nil, err
	}
	t := &Texts{Words: words, Sums: map[string]string{}}
	text := func(name, flag string) Text {
		var running corpus.Running
		if err == nil {
			running, err = read(name, flag, words)
			t.Sums[fileOf(name, running.File)] = running.SHA256
		}
		return Text{name, running.IDs, running.Size}
	}
	if names.Train != "" {
		t.Train = text(names.Train, "-train")
	}
	if names.Valid != "" {
		t.Valid = text(names.Valid, "-valid")
	}
	for _, name := range names.Tests {
		t.Tests = append(t.Tests, text(name, "-test"))
	}
	if err != nil {
		return nil, err
	}
	if fresh && words.Pieces() == nil && s.VocabularyOrder == "frequency" {
		words.SortByFrequency(t.Train.IDs, t.ids()...)
	}
	words.Close()
	return t, nil
}
