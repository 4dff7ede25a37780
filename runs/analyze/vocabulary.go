package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aperture-ml/aperture/torch"
)

// nameRows takes what rows stand for from a vocabulary file; where names the matrix. With only, rows that have no word
// are left out.
func (s *subject) nameRows(path, where string, only bool) error {
	words, err := readVocabulary(path)
	if err != nil {
		return err
	}
	rows := int(s.w.Size(0))
	if len(words) > rows {
		return fmt.Errorf("%s names row %d (%q), and %s has %d rows: it is the vocabulary of another matrix, or "+
			"that has its words in columns", path, len(words)-1, words[len(words)-1], where, rows)
	}
	var named []int64
	for i, word := range words {
		if word != "" {
			named = append(named, int64(i))
		}
	}
	if len(named) == 0 {
		return fmt.Errorf("%s names no row", path)
	}
	if len(named) == rows {
		s.word = func(row int) string { return words[row] }
		return nil
	}
	if !only {
		return fmt.Errorf("%s names %d of the %d rows of %s: where the others only fill the matrix up, leave them "+
			"out with -named-only", path, len(named), rows, where)
	}
	s.replace(s.w.IndexSelect(0, torch.FromInt64s(named, torch.CPU, int64(len(named)))))
	s.word = func(row int) string { return words[named[row]] }
	return nil
}

// readVocabulary reads the words of rows: a line each, or of a .json file an object that maps each word to its row.
// Rows without a word have the empty one.
func readVocabulary(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".json") {
		words, err := wordsOfJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return words, nil
	}
	lines := strings.Split(strings.TrimSuffix(string(bytes.TrimPrefix(text, []byte("\ufeff"))), "\n"), "\n")
	seen := map[string]int{}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
		if first, twice := seen[lines[i]]; twice {
			return nil, fmt.Errorf("%s:%d: %q stands on line %d already: a vocabulary has each word once, a line a "+
				"word", path, i+1, lines[i], first)
		}
		if lines[i] == "" {
			return nil, fmt.Errorf("%s:%d: the line is empty: a vocabulary has a word on each line, in the order of "+
				"the rows", path, i+1)
		}
		seen[lines[i]] = i + 1
	}
	return lines, nil
}

// wordsOfJSON reads {"word": row, ...}. It goes through the text itself, for a map would take the last of two equal
// words.
func wordsOfJSON(text []byte) (words []string, err error) {
	const wanted = `a vocabulary is an object of rows by word, as in {"the": 0, "of": 1}`
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("it is no JSON object: %s", wanted)
	}
	seen := map[string]bool{}
	for in.More() {
		key, err := in.Token()
		value, wrong := in.Token()
		if err = cmp.Or(err, wrong); err != nil {
			return nil, broken(in, err)
		}
		word, _ := key.(string)
		number, _ := value.(json.Number)
		row, err := number.Int64()
		const most = 1 << 24 // more words than any vocabulary has
		switch {
		case err != nil:
			if value == nil {
				value = "null"
			}
			return nil, fmt.Errorf("the row of %q is %v, which is no whole number: %s", word, value, wanted)
		case row < 0:
			return nil, fmt.Errorf("the row of %q is %d: rows are numbered from 0", word, row)
		case row > most:
			return nil, fmt.Errorf("the row of %q is %d: no matrix has that row", word, row)
		case seen[word]:
			return nil, fmt.Errorf("it has the word %q twice", word)
		case int(row) < len(words) && words[row] != "":
			return nil, fmt.Errorf("%q and %q have the same row, %d", words[row], word, row)
		}
		if seen[word] = true; word == "" {
			word = "<empty>" // which a byte-level vocabulary may have
		}
		for int(row) >= len(words) {
			words = append(words, "")
		}
		words[row] = word
	}
	if _, err := in.Token(); err != nil {
		return nil, broken(in, err)
	}
	return words, nil
}

func broken(in *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it is cut off at byte %d: get it again", in.InputOffset())
	}
	return fmt.Errorf("byte %d: %w", in.InputOffset(), err)
}
