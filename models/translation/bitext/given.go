package bitext

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
)

// Given is one side's text path as another program has it. Codes and SentencePiece are nil where it has none.
type Given struct {
	Tokens        []string // the vocabulary in the order of ids, the four special ones first
	Codes         []byte   // of byte-pair encoding
	SentencePiece []byte   // a model
}

// SaveGiven writes a tokenizer folder of what is given instead of learnt, for OpenSides, which checks it.
func SaveGiven(d TextSettings, source, target Given, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, side := range []struct {
		language string
		Given
	}{{d.Source, source}, {d.Target, target}} {
		var rows bytes.Buffer
		for _, token := range side.Tokens[tokenize.Unk+1:] {
			fmt.Fprintln(&rows, token, 0)
		}
		for name, data := range map[string][]byte{
			vocabularyFile: rows.Bytes(), codesFile: side.Codes, piecesFile: side.SentencePiece,
		} {
			if data == nil {
				continue
			}
			if err := files.Write(filepath.Join(folder, name+side.language), data); err != nil {
				return err
			}
		}
	}
	return nil
}
