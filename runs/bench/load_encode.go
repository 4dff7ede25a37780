package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// slicePairs are the pairs of the artificial text that a peer encodes in a round.
const slicePairs = 20_000

// slice is text for the peers of encoding: files of raw and of tokenised text, and what was learnt of it.
type slice struct {
	folder             string // train.en, train.de, tok.en, tok.de
	pair               *bitext.Pair
	tokenised          corpus.Parallel
	codes              string
	sourceVoc, targetV string
}

func (b *bench) slice() (*slice, error) {
	s := &slice{folder: filepath.Join(b.folder, "slice")}
	if err := os.MkdirAll(s.folder, 0o777); err != nil {
		return nil, err
	}
	if err := writeLoadText(s.folder, slicePairs); err != nil {
		return nil, err
	}
	text, err := corpus.ReadParallel(loadPairs(s.folder), "-what")
	if err != nil {
		return nil, err
	}
	d := loadSettings().Text
	d.Merges = merges
	if s.pair, err = bitext.Learn(d, text.Source.Lines, text.Target.Lines); err != nil {
		return nil, err
	}
	saved := filepath.Join(s.folder, "tokenizer")
	if err := s.pair.Save(saved); err != nil {
		return nil, err
	}
	s.codes, s.sourceVoc, s.targetV = filepath.Join(saved, "codes."+loadSource), filepath.Join(saved, "vocabulary."+loadSource), filepath.Join(saved, "vocabulary."+loadTarget)
	for _, side := range []struct {
		*bitext.Side
		raw []string
		to  *corpus.Text
	}{{s.pair.Source, text.Source.Lines, &s.tokenised.Source}, {s.pair.Target, text.Target.Lines, &s.tokenised.Target}} {
		for _, line := range side.raw {
			side.to.Lines = append(side.to.Lines, side.Tokenize(line))
		}
		path := filepath.Join(s.folder, "tok."+side.Language)
		if err := os.WriteFile(path, []byte(strings.Join(side.to.Lines, "\n")+"\n"), 0o666); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// encoding makes the store of raw text in files, from nothing, on one thread; the peer runs the Moses tokenizer, subword-nmt and a plain
// binariser one after the other.
func (b *bench) encoding() (*race, error) {
	s, err := b.slice()
	if err != nil {
		return nil, err
	}
	store := filepath.Join(s.folder, "store")
	work := func() error {
		texts, err := begin(s.folder, store)
		if err != nil {
			return err
		}
		defer texts.Close()
		if err := texts.Encode(s.pair, corpus.Limits{}, positions); err != nil {
			return err
		}
		if !strings.Contains(texts.Stored, "made in") {
			return fmt.Errorf("the text was not encoded anew: %s", texts.Stored)
		}
		return nil
	}
	r, err := b.textRace(func() { os.RemoveAll(store) }, work, slicePairs, "Moses tokenizer and subword-nmt", "encode_text.py", map[string]any{
		"folder": s.folder, "languages": []string{loadSource, loadTarget}, "codes": s.codes, "vocabularies": []string{s.sourceVoc, s.targetV},
	})
	if err == nil {
		r.config = fmt.Sprintf("%d pairs, raw files to files of ids, one thread", slicePairs)
		b.tellTimed(r, "load/encode")
	}
	return r, err
}

// encodingWords makes ids of tokenised lines, which is all that the tokenizers package does of the work with the same merges.
func (b *bench) encodingWords() (*race, error) {
	s, err := b.slice()
	if err != nil {
		return nil, err
	}
	d := loadSettings().Text
	d.Tokenize, d.Codes, d.SourceVocabulary, d.TargetVocabulary = "none", s.codes, s.sourceVoc, s.targetV
	pair, err := bitext.Learn(d, s.tokenised.Source.Lines, s.tokenised.Target.Lines)
	if err != nil {
		return nil, err
	}
	work := func() error {
		texts := &bitext.Texts{Train: s.tokenised, Valid: bitext.Lines{Name: "valid", Source: []string{"a"}, Target: []string{"b"}}}
		return texts.Encode(pair, corpus.Limits{}, positions)
	}
	r, err := b.textRace(nil, work, 2*slicePairs, "tokenizers", "bpe_tokenizers.py", map[string]any{
		"work": "ids", "text": []string{filepath.Join(s.folder, "tok."+loadSource), filepath.Join(s.folder, "tok."+loadTarget)}, "codes": s.codes,
	})
	if err == nil {
		r.config = fmt.Sprintf("%d tokenised lines in memory to ids in memory, one thread", 2*slicePairs)
	}
	return r, err
}
