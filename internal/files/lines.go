package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxLine is how many bytes a line of text may have where no key sets another limit: far more than a sentence or a
// paragraph has, and few enough that a file of one endless line, which may be small while it is packed, does not fill
// the memory.
const MaxLine = 1_000_000

// MaxRow is the limit for a row of a table, such as a vocabulary: it holds a few words, each of which may be as long as
// a line.
const MaxRow = 16 * MaxLine

// ErrLongLine is what a LineReader gives for a line beyond its limit.
var ErrLongLine = errors.New("the line is too long")

// LongLine is the error for a user: which line of which file has more bytes than the limit, and what to do.
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

// LineReader reads text line by line, and holds no more of it than the longest line that is allowed. A line ends at
// "\n" and nowhere else.
type LineReader struct {
	in    *bufio.Reader
	limit int
	long  []byte
	open  bool // the line of the last call goes on
}

// NewLineReader reads lines of at most so many bytes, their "\n" not counted.
func NewLineReader(in io.Reader, limit int) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, 1<<16), limit: limit}
}

// Limit is how many bytes a line may have.
func (r *LineReader) Limit() int { return r.limit }

// Next gives the next line with its "\n", which the last one may lack, until the next call; it is empty at the end of
// the text. Of a line beyond the limit it gives the first limit+1 bytes and ErrLongLine, and the next call goes on
// behind that line.
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
