package tokenize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/internal/files"
)

// Lines reads UTF-8 text line by line. Only "\n" ends a line, not "\r", a form feed or U+2028, so that parallel texts
// stay parallel. A line of more than 1 MB, or AtMost's limit, is an error, and never in memory.
//
//	lines := tokenize.NewLines(r, "train.de")
//	for lines.Next() {
//		use(lines.Text())
//	}
//	return lines.Err()
type Lines struct {
	in         *files.LineReader
	from       io.Reader
	name       string
	advice     string // about a line that is too long
	text       string
	number     int
	terminated bool
	err        error
	unchecked  bool
	crlf       bool // the first line ends in "\r\n"
}

// NewLines reads from r; name stands for it in errors ("name:17: ...").
func NewLines(r io.Reader, name string) *Lines {
	return (&Lines{from: r, name: name, advice: "break it up, a sentence a line"}).AtMost(files.MaxLine)
}

// Table, called before the first line is read, allows rows of 16 MB, whose words may each be as long as a line.
func (l *Lines) Table() *Lines {
	l.advice = "no table of words has such a row, so give another file"
	return l.AtMost(files.MaxRow)
}

// AtMost, called before the first line is read, allows lines of the given number of bytes.
func (l *Lines) AtMost(limit int) *Lines {
	l.in = files.NewLineReader(l.from, limit)
	return l
}

// Unchecked lets lines pass that are not UTF-8, and cuts a long line one byte behind its limit, for a caller that
// answers each line by itself.
func (l *Lines) Unchecked() *Lines {
	l.unchecked = true
	return l
}

// Next moves to the next line; false at the end and at the first error, such as a line that is not UTF-8.
func (l *Lines) Next() bool {
	if l.err != nil {
		return false
	}
	line, err := l.in.Next()
	long := errors.Is(err, files.ErrLongLine)
	switch {
	case long && !l.unchecked:
		l.err = files.LongLine(l.name, l.number+1, l.in.Limit(), l.advice)
		return false
	case err != nil && !long:
		l.err = fmt.Errorf("%s: %w", l.name, err)
		return false
	case len(line) == 0:
		return false
	}
	l.number++
	line, l.terminated = bytes.CutSuffix(line, []byte("\n"))
	if !l.unchecked {
		if at := files.InvalidByte(line); at >= 0 {
			l.err = l.Errorf("byte %d of the line (0x%02X) is not valid UTF-8; convert the text to UTF-8 first, for "+
				"example with iconv", at+1, line[at])
			return false
		}
	}
	l.text = string(line)
	return true
}

// Text is the current line without its "\n".
func (l *Lines) Text() string { return l.text }

// Row is Text of a file of rows, called for every line: without a byte order mark, and without the "\r" of "\r\n" if
// the first line has one, since a symbol may end in "\r".
func (l *Lines) Row() string {
	row := l.text
	if l.number == 1 {
		row = strings.TrimPrefix(row, "\ufeff")
		l.crlf = strings.HasSuffix(row, "\r")
	}
	if l.crlf {
		row = strings.TrimSuffix(row, "\r")
	}
	return row
}

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

// tableRows reads rows of two fields apart by one space. It tolerates what Row does.
type tableRows struct{ *Lines }

func newTableRows(r io.Reader, name string) *tableRows {
	return &tableRows{NewLines(r, name).Table()}
}

func (t *tableRows) next() (row string, ok bool) {
	if !t.Next() {
		return "", false
	}
	return strings.Trim(t.Row(), " "), true
}

// maxCount bounds the count of a word, so that sums of thousands of them do not overflow.
const maxCount = 1 << 48

// counts are the rows of words and their numbers, up to the first that is none.
func (t *tableRows) counts() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for {
			row, ok := t.next()
			if !ok {
				return
			}
			word, number, ok := twoFields(row)
			n, err := strconv.Atoi(number)
			switch {
			case !ok:
				t.err = t.Errorf("expected a word, one space and its count, not %.80q", row)
			case err != nil || n < 0:
				t.err = t.Errorf("the count of %.80q should be a whole number that is not negative, not %.80q", word,
					number)
			case n > maxCount:
				t.err = t.Errorf("the count of %.80q is %d, more than any text has: give the file that was counted", word, n)
			case !yield(word, n):
			default:
				continue
			}
			return
		}
	}
}

// writeRows writes rows of two fields apart by a space.
func writeRows(w io.Writer, rows iter.Seq2[string, string]) error {
	out := bufio.NewWriter(w)
	for first, second := range rows {
		out.WriteString(first)
		out.WriteByte(' ')
		out.WriteString(second)
		out.WriteByte('\n')
	}
	return out.Flush()
}

// twoFields splits a row at its only space.
func twoFields(row string) (first, second string, ok bool) {
	first, second, ok = strings.Cut(row, " ")
	return first, second, ok && first != "" && second != "" && !strings.Contains(second, " ")
}
