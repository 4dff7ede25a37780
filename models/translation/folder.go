package translation

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// The files of a tokenizer folder, each with the language's code behind a dot:
// Moses's truecasing model where there is one, codes of byte-pair encoding, fairseq
// vocabularies, and, behind a vocabulary threshold, the counts of units. lexicon.go names
// the file of the lexicon.
const (
	truecaseFile   = "truecase."
	codesFile      = "codes."
	vocabularyFile = "vocabulary."
	unitsFile      = "units."
)

// Save writes what was learnt into a run's tokenizer folder.
func (p *Pair) Save(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, s := range []*Side{p.Source, p.Target} {
		write := func(name string, f func(io.Writer) error) error {
			var b bytes.Buffer
			if err := f(&b); err != nil {
				return err
			}
			return files.Write(filepath.Join(folder, name+s.Language), b.Bytes())
		}
		if s.truecaser != nil {
			if err := write(truecaseFile, func(w io.Writer) error { _, err := s.truecaser.WriteTo(w); return err }); err != nil {
				return err
			}
		}
		if s.codes != nil {
			if err := write(codesFile, s.codes.Write); err != nil {
				return err
			}
		}
		if s.units != nil {
			if err := write(unitsFile, s.units.Write); err != nil {
				return err
			}
		}
		if err := write(vocabularyFile, s.Vocabulary.Write); err != nil {
			return err
		}
	}
	if p.Lexicon != nil {
		return p.saveLexicon(folder)
	}
	return nil
}

// OpenPair reads what Save wrote.
func OpenPair(d TextSettings, folder string) (*Pair, error) {
	p, err := newPair(d)
	if err != nil {
		return nil, err
	}
	for _, s := range []*Side{p.Source, p.Target} {
		path := func(name string) string { return filepath.Join(folder, name+s.Language) }
		if s.Vocabulary, err = readFile(path(vocabularyFile), "the run folder", tokenize.ReadVocabulary); err != nil {
			return nil, err
		}
		if d.Truecase {
			if s.truecaser, err = readFile(path(truecaseFile), "the run folder", tokenize.ReadTruecaser); err != nil {
				return nil, err
			}
		}
		if !p.splits(d, s) {
			continue
		}
		if s.codes, err = readFile(path(codesFile), "the run folder", tokenize.ReadCodes); err != nil {
			return nil, err
		}
		if d.VocabularyThreshold > 0 {
			if s.units, err = readFile(path(unitsFile), "the run folder", readUnits); err != nil {
				return nil, err
			}
		}
		if err := s.prepare(d.VocabularyThreshold); err != nil {
			return nil, err
		}
	}
	if p.joint {
		p.Target.Vocabulary = p.Source.Vocabulary
	}
	if d.Lexicon {
		p.Lexicon, err = readFile(p.lexiconPath(folder), "the run folder", align.ReadLexicon)
	}
	return p, err
}

func readUnits(r io.Reader, name string) (*tokenize.WordCounts, error) {
	units := &tokenize.WordCounts{}
	lines := tokenize.NewLines(r, name)
	for lines.Next() {
		unit, count, found := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(count)
		if !found || err != nil {
			return nil, fmt.Errorf("%w: a line is a unit, a space and its count", lines.Errorf("%q", lines.Text()))
		}
		units.Add(unit, n)
	}
	return units, lines.Err()
}
