package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/internal/testdata"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// merges of the joint byte-pair encoding of every row.
const merges = 10000

// multi30k is the corpus as the rows need it, English to German.
type multi30k struct {
	folder      string
	english     []string // training text, raw
	german      []string
	pair        *bitext.Pair // lower-cased, normalised, tokenised, joint codes
	codes       string       // file
	tokenised   []string     // files: German, English
	description bitext.TextSettings
}

// multi30k reads and prepares the corpus once for all rows.
func (b *bench) multi30k() (*multi30k, error) {
	if b.text != nil {
		return b.text, nil
	}
	m := &multi30k{folder: filepath.Join(testdata.Dir(), "multi30k")}
	text, err := corpus.ReadParallel(corpus.PairName{Folder: m.folder, Name: "train", Source: "en", Target: "de"}, "APERTURE_DATA")
	if err != nil {
		if _, missing := os.Stat(m.folder); missing != nil {
			return nil, fmt.Errorf("Multi30k was not found in %s: set APERTURE_DATA to the folder that holds multi30k", m.folder)
		}
		return nil, err
	}
	m.english, m.german = text.Source.Lines, text.Target.Lines
	d := translation.Defaults().Text
	d.Source, d.Target, d.Lowercase, d.Normalize, d.Tokenize, d.Merges = "en", "de", true, true, "2017", merges
	m.description = d
	if m.pair, err = bitext.Learn(d, m.english, m.german); err != nil {
		return nil, err
	}
	folder := filepath.Join(b.folder, "tokenizer")
	if err := m.pair.Save(folder); err != nil {
		return nil, err
	}
	m.codes = filepath.Join(folder, "codes.en")
	for _, side := range []struct {
		*bitext.Side
		lines []string
	}{{m.pair.Target, m.german}, {m.pair.Source, m.english}} {
		var all strings.Builder
		for _, line := range side.lines {
			all.WriteString(side.Tokenize(line) + "\n")
		}
		path := filepath.Join(b.folder, "train.tok."+side.Language)
		if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
			return nil, err
		}
		m.tokenised = append(m.tokenised, path)
	}
	b.text = m
	return m, nil
}

// raw is the path of a file of the corpus.
func (m *multi30k) raw(name string) string { return filepath.Join(m.folder, name) }
