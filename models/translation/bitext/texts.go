package bitext

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Lines are raw parallel text, a sentence and its translation at each place.
type Lines struct {
	Name           string
	Source, Target []string
	Sums           map[string]string // SHA-256 of each file, where they come from files
}

// Parallel are the lines as text in memory.
func (l Lines) Parallel() corpus.Parallel { return InMemory(l.Source, l.Target) }

// Texts are the corpus of a translator, raw and, after Encode, as ids.
type Texts struct {
	Train corpus.Parallel // stays in its files, where it has some
	Valid Lines
	Tests []Lines
	Sums  map[string]string // SHA-256 of each file
	Cache *corpus.Cache     // keeps what is made of training text that has files; nil keeps nothing

	TrainPairs, ValidPairs corpus.Pairs
	Filtered               corpus.FilterReport       // what Encode left out of the training text
	Stored                 string                    // where the encoded training text is, in a sentence
	heldOut                string                    // what was held out of it, in a sentence, or empty
	read                   map[string][2]corpus.Text // which say where lines stand, by the text's name
	store                  *corpus.Store
}

// SplitSettings are keys of the section data that say what to do without a validation or test text.
type SplitSettings struct {
	HeldOut int `toml:"held_out" default:"0" range:"[0,inf)" help:"training pairs (at most 1 in 20) to set aside for validation, and again for test, where those files are missing; 0 requires the files"`
}

// TextNames say which texts are meant: those of a folder, by their names without language.
type TextNames struct {
	Dir, Train, Valid string
	Tests             []string
	SplitSettings
	corpus.LineSettings
}

// pair is the text of a name.
func (n TextNames) pair(d TextSettings, name string) corpus.PairName {
	return corpus.PairName{Folder: n.Dir, Name: name, Source: d.Source, Target: d.Target, LineSettings: n.LineSettings}
}

// Count counts the pairs of the training text.
func (n TextNames) Count(d TextSettings, cache *corpus.Cache) (int, error) {
	whole, err := cache.OpenParallel(n.pair(d, n.Train), "-train")
	return whole.Source.Len(), err
}

// HoldsOutTest reports whether a part of the training text is to be the test text, which has no files.
func (n TextNames) HoldsOutTest(d TextSettings) bool {
	return len(n.Tests) == 1 && n.holdsOut(d, n.Tests[0], "test")
}

// holdsOut reports whether a part of the training text is to be the text of that name. One with another name than the
// usual was asked for, and is not to be replaced.
func (n TextNames) holdsOut(d TextSettings, name, usual string) bool {
	return n.HeldOut > 0 && name == usual && !n.pair(d, name).Exists()
}

// split finds out which texts there are, and holds out of the training text what stands in for others.
func (n TextNames) split(d TextSettings, cache *corpus.Cache) (train, valid corpus.PairName, tests []corpus.PairName,
	said string, err error) {
	train, valid = n.pair(d, n.Train), n.pair(d, n.Valid)
	for _, name := range n.Tests {
		tests = append(tests, n.pair(d, name))
	}
	noValid, noTest := n.holdsOut(d, n.Valid, "valid"), n.HoldsOutTest(d)
	if !noValid && !noTest {
		return train, valid, tests, "", nil
	}
	total, err := n.Count(d, cache)
	if err != nil {
		return train, valid, tests, "", err
	}
	training, validation, testing := corpus.HoldOut(total, n.HeldOut, noValid, noTest)
	train.Portion = training
	use := "validation text"
	if noValid {
		valid.Name, valid.Portion = n.Train, validation
	}
	if noTest {
		tests[0].Name, tests[0].Portion = n.Train, testing
		if use = "test text"; noValid {
			use = "validation text, and another as test text"
		}
	}
	said = fmt.Sprintf("one in %d of the %d pairs of %s, spread evenly, is held out as %s (data.held_out)",
		validation.Every(), total, n.Train, use)
	return train, valid, tests, said, nil
}

// ReadFiles reads the texts DIR/NAME.LANGUAGE, or what stands for them (see [corpus.PairName]). That for training stays
// in its files.
func ReadFiles(d TextSettings, names TextNames, cache *corpus.Cache) (*Texts, error) {
	train, valid, tests, said, err := names.split(d, cache)
	t := &Texts{Sums: map[string]string{}, Cache: cache, heldOut: said, read: map[string][2]corpus.Text{}}
	read := func(name, flag string, at corpus.PairName,
		open func(at corpus.PairName, flag string) (corpus.Parallel, error)) (p corpus.Parallel) {
		if err == nil {
			p, err = open(at, flag)
			maps.Copy(t.Sums, sums(d, name, p))
			t.read[name] = [2]corpus.Text{p.Source, p.Target}
		}
		return p
	}
	open := cache.OpenParallel
	if d.TrainPairs > 0 {
		open = corpus.ReadParallel
	}
	t.Train = read(names.Train, "-train", train, open)
	if err == nil {
		t.Train, err = t.Train.Some(d.TrainPairs, "data.train_pairs")
	}
	t.Valid = linesOf(d, names.Valid, read(names.Valid, "-valid", valid, corpus.ReadParallel))
	for i, name := range names.Tests {
		t.Tests = append(t.Tests, linesOf(d, name, read(name, "-test", tests[i], corpus.ReadParallel)))
	}
	return t, err
}

// place is where a line of a text stands, for errors; side is 0 for the source.
func (t *Texts) place(name string, side, line int, language string) string {
	if text := t.read[name][side]; text.Path != "" {
		return fmt.Sprintf("%s:%d", text.Path, text.Number(line))
	}
	return fmt.Sprintf("%s.%s:%d", name, language, line)
}

// ReadLines reads one of the texts that are not for training; flag is named in errors that it can mend.
func ReadLines(d TextSettings, names TextNames, name, flag string, cache *corpus.Cache) (Lines, error) {
	_, valid, tests, _, err := names.split(d, cache)
	if err != nil {
		return Lines{}, err
	}
	at := names.pair(d, name)
	if name == names.Valid {
		at = valid
	} else if i := slices.Index(names.Tests, name); i >= 0 {
		at = tests[i]
	}
	p, err := corpus.ReadParallel(at, flag)
	return linesOf(d, name, p), err
}

func linesOf(d TextSettings, name string, p corpus.Parallel) Lines {
	return Lines{Name: name, Source: p.Source.Lines, Target: p.Target.Lines, Sums: sums(d, name, p)}
}

// sums are the SHA-256 of a text's two files, by the file's name.
func sums(d TextSettings, name string, p corpus.Parallel) map[string]string {
	return map[string]string{name + "." + d.Source: p.Source.SHA256, name + "." + d.Target: p.Target.SHA256}
}

// About says in sentences where the texts come from.
func (t *Texts) About() []string {
	said := []string{t.Stored}
	if t.heldOut != "" {
		said = append(said, t.heldOut)
	}
	return said
}

// Encode turns the texts for training and validation into ids. Training pairs outside the limits, and those longer than
// the network's positions, are left out; a line of another text that is longer is an error, since what is translated
// for a score is not left out of it.
func (t *Texts) Encode(p *Sides, limits corpus.Limits, positions int) error {
	for _, lines := range append([]Lines{t.Valid}, t.Tests...) {
		for _, pair := range p.encode(lines) {
			n, side, language := len(pair.Source), 0, p.Source.Language
			if len(pair.Target) > n {
				n, side, language = len(pair.Target), 1, p.Target.Language
			}
			if n >= positions {
				return fmt.Errorf("%s: this line of the text %s has %d symbols with its end, more than "+
					"model.max_positions (%d): raise that, or shorten the line", t.place(lines.Name, side, pair.Line, language),
					lines.Name, n+1, positions)
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
	for i := range t.Filtered.Longest {
		dropped := &t.Filtered.Longest[i]
		dropped.Line = t.Train.Source.Number(dropped.Line)
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
func (p *Sides) TestPairs(lines Lines) (corpus.Pairs, error) {
	pairs, _, err := corpus.Filter(p.encode(lines), corpus.Limits{})
	if err != nil {
		return nil, fmt.Errorf("test text %s: %w", lines.Name, err)
	}
	return pairs, nil
}

func (p *Sides) encode(lines Lines) corpus.List {
	return corpus.Encode(lines.Source, lines.Target, p.Source.Encode, p.Target.Encode)
}
