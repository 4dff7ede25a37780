package vectors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
)

// Bytes that are read at once, which a processor's cache holds from the reading to the search for lines.
const pieceBytes = 1 << 20

// A line of the widest vector is shorter than this many bytes.
const longestLine = 4 << 20

// piece is a part of a text: some whole lines, and what was found in them.
type piece struct {
	buffer []byte
	lines  []byte // of buffer, ending at a line feed or with the text
	offset int64  // of lines
	end    error  // of reading

	ready chan struct{} // a signal that it was searched

	count   int       // lines
	read    int       // vectors
	found   []found   // that are not passed, in order
	vectors []float32 // theirs, one after the other
	passed  int       // vectors
	failed  error     // of the line after count
}

// found is a word of a piece with a vector.
type found struct {
	word  string
	fate  fate
	words int // for which an averaged one stands
}

// readPieces reads the lines behind the first. One goroutine reads, several search for lines and read numbers, and
// the caller's hands what was found to the sink in the order of the file.
func (t *textFile) readPieces(in io.Reader, first []byte) error {
	workers := runtime.GOMAXPROCS(0)
	free := make(chan *piece, workers+3)
	for range cap(free) {
		free <- &piece{ready: make(chan struct{}, 1)}
	}
	ordered, work := make(chan *piece, cap(free)), make(chan *piece, cap(free))
	var stop atomic.Bool
	go func() {
		defer close(ordered)
		defer close(work)
		rest, offset := first, t.offset
		for p := range free {
			if stop.Load() {
				return
			}
			p.fill(in, rest, offset)
			offset += int64(len(p.lines))
			rest = p.buffer[len(p.lines):]
			ordered <- p
			work <- p
			if p.end != nil {
				return
			}
		}
	}()
	for range workers {
		go func() {
			for p := range work {
				p.search(t.width, t.to)
				p.ready <- struct{}{}
			}
		}()
	}
	var err error
	for p := range ordered {
		<-p.ready
		if err == nil {
			if err = t.take(p); err != nil {
				stop.Store(true)
			}
		}
		free <- p
	}
	return err
}

// fill reads whole lines behind the rest of the last piece, which is the buffer of another one that is not changed
// meanwhile.
func (p *piece) fill(in io.Reader, rest []byte, offset int64) {
	p.buffer = append(p.buffer[:0], rest...)
	p.offset, p.end = offset, nil
	for {
		from := len(p.buffer)
		if cap(p.buffer) < from+pieceBytes {
			p.buffer = append(make([]byte, 0, 2*from+2*pieceBytes), p.buffer...)
		}
		var err error
		// io.ReadFull would make one of a text's end and of a packing's
		for len(p.buffer) < from+pieceBytes && err == nil {
			var n int
			n, err = in.Read(p.buffer[len(p.buffer) : from+pieceBytes])
			p.buffer = p.buffer[:len(p.buffer)+n]
		}
		if err != nil {
			p.end = err
			p.lines = p.buffer
			return
		}
		if at := bytes.LastIndexByte(p.buffer[from:], '\n'); at >= 0 {
			p.lines = p.buffer[:from+at+1]
			return
		}
		if len(p.buffer) > longestLine {
			p.end = errLongLine
			p.lines = p.buffer
			return
		}
	}
}

var errLongLine = errors.New("a line is longer than any vector")

// search finds the vectors of the lines.
func (p *piece) search(width int, to sink) {
	p.count, p.read, p.found, p.vectors, p.passed, p.failed = 0, 0, p.found[:0], p.vectors[:0], 0, nil
	if p.end != nil && p.end != io.EOF {
		return
	}
	for start := 0; start < len(p.lines); p.count++ {
		line := p.lines[start:]
		at := p.offset + int64(start)
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
			start++
		}
		start += len(line)
		if line = trim(line); len(line) == 0 {
			continue
		}
		word, numbers, ok := split(line, width)
		if !ok {
			p.failed = &raggedError{line: shorten(line)}
			return
		}
		p.read++
		what, words := to.fate(word, at)
		if what == passed {
			p.passed += words
			continue
		}
		from := len(p.vectors)
		p.vectors = append(p.vectors, make([]float32, width)...)
		if bad, field := parse(numbers, p.vectors[from:]); bad > 0 {
			p.failed = fmt.Errorf("number %d of %q is %q, which is no finite number: mend or delete the line", bad,
				shorten(word), shorten(field))
			return
		}
		p.found = append(p.found, found{string(word), what, words})
	}
}

// raggedError is a line with too few or too many numbers.
type raggedError struct{ line string }

func (e *raggedError) Error() string { return fmt.Sprintf("not %q", e.line) }

// take hands what was found in a piece to the sink.
func (t *textFile) take(p *piece) error {
	if p.end != nil && p.end != io.EOF && p.end != errLongLine {
		return fmt.Errorf("%s: %w", t.name, p.end)
	}
	row := make([]float64, t.width)
	for i, f := range p.found {
		vector := p.vectors[i*t.width : (i+1)*t.width]
		if f.fate == kept {
			t.to.keep(f.word, vector)
			continue
		}
		for j, x := range vector {
			row[j] = float64(f.words) * float64(x)
		}
		t.to.outside(1, row)
	}
	if p.passed > 0 {
		t.to.outside(p.passed, nil)
	}
	t.lines += p.count
	t.read += p.read
	var ragged *raggedError
	switch {
	case p.end == errLongLine:
		return t.longLine()
	case errors.As(p.failed, &ragged):
		from := "line " + fmt.Sprint(t.shape) + " has"
		if t.announced >= 0 {
			from = "the first line announces"
		}
		return fmt.Errorf("%s:%d: expected a word and %d numbers, as %s, %w: mend or delete the line", t.name,
			t.lines+1, t.width, from, ragged)
	case p.failed != nil:
		return fmt.Errorf("%s:%d: %w", t.name, t.lines+1, p.failed)
	}
	return nil
}
