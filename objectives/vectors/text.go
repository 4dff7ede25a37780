package vectors

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aperture-ml/aperture/internal/files"
)

// readText reads text vectors: a word a line with its numbers behind it, with or without a header "count width". Fields
// are separated by spaces or tabs and nothing else: a word may hold any other character, and, where the width is known,
// spaces too.
//
// Of a line whose word is passed only the separators are counted, so that a line with a number too few is found, but
// not one with "x" for a number.
func readText(in *bufio.Reader, name string, to sink) error {
	t := textFile{name: name, to: to, announced: -1}
	first, err := t.begin(in)
	if err != nil {
		return err
	}
	to.begin(t.width)
	if err := t.readPieces(in, first); err != nil {
		return err
	}
	switch {
	case t.read == 0:
		return fmt.Errorf("%s: the file holds no vectors", name)
	case t.read < t.announced:
		return fmt.Errorf("%s is cut off: its first line announces %d vectors and %d are there; get the file again",
			name, t.announced, t.read)
	}
	return nil
}

// textFile is a file of text that is being read.
type textFile struct {
	name  string
	to    sink
	width int // of every vector

	announced int   // vectors, by the header; -1 without one
	shape     int   // the line that the width is from
	lines     int   // read so far
	offset    int64 // of the next line
	read      int   // vectors, so far
}

// begin finds out the width, and gives the first line with its line feed where it is that of a vector.
func (t *textFile) begin(in *bufio.Reader) (first []byte, err error) {
	lines := files.NewLineReader(in, longestLine) // takes in itself for its buffer, so that what follows stays there
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, files.ErrLongLine):
			return nil, t.longLine()
		case err != nil:
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if len(line) == 0 {
			return nil, nil
		}
		if t.lines == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		trimmed := trim(line)
		if len(trimmed) == 0 {
			t.lines++
			t.offset += int64(len(line))
			continue
		}
		t.shape = t.lines + 1
		count, width, ok := header(trimmed)
		if ok && t.lines == 0 {
			if err := checkShape(count, width); err != nil {
				return nil, fmt.Errorf("%s:1: %w", t.name, err)
			}
			t.announced, t.width = count, width
			t.lines++
			t.offset += int64(len(line))
			return nil, nil
		}
		fields := bytes.FieldsFunc(trimmed, isBlank)
		if !slices.ContainsFunc(fields[1:], func(field []byte) bool {
			_, err := strconv.ParseFloat(string(field), 32)
			return err == nil
		}) {
			return nil, fmt.Errorf("%s:%d: expected a word and its numbers, not %q: the file is no vectors in text",
				t.name, t.lines+1, shorten(trimmed))
		}
		t.width = len(fields) - 1
		if t.width > widest {
			return nil, fmt.Errorf("%s:%d: a vector of %d numbers makes no sense: the width must be from 1 to %d",
				t.name, t.lines+1, t.width, widest)
		}
		return slices.Clone(line), nil
	}
}

func (t *textFile) longLine() error {
	return files.LongLine(t.name, t.lines+1, longestLine, "the file is no vectors in text")
}

// header reads "count width".
func header(line []byte) (count, width int, ok bool) {
	if len(line) > 100 {
		return 0, 0, false
	}
	f := bytes.FieldsFunc(trim(line), isBlank)
	if len(f) != 2 {
		return 0, 0, false
	}
	count, err1 := strconv.Atoi(string(f[0]))
	width, err2 := strconv.Atoi(string(f[1]))
	return count, width, err1 == nil && err2 == nil
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

func trim(line []byte) []byte {
	end := len(line)
	for end > 0 && (line[end-1] == ' ' || line[end-1] == '\t' || line[end-1] == '\r' || line[end-1] == '\n') {
		end--
	}
	return line[:end]
}

// split splits a line before its last width fields. The line has no blanks at its end.
func split(line []byte, width int) (word, numbers []byte, ok bool) {
	// So it is in the files that programs write. A tab may be what divides a word with spaces from its numbers.
	if bytes.Count(line, []byte(" ")) == width && bytes.IndexByte(line, '\t') < 0 {
		at := bytes.IndexByte(line, ' ')
		return line[:at], line[at+1:], at > 0
	}
	at := len(line)
	for range width {
		end := at
		for at > 0 && line[at-1] != ' ' && line[at-1] != '\t' {
			at--
		}
		if at == end {
			return nil, nil, false
		}
		numbers = line[at:]
		for at > 0 && (line[at-1] == ' ' || line[at-1] == '\t') {
			at--
		}
	}
	return line[:at], numbers, at > 0
}

// parse reads the numbers of a vector; where it fails, bad is the number of the first that is none.
func parse(numbers []byte, vector []float32) (bad int, field []byte) {
	for i := range vector {
		for len(numbers) > 0 && (numbers[0] == ' ' || numbers[0] == '\t') {
			numbers = numbers[1:]
		}
		end := 0
		for end < len(numbers) && numbers[end] != ' ' && numbers[end] != '\t' {
			end++
		}
		x, ok := parseNumber(numbers[:end])
		if !ok {
			return i + 1, numbers[:end]
		}
		vector[i], numbers = x, numbers[end:]
	}
	return 0, nil
}
