package translation

import (
	"fmt"
	"path/filepath"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Lines are raw parallel text, a sentence and its translation at each place.
type Lines struct {
	Name           string
	Source, Target []string
}

// Parallel are the lines as text in memory.
func (l Lines) Parallel() corpus.Parallel { return inMemory(l.Source, l.Target) }

// Texts are the corpus of a translator, raw and, after Encode, as ids.
type Texts struct {
	Train corpus.Parallel // stays in its files, where it has some
	Valid Lines
	Tests []Lines
	Sums  map[string]string // SHA-256 of each file
	Cache *corpus.Cache     // keeps what is made of training text that has files; nil keeps nothing

	TrainPairs, ValidPairs corpus.Pairs
	Filtered               corpus.FilterReport // what Encode left out of the training text
	Stored                 string              // where the encoded training text is, in a sentence
	store                  *corpus.Store
}

// TextNames say which texts are meant.
type TextNames struct {
	Train, Valid string
	Tests        []string
}

// ReadFiles reads the texts DIR/NAME.LANGUAGE. That for training stays in its files, but for some pairs of it.
func ReadFiles(d TextSettings, names TextNames, dir string, cache *corpus.Cache) (*Texts, error) {
	t := &Texts{Sums: map[string]string{}, Cache: cache}
	var err error
	read := func(name, flag string, open func(source, target, flag string) (corpus.Parallel, error)) (p corpus.Parallel) {
		if err == nil {
			path := func(language string) string { return filepath.Join(dir, name+"."+language) }
			p, err = open(path(d.Source), path(d.Target), flag)
			t.Sums[filepath.Base(p.Source.Path)], t.Sums[filepath.Base(p.Target.Path)] = p.Source.SHA256, p.Target.SHA256
		}
		return p
	}
	lines := func(name, flag string) Lines {
		p := read(name, flag, corpus.ReadParallel)
		return Lines{Name: name, Source: p.Source.Lines, Target: p.Target.Lines}
	}
	open := cache.OpenParallel
	if d.TrainPairs > 0 {
		open = corpus.ReadParallel
	}
	t.Train, t.Valid = read(names.Train, "-train", open), lines(names.Valid, "-valid")
	if err == nil {
		t.Train, err = t.Train.Some(d.TrainPairs, "data.train_pairs")
	}
	for _, name := range names.Tests {
		t.Tests = append(t.Tests, lines(name, "-test"))
	}
	return t, err
}

// Encode turns the texts for training and validation into ids. Training pairs outside the limits, and those longer than the
// network's positions, are left out; a line of another text that is longer is an error, since what is translated for a score is
// not left out of it.
func (t *Texts) Encode(p *Pair, limits corpus.Limits, positions int) error {
	for _, lines := range append([]Lines{t.Valid}, t.Tests...) {
		for _, pair := range p.encode(lines) {
			n, language := len(pair.Source), p.Source.Language
			if len(pair.Target) > n {
				n, language = len(pair.Target), p.Target.Language
			}
			if n >= positions {
				return fmt.Errorf("%s.%s:%d: this line has %d symbols with its end, more than model.max_positions (%d): raise that, or split the line", lines.Name, language, pair.Line, n+1, positions)
			}
		}
	}
	if limits.MaxLength == 0 || limits.MaxLength > positions-1 {
		limits.MaxLength = positions - 1
	}
	encoding, err := p.encoding(t.Train)
	if err != nil {
		return err
	}
	t.Close()
	if t.store, t.Stored, err = t.cache().Encode(encoding); err != nil {
		return err
	}
	if t.TrainPairs, t.Filtered, err = corpus.Filter(t.store, limits); err != nil {
		return fmt.Errorf("training text: %w", err)
	}
	if t.ValidPairs, _, err = corpus.Filter(p.encode(t.Valid), corpus.Limits{MaxLength: positions - 1}); err != nil {
		return fmt.Errorf("validation text: %w", err)
	}
	return nil
}

func (t *Texts) cache() *corpus.Cache {
	if t.Cache == nil || t.Train.Source.SHA256 == "" {
		return corpus.StoreSettings{Store: "none"}.Cache()
	}
	return t.Cache
}

// Close gives the encoded training text back. No pairs of it must be used any more.
func (t *Texts) Close() { t.store.Close() }

// TestPairs are the pairs of a text that Encode has checked.
func (p *Pair) TestPairs(lines Lines) (corpus.Pairs, error) {
	pairs, _, err := corpus.Filter(p.encode(lines), corpus.Limits{})
	if err != nil {
		return nil, fmt.Errorf("test text %s: %w", lines.Name, err)
	}
	return pairs, nil
}

func (p *Pair) encode(lines Lines) corpus.List {
	return corpus.Encode(lines.Source, lines.Target, p.Source.Encode, p.Target.Encode)
}
