package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

var textRows = []row{
	{"bpe_apply/subword-nmt", "lines_per_s", func(b *bench) (*race, error) {
		return b.applying("subword-nmt", "bpe_subword_nmt.py")
	}},
	{"bpe_apply/tokenizers", "lines_per_s", func(b *bench) (*race, error) {
		return b.applying("tokenizers", "bpe_tokenizers.py")
	}},
	{"bpe_learn", "s", (*bench).learning},
	{"tokenize", "lines_per_s", (*bench).tokenising},
}

// textRace is a race on one thread whose one piece is work over that many lines,
// or, for 0, is counted in seconds.
func (b *bench) textRace(prepare func(), work func() error, lines int, name, program string, request map[string]any) (*race, error) {
	r := &race{pieces: 1, warm: 1}
	if lines > 0 {
		r.amount = func(int) float64 { return float64(lines) }
	}
	r.ours = here{
		prepare: func() {
			if prepare != nil {
				prepare()
			}
			runtime.GC() // what earlier rounds left is not this one's
		},
		work: func(int) error { return work() },
	}
	processors := runtime.GOMAXPROCS(1)
	r.onClose(func() { runtime.GOMAXPROCS(processors) })
	peer, err := b.startLinePeer(r, name, program, request)
	if err != nil {
		r.close()
		return nil, err
	}
	r.peer = peer
	return r, nil
}

// applying segments the tokenised training text of both languages, remembering
// nothing of earlier rounds.
func (b *bench) applying(name, program string) (*race, error) {
	m, err := b.multi30k()
	if err != nil {
		return nil, err
	}
	codes, err := m.readCodes()
	if err != nil {
		return nil, err
	}
	lines, err := m.tokenisedLines()
	if err != nil {
		return nil, err
	}
	var bpe *tokenize.BPE
	var segmented []string
	prepare := func() {
		bpe, err = tokenize.NewBPE(codes, tokenize.BPEOptions{})
		segmented = make([]string, len(lines))
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
	return b.textRace(prepare, work, len(lines), name, program, map[string]any{"work": "apply", "text": m.tokenised, "codes": m.codes})
}

// learning counts the words of the tokenised training text, learns joint codes
// and formats them.
func (b *bench) learning() (*race, error) {
	m, err := b.multi30k()
	if err != nil {
		return nil, err
	}
	lines, err := m.tokenisedLines()
	if err != nil {
		return nil, err
	}
	work := func() error {
		words := &tokenize.WordCounts{}
		for _, line := range lines {
			words.AddLine(line)
		}
		codes, _, err := tokenize.Learn(words, tokenize.LearnOptions{Merges: merges})
		if err != nil {
			return err
		}
		return codes.Write(io.Discard)
	}
	return b.textRace(nil, work, 0, "subword-nmt", "bpe_subword_nmt.py", map[string]any{"work": "learn", "text": m.tokenised, "merges": merges})
}

// tokenising splits the raw English training text into words.
func (b *bench) tokenising() (*race, error) {
	m, err := b.multi30k()
	if err != nil {
		return nil, err
	}
	path := m.raw("train.en")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
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
		if err := out.Flush(); err != nil {
			return err
		}
		return lines.Err()
	}
	r, err := b.textRace(nil, work, len(m.english), "Moses tokenizer", "moses_tokenizer.py", map[string]any{"text": []string{path}, "language": "en"})
	if err != nil {
		return nil, err
	}
	b.tellTimed(r, "tokenize")
	return r, nil
}

// tellTimed has a peer's last words say in the end which of two programs stands behind a row's number.
func (b *bench) tellTimed(r *race, row string) {
	peer := r.peer.(linePeer)
	r.onClose(func() {
		if said := peer.lastWords(); strings.HasPrefix(said, "timing ") {
			fmt.Fprintf(b.log, "%s: %s\n", row, said)
		}
	})
}

func (m *multi30k) readCodes() (*tokenize.Codes, error) {
	f, err := os.Open(m.codes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return tokenize.ReadCodes(f, m.codes)
}

// tokenisedLines are those of both languages.
func (m *multi30k) tokenisedLines() ([]string, error) {
	var all []string
	for _, path := range m.tokenised {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
	return all, nil
}
