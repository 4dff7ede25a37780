package language

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// The files of a run's tokenizer folder: words, or pieces as GPT-2's.
const (
	vocabularyFile = "vocabulary.txt"
	piecesFile     = "vocab.json"
	mergesFile     = "merges.txt"
)

// ReadWords reads the vocabulary of a run folder; where that is empty, there is none (fs.ErrNotExist).
func ReadWords(folder string) (*corpus.Words, error) {
	if folder == "" {
		return nil, fs.ErrNotExist
	}
	folder = filepath.Join(folder, TokenizerFolder)
	words, err := corpus.ReadWords(filepath.Join(folder, vocabularyFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return words, err
	}
	pieces, other := ReadPieces(folder)
	switch {
	case errors.Is(other, fs.ErrNotExist):
		return nil, err
	case other != nil:
		return nil, other
	}
	return corpus.NewPieces(pieces), nil
}

// ReadPieces reads vocab.json and merges.txt in a folder.
func ReadPieces(folder string) (*bytebpe.Tokenizer, error) {
	vocabulary, err := os.Open(filepath.Join(folder, piecesFile))
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	defer vocabulary.Close()
	merges, err := os.Open(filepath.Join(folder, mergesFile))
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	defer merges.Close()
	return bytebpe.Read(vocabulary, vocabulary.Name(), merges, merges.Name())
}

// SaveWords writes the vocabulary into a run folder, in the place of one of the other kind, which a run that did not
// begin may have left.
func SaveWords(w *corpus.Words, folder string) error {
	folder = filepath.Join(folder, TokenizerFolder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	pieces := w.Pieces()
	others := []string{piecesFile, mergesFile}
	if pieces != nil {
		others = []string{vocabularyFile}
	}
	for _, name := range others {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var text, merges bytes.Buffer
	if pieces != nil {
		if err := pieces.Write(&text, &merges); err != nil {
			return err
		}
		// The vocabulary last: where it is, both are.
		if err := files.Write(filepath.Join(folder, mergesFile), merges.Bytes()); err != nil {
			return err
		}
		return files.Write(filepath.Join(folder, piecesFile), text.Bytes())
	}
	if err := w.Write(&text); err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, vocabularyFile), text.Bytes())
}
