package tokenize

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Lines reads UTF-8 text line by line. A line ends at "\n" and nowhere else: not
// at "\r", a form feed or U+2028, so that parallel texts stay parallel.
//
//	lines := tokenize.NewLines(r, "train.de")
//	for lines.Next() {
//		use(lines.Text())
//	}
//	return lines.Err()
type Lines struct {
	in         *bufio.Reader
	name       string
	text       string
	number     int
	terminated bool
	err        error
	long       []byte
	unchecked  bool
}

// NewLines reads from r; name stands for it in errors ("name:17: ...").
func NewLines(r io.Reader, name string) *Lines {
	return &Lines{in: bufio.NewReaderSize(r, 1<<16), name: name}
}

// Unchecked lets lines that are not UTF-8 pass, for a caller that answers each line by itself.
func (l *Lines) Unchecked() *Lines {
	l.unchecked = true
	return l
}

// Next moves to the next line. It is false at the end of the text and at the
// first error, a line that is not UTF-8 included unless they are Unchecked.
func (l *Lines) Next() bool {
	if l.err != nil {
		return false
	}
	line, err := l.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.long = append(l.long[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = l.in.ReadSlice('\n')
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	if err != nil && err != io.EOF {
		l.err = fmt.Errorf("%s: %w", l.name, err)
		return false
	}
	if len(line) == 0 {
		return false
	}
	l.number++
	l.terminated = err == nil
	if l.terminated {
		line = line[:len(line)-1]
	}
	if !l.unchecked && !utf8.Valid(line) {
		at := firstInvalid(line)
		l.err = fmt.Errorf("%s:%d: byte %d of the line (0x%02X) is not valid UTF-8; convert the text to UTF-8 first, for example with iconv",
			l.name, l.number, at+1, line[at])
		return false
	}
	l.text = string(line)
	return true
}

func firstInvalid(line []byte) int {
	at := 0
	for at < len(line) {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// Text is the current line without its "\n".
func (l *Lines) Text() string { return l.text }

// Number counts lines from 1.
func (l *Lines) Number() int { return l.number }

// Terminated is false only for a last line that has no "\n".
func (l *Lines) Terminated() bool { return l.terminated }

// Err is what stopped Next, nil at the end of the text.
func (l *Lines) Err() error { return l.err }

// Errorf is an error that names the file and the current line.
func (l *Lines) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", l.name, l.number, fmt.Sprintf(format, args...))
}

// lineBlanks are what subword-nmt strips from both ends of a line.
const lineBlanks = "\r\n "

func isLineBlank(c byte) bool { return c == ' ' || c == '\r' || c == '\n' }

// tableRows reads a file of rows that are exactly two fields apart by one space:
// merges, or units with counts. A byte order mark and "\r\n" ends are tolerated,
// the latter only where the first line has one, because a symbol may itself end
// in "\r". Blank lines at the end of the file are ignored.
type tableRows struct {
	*Lines
	crlf bool
}

func newTableRows(r io.Reader, name string) *tableRows {
	return &tableRows{Lines: NewLines(r, name)}
}

func (t *tableRows) next() (row string, ok bool) {
	if !t.Next() {
		return "", false
	}
	row = t.Text()
	if t.Number() == 1 {
		row = strings.TrimPrefix(row, "\ufeff")
		t.crlf = strings.HasSuffix(row, "\r")
	}
	if t.crlf {
		row = strings.TrimSuffix(row, "\r")
	}
	return strings.Trim(row, " "), true
}

// twoFields splits a row at its only space.
func twoFields(row string) (first, second string, ok bool) {
	first, second, ok = strings.Cut(row, " ")
	return first, second, ok && first != "" && second != "" && !strings.Contains(second, " ")
}
