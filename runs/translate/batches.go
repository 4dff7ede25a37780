package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
)

// batchLines is how many lines are searched at a time, so that those of similar length share a batch.
const batchLines = 1000

// batchBytes of text end a batch of fewer lines: those that are far too long to translate are not gathered.
const batchBytes = 4 << 20

// pausing is a reader that says when a read has to wait: before every read that asks its source for more.
type pausing struct {
	io.Reader
	before func() error
}

func (p pausing) Read(b []byte) (int, error) {
	if err := p.before(); err != nil {
		return 0, err
	}
	return p.Reader.Read(b)
}

// eachBatch gives the lines of in to f, in order: all that have arrived when the input pauses, so that a line typed
// into a pipe is answered at once and many lines share batches. first counts lines from 0. Lines need not be UTF-8; of
// one with more bytes than the longest, f gets the first longest+1.
func eachBatch(in io.Reader, out *printer, longest int, f func(first int, lines []string) error) error {
	var waiting []string
	first, size := 0, 0
	full := func() bool { return len(waiting) >= batchLines || size >= batchBytes }
	flush := func() error {
		if len(waiting) > 0 {
			lines := waiting
			waiting, size = nil, 0
			if err := f(first, lines); err != nil {
				out.Flush() // what stands before the line that failed
				return err
			}
			first += len(lines)
		}
		return out.Flush()
	}
	// The reader's own buffer holds 64 KiB, about a batch of lines: more input is
	// asked for only when all that came has been read.
	var failed error
	source := pausing{in, func() error {
		if !full() && moreIsReady(in) {
			return nil
		}
		failed = flush()
		return failed
	}}
	unpacked, err := files.Unpack(source)
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	defer unpacked.Close()
	const mark = "\ufeff"
	lines := tokenize.NewLines(unpacked, "standard input").Unchecked().AtMost(longest + len(mark))
	for lines.Next() {
		line := lines.Text()
		if lines.Number() == 1 { // as in the texts of training
			line = strings.TrimPrefix(line, mark)
		}
		line = line[:min(len(line), longest+1)]
		waiting, size = append(waiting, line), size+len(line)
		if full() {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if failed != nil {
		return failed
	}
	if err := lines.Err(); err != nil {
		if flushed := flush(); flushed != nil {
			return flushed
		}
		return err
	}
	return flush()
}
