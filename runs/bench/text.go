package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/internal/fixtures"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
)

var textRows = []row{
	{"bpe_apply/subword-nmt", "lines_per_s", applying("subword-nmt", "bpe_subword_nmt.py")},
	{"bpe_apply/tokenizers", "lines_per_s", applying("tokenizers", "bpe_tokenizers.py")},
	{"bpe_learn", "s", learning},
	{"tokenize", "lines_per_s", tokenising},
}

// merges of the joint byte-pair encoding of every row.
const merges = 10000

// preparedText is parallel text, with what was learnt of it, as the rows need it.
type preparedText struct {
	folder         string
	source, target []string      // training text, raw
	pair           *bitext.Sides // with joint codes
	tokenizer      string        // the folder of the pair
	tokenised      []string      // files of the tokenised text: source, target
	lines          [2][]string   // of these files
}

// prepared reads the training text of a folder, and learns and tokenises it in another folder.
func prepared(name corpus.PairName, d bitext.TextSettings, key, folder string) (*preparedText, error) {
	text, err := corpus.ReadParallel(name, key)
	if err != nil {
		return nil, err
	}
	p := &preparedText{folder: name.Folder, source: text.Source.Lines, target: text.Target.Lines}
	if p.pair, err = bitext.Learn(d, bitext.InMemory(p.source, p.target), nil); err != nil {
		return nil, err
	}
	p.tokenizer = filepath.Join(folder, "tokenizer")
	if err := p.pair.Save(p.tokenizer); err != nil {
		return nil, err
	}
	for i, side := range []*bitext.Side{p.pair.Source, p.pair.Target} {
		for _, line := range [][]string{p.source, p.target}[i] {
			p.lines[i] = append(p.lines[i], side.Tokenize(line))
		}
		p.tokenised = append(p.tokenised, filepath.Join(folder, "tok."+side.Language))
		if err := os.WriteFile(p.tokenised[i], []byte(strings.Join(p.lines[i], "\n")+"\n"), 0o666); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// codes is the file of the merges.
func (p *preparedText) codes() string {
	return filepath.Join(p.tokenizer, "codes."+p.pair.Source.Language)
}

// multi30k prepares the corpus once for all rows: English to German, lower-cased, normalised, tokenised.
func (b *bench) multi30k() (*preparedText, error) {
	if b.corpus != nil {
		return b.corpus, nil
	}
	folder := filepath.Join(fixtures.Dir(), "multi30k")
	if !isFolder(folder) {
		return nil, fmt.Errorf("Multi30k was not found in %s: set APERTURE_DATA to the folder that holds multi30k",
			folder)
	}
	d := translation.Defaults().Text
	d.Source, d.Target, d.Lowercase, d.Normalize, d.Tokenize, d.Merges = "en", "de", true, true, "2017", merges
	m, err := prepared(corpus.PairName{Folder: folder, Name: "train", Source: "en", Target: "de"}, d, "APERTURE_DATA",
		b.folder)
	b.corpus = m
	return m, err
}

// textRace races work on one thread against a program. lines is what a round works on; 0 counts rounds in seconds.
func (b *bench) textRace(r *race, prepare func(), work func() error, lines int, name, program string,
	config map[string]any) error {
	r.warm = 1
	if lines > 0 {
		r.amount = func(int) float64 { return float64(lines) }
	}
	r.ours = r.here(func() {
		prepare()
		runtime.GC() // what earlier rounds left is not this one's
	}, func(int) error { return work() })
	processors := runtime.GOMAXPROCS(1)
	r.onClose(func() { runtime.GOMAXPROCS(processors) })
	_, err := b.startPeer(r, name, program, config)
	return err
}

// applying segments the tokenised training text of both languages, remembering nothing of earlier rounds.
func applying(name, program string) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		m, err := b.multi30k()
		if err != nil {
			return err
		}
		f, err := os.Open(m.codes())
		if err != nil {
			return err
		}
		defer f.Close()
		codes, err := tokenize.ReadCodes(f, m.codes())
		if err != nil {
			return err
		}
		var bpe *tokenize.BPE
		lines := slices.Concat(m.lines[:]...)
		segmented := make([]string, len(lines))
		prepare := func() {
			bpe, err = tokenize.NewBPE(codes, tokenize.BPEOptions{})
			clear(segmented)
		}
		work := func() error {
			if err != nil {
				return err
			}
			for i, line := range lines {
				segmented[i] = bpe.Line(line)
			}
			return nil
		}
		return b.textRace(r, prepare, work, len(lines), name, program,
			map[string]any{"work": "apply", "text": m.tokenised, "codes": m.codes()})
	}
}

// learning counts the words of the tokenised training text, learns joint codes and formats them.
func learning(b *bench, r *race) error {
	m, err := b.multi30k()
	if err != nil {
		return err
	}
	work := func() error {
		words := &tokenize.WordCounts{}
		for _, lines := range m.lines {
			for _, line := range lines {
				words.AddLine(line)
			}
		}
		codes, _, err := tokenize.Learn(words, tokenize.LearnOptions{Merges: merges})
		if err != nil {
			return err
		}
		return codes.Write(io.Discard)
	}
	return b.textRace(r, func() {}, work, 0, "subword-nmt", "bpe_subword_nmt.py",
		map[string]any{"work": "learn", "text": m.tokenised, "merges": merges})
}

// tokenising splits the raw English training text into words.
func tokenising(b *bench, r *race) error {
	m, err := b.multi30k()
	if err != nil {
		return err
	}
	path := filepath.Join(m.folder, "train.en")
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	work := func() error {
		moses, err := tokenize.NewMoses(tokenize.MosesOptions{Language: "en"})
		if err != nil {
			return err
		}
		out := bufio.NewWriter(io.Discard)
		lines := tokenize.NewLines(bytes.NewReader(raw), path)
		for lines.Next() {
			out.WriteString(moses.Tokenize(lines.Text()))
			out.WriteByte('\n')
		}
		return lines.Err()
	}
	return b.textRace(r, func() {}, work, len(m.source), "Moses tokenizer", "moses_tokenizer.py",
		map[string]any{"text": []string{path}, "language": "en"})
}
