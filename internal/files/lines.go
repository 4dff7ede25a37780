package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxLine is the limit of a line's bytes unless a key sets another: a small packed file may unpack to one endless line.
const MaxLine = 1_000_000

// MaxRow is the limit for a row of a table, such as a vocabulary: its words may each be as long as a line.
const MaxRow = 16 * MaxLine

// ErrLongLine is what a LineReader gives for a line beyond its limit.
var ErrLongLine = errors.New("the line is too long")

// LongLine is the error of a line beyond the limit.
func LongLine(name string, number, limit int, advice string) error {
	return fmt.Errorf("%s:%d: this line has more than %d bytes: %s", name, number, limit, advice)
}

// InvalidByte is the offset of the first byte that is not UTF-8, or -1.
func InvalidByte(line []byte) int {
	if utf8.Valid(line) {
		return -1
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

// LineReader reads text line by line, in memory for one line of the limit. Only "\n" ends a line.
type LineReader struct {
	in    *bufio.Reader
	limit int
	long  []byte
	open  bool // the line of the last call goes on
}

// NewLineReader reads lines of at most limit bytes without their "\n".
func NewLineReader(in io.Reader, limit int) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, 1<<16), limit: limit}
}

// Limit is how many bytes a line may have.
func (r *LineReader) Limit() int { return r.limit }

// Next gives the next line with its "\n", which the last one may lack; it is empty at the end, and valid until the next
// call. Of a line beyond the limit it gives the first limit+1 bytes and ErrLongLine; the next call skips the rest.
func (r *LineReader) Next() (line []byte, err error) {
	for r.open { // the rest of a line that was too long
		_, err = r.in.ReadSlice('\n')
		r.open = err == bufio.ErrBufferFull
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	line, err = r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		r.long = append(r.long[:0], line...)
		for err == bufio.ErrBufferFull && len(r.long) <= r.limit {
			line, err = r.in.ReadSlice('\n')
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	switch r.open = err == bufio.ErrBufferFull; {
	case len(bytes.TrimSuffix(line, []byte("\n"))) > r.limit:
		return line[:r.limit+1], ErrLongLine
	case err != nil && err != io.EOF:
		return nil, err
	}
	return line, nil
}
