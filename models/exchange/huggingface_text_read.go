package exchange

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/spm"
)

// readMarianText reads MarianTokenizer's files: two models of SentencePiece, and one vocabulary or two.
func (d *directory) readMarianText(m *Model, t faceTokenizer) (source, target map[string]int, err error) {
	if t.Class == "FSMTTokenizer" || !d.has("source.spm") && d.has("merges.txt") { // as runs/export writes it
		return d.readFSMTText(m, t)
	}
	if err := d.readPieces(m, "source.spm", "target.spm"); err != nil {
		return nil, nil, err
	}
	if err := d.readJSON("vocab.json", &source, false); err != nil {
		return nil, nil, err
	}
	target = source
	if d.has("target_vocab.json") {
		target = nil
		err = d.readJSON("target_vocab.json", &target, false)
	}
	return source, target, err
}

// readPieces reads two models of SentencePiece, which split raw text.
func (d *directory) readPieces(m *Model, names ...string) (err error) {
	m.Text.SourceUnits, m.Text.TargetUnits, m.Text.Tokenize = "sentencepiece", "sentencepiece", "none"
	for i, name := range names {
		if m.SentencePiece[i], err = d.read(name, largestText); err != nil {
			return err
		}
		if _, err := spm.Read(bytes.NewReader(m.SentencePiece[i]), d.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// readFSMTText reads the files of FSMT's tokenizer: Moses as sacremoses has it, and byte-pair codes.
func (d *directory) readFSMTText(m *Model, t faceTokenizer) (source, target map[string]int, err error) {
	if !d.has("merges.txt") {
		return nil, nil, refuse("%s has no tokenizer that is supported: Marian's (source.spm, target.spm, vocab.json) "+
			"and FSMT's (vocab-src.json, vocab-tgt.json, merges.txt) are", d.where)
	}
	merges, err := d.read("merges.txt", largestText)
	if err != nil {
		return nil, nil, err
	}
	codes := []byte("#version: 0.2\n")
	count := 0
	for line := range bytes.Lines(merges) {
		fields := bytes.Fields(line) // a count may stand behind the merge
		if len(fields) < 2 {
			return nil, nil, fmt.Errorf("%s:%d: a merge has two pieces", d.path("merges.txt"), count+1)
		}
		codes = append(append(append(append(codes, fields[0]...), ' '), fields[1]...), '\n')
		count++
	}
	if _, err := tokenize.ReadCodes(bytes.NewReader(codes), d.path("merges.txt")); err != nil {
		return nil, nil, err
	}
	m.Codes = codes
	text := &m.Text
	text.Normalize, text.Aggressive, text.Escape, text.Lowercase = true, true, true, t.Lowercase
	text.Tokenize, text.SourceUnits, text.TargetUnits, text.Merges = "2017", "bpe", "bpe", max(1, count)
	read := func(name string) (ids map[string]int, words bool) {
		var spelled map[string]int
		if err == nil {
			err = d.readJSON(name, &spelled, false)
		}
		ids, words = make(map[string]int, len(spelled)), true
		for piece, id := range spelled {
			token, ends := strings.CutSuffix(piece, "</w>")
			if !ends && (id > tokenize.Unk || !strings.HasPrefix(piece, "<")) {
				token, words = piece+tokenize.DefaultSeparator, false
			}
			ids[token] = id
		}
		if err == nil && len(ids) != len(spelled) {
			err = fmt.Errorf("%s spells two pieces alike", d.path(name))
		}
		return ids, words
	}
	source, _ = read("vocab-src.json")
	target, words := read("vocab-tgt.json")
	if words {
		text.TargetUnits = "word"
	}
	return source, target, err
}
