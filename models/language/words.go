package language

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// vocabularyFile stands in a run's tokenizer folder.
const vocabularyFile = "vocabulary.txt"

// ReadWords reads the vocabulary of a run folder; where that is empty, there is none (fs.ErrNotExist).
func ReadWords(folder string) (*corpus.Words, error) {
	if folder == "" {
		return nil, fs.ErrNotExist
	}
	return corpus.ReadWords(filepath.Join(folder, TokenizerFolder, vocabularyFile))
}

// SaveWords writes the vocabulary into a run folder.
func SaveWords(w *corpus.Words, folder string) error {
	folder = filepath.Join(folder, TokenizerFolder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, vocabularyFile), text.Bytes())
}
