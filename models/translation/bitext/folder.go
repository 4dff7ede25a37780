package bitext

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/align"
)

// The files of a tokenizer folder, each with the language's code behind a dot:
// Moses's truecasing model where there is one, codes of byte-pair encoding or a model of
// SentencePiece, fairseq vocabularies, and, behind a vocabulary threshold, the counts of
// units. lexicon.go names the file of the lexicon.
const (
	truecaseFile   = "truecase."
	codesFile      = "codes."
	vocabularyFile = "vocabulary."
	unitsFile      = "units."
	piecesFile     = "sentencepiece."
)

// Save writes what was learnt into a run's tokenizer folder.
func (p *Sides) Save(folder string) error {
	contents, err := p.files()
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	for name, data := range contents {
		if err == nil {
			err = files.Write(filepath.Join(folder, name), data)
		}
	}
	return err
}

// files are what a tokenizer folder holds, by name.
func (p *Sides) files() (map[string][]byte, error) {
	contents := map[string][]byte{}
	var err error
	write := func(name string, f func(io.Writer) error) {
		var b bytes.Buffer
		if err == nil {
			err = f(&b)
		}
		contents[name] = b.Bytes()
	}
	for _, s := range []*Side{p.Source, p.Target} {
		if s.truecaser != nil {
			write(truecaseFile+s.Language, func(w io.Writer) error { _, err := s.truecaser.WriteTo(w); return err })
		}
		if s.codes != nil {
			write(codesFile+s.Language, s.codes.Write)
		}
		if s.pieces != nil {
			contents[piecesFile+s.Language] = s.pieces.file
		}
		if s.units != nil {
			write(unitsFile+s.Language, s.units.Write)
		}
		write(vocabularyFile+s.Language, s.Vocabulary.Write)
	}
	if p.Lexicon != nil {
		write(p.lexiconFile(), p.Lexicon.Write)
	}
	return contents, err
}

// OpenSides reads what Save wrote.
func OpenSides(d TextSettings, folder string) (*Sides, error) {
	return openSides(d, os.DirFS(folder), folder)
}

// openSides reads what a tokenizer folder holds; errors say where that is.
func openSides(d TextSettings, from fs.FS, where string) (*Sides, error) {
	p, err := newSides(d)
	if err != nil {
		return nil, err
	}
	for _, s := range []*Side{p.Source, p.Target} {
		if s.Vocabulary, err = readSaved(from, where, vocabularyFile+s.Language, tokenize.ReadVocabulary); err != nil {
			return nil, err
		}
		if d.Truecase {
			if s.truecaser, err = readSaved(from, where, truecaseFile+s.Language, tokenize.ReadTruecaser); err != nil {
				return nil, err
			}
		}
		if d.SentencePiece() {
			if s.pieces, err = readSaved(from, where, piecesFile+s.Language, readPieces); err != nil {
				return nil, err
			}
		}
		if !p.splits(d, s) {
			continue
		}
		if s.codes, err = readSaved(from, where, codesFile+s.Language, tokenize.ReadCodes); err != nil {
			return nil, err
		}
		if d.VocabularyThreshold > 0 {
			if s.units, err = readSaved(from, where, unitsFile+s.Language, readUnits); err != nil {
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
		p.Lexicon, err = readSaved(from, where, p.lexiconFile(), align.ReadLexicon)
	}
	return p, err
}

func readSaved[T any](from fs.FS, where, name string, read func(io.Reader, string) (T, error)) (T, error) {
	path := filepath.Join(where, name)
	f, err := from.Open(name)
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w: correct the run folder", path, err)
	}
	defer f.Close()
	return read(f, path)
}

func readUnits(r io.Reader, name string) (*tokenize.WordCounts, error) {
	units := &tokenize.WordCounts{}
	lines := tokenize.NewLines(r, name).Table()
	for lines.Next() {
		unit, count, found := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(count)
		if !found || err != nil {
			return nil, fmt.Errorf("%w: a line is a unit, a space and its count", lines.Errorf("%.80q", lines.Text()))
		}
		units.Add(unit, n)
	}
	return units, lines.Err()
}
