package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/score"
)

// score reads both sides and prints the results.
func (r request) score(in io.Reader, out, errw io.Writer) error {
	hyps, refs, err := r.read(in)
	if err != nil {
		return err
	}
	if r.Training != "" {
		return r.byFrequency(hyps, refs, out)
	}
	if r.wantsBLEU() && r.Tokenizer != string(score.TokNone) && looksTokenised(hyps) {
		fmt.Fprintln(errw, `score: 100 lines or more end in " .": BLEU expects detokenised text; `+
			`use -multi-bleu or -tok none for tokenised text`)
	}
	if r.Baseline != "" {
		return r.compareWith(hyps, refs, out, errw)
	}
	var objects, lines []string
	var failure error
	if r.MultiBLEU {
		result, err := score.MultiBLEU(hyps, refs, r.Lowercase)
		if err != nil {
			return err
		}
		if result.RefLen == 0 {
			failure = errors.New("the references hold no words: BLEU is undefined, and 0 stands for it")
		}
		objects = append(objects, result.JSON())
		lines = append(lines, result.Format())
	}
	var scored []string
	for _, metric := range r.metrics {
		result, err := metric.Corpus(hyps, refs)
		if err != nil {
			return err
		}
		objects = append(objects, result.JSON(1))
		scored = append(scored, result.Format(1))
	}
	lines = append(lines, align(scored)...)
	switch {
	case !r.JSON:
		_, err = fmt.Fprintln(out, strings.Join(lines, "\n"))
	case len(objects) == 1:
		_, err = fmt.Fprintln(out, objects[0])
	default:
		_, err = fmt.Fprintf(out, "[\n%s\n]\n", strings.Join(objects, ",\n"))
	}
	return errors.Join(err, failure)
}

const standardInput = "standard input"

// read returns hypotheses and streams of references, of equal length. A wrong name of a reference shows before input is
// read.
func (r request) read(in io.Reader) (hyps []string, refs [][]string, err error) {
	for _, name := range r.References {
		ref, err := r.readFile(name, "references")
		if err != nil {
			return nil, nil, err
		}
		refs = append(refs, ref)
	}
	unpacked, err := files.Unpack(in)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read %s: %w", standardInput, err)
	}
	defer unpacked.Close()
	if hyps, err = r.lines(unpacked, standardInput); err != nil {
		return nil, nil, err
	}
	for k, ref := range refs {
		if len(ref) != len(hyps) {
			return nil, nil, fmt.Errorf("%s has %d lines of hypotheses but %s has %d lines of references: each "+
				"hypothesis needs its reference on the same line", standardInput, len(hyps), r.References[k], len(ref))
		}
	}
	if len(hyps) == 0 {
		return nil, nil, fmt.Errorf("%s is empty: there is nothing to score", standardInput)
	}
	return hyps, refs, nil
}

// readFile reads the lines of a file, or FILE.gz or FILE.zst, unpacked; errors say what they are.
func (r request) readFile(name, what string) ([]string, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the %s: %w", what, err)
	}
	defer file.Close()
	return r.lines(file, name)
}

// lines reads lines, and prepares them as the flags say. Only multi-bleu, which reads bytes, takes text that is not
// UTF-8.
func (r request) lines(in io.Reader, name string) (lines []string, err error) {
	for from := files.NewLineReader(in, files.MaxLine); ; {
		raw, err := from.Next()
		switch {
		case errors.Is(err, files.ErrLongLine):
			return nil, files.LongLine(name, len(lines)+1, files.MaxLine, "break it up, a sentence a line")
		case err != nil:
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		case len(raw) == 0:
			return lines, nil
		}
		line := string(bytes.TrimSuffix(raw, []byte("\n")))
		if (len(r.metrics) > 0 || r.moses != nil) && !utf8.ValidString(line) {
			return nil, fmt.Errorf("%s, line %d is not valid UTF-8: convert the file first", name, len(lines)+1)
		}
		if r.moses != nil {
			line = r.moses.Tokenize(line)
		}
		if r.Compounds {
			line = tokenize.SplitCompounds(line)
		}
		lines = append(lines, line)
	}
}

// looksTokenised applies sacreBLEU's rule of thumb.
func looksTokenised(hyps []string) bool {
	n := 0
	for _, hyp := range hyps {
		if strings.HasSuffix(strings.TrimRight(hyp, "\r"), " .") {
			n++
		}
	}
	return n >= 100
}

// align puts the first equals signs below each other, as sacreBLEU does.
func align(lines []string) []string {
	width := 0
	for _, line := range lines {
		width = max(width, strings.Index(line, " ="))
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.Repeat(" ", width-strings.Index(line, " =")) + line
	}
	return out
}
