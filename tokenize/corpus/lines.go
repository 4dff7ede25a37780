package corpus

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/aperture-ml/aperture/internal/files"
)

// Text is sentences, one a line: in memory, or in a file that is read again for each use.
type Text struct {
	Path  string   // of the file that was read
	Lines []string // nil where they stay in the file
	// SHA256, in hexadecimal, is the unpacked file's; of a text that is part of its file, that of a file of its lines.
	// It is empty for text of no file.
	SHA256 string

	place place
	of    int      // lines that these were chosen from, at equal distances; 0 for all
	count int      // lines of a text that stays in its file
	file  identity // of that file, as it was when it was counted
}

// Len counts the lines.
func (t Text) Len() int {
	if t.Lines != nil {
		return len(t.Lines)
	}
	return t.count
}

// Number is the number in its file of the text's line i; both count from 1.
func (t Text) Number(i int) int {
	if t.of > 0 {
		i = (i-1)*t.of/len(t.Lines) + 1
	}
	return t.place.portion.number(i)
}

var byteOrderMark = []byte("\ufeff")

// LineSettings are the key of the section data that says what a line of text may be.
type LineSettings struct {
	MaxLine int `toml:"max_line" default:"1000000" range:"[1,2000000000]" resume:"free" help:"most bytes of a line of text; a text with a longer line is refused, by file and number of the line"`
}

// Limit is the key's value, and where that is 0, as in the zero LineSettings, its default.
func (s LineSettings) Limit() int { return cmp.Or(s.MaxLine, files.MaxLine) }

// ReadLines reads a text file, which must be UTF-8 and hold a line, or that name with .gz or .zst. The flag, such as
// "-train", is named in the errors that it can mend. A last line without a line feed counts.
func (s LineSettings) ReadLines(path, flag string) (Text, error) {
	return readPlace(place{path: path, LineSettings: s}, flag)
}

func readPlace(at place, flag string) (Text, error) {
	in, err := openLines(at, flag)
	if err != nil {
		return Text{}, err
	}
	defer in.Close()
	out := Text{Path: in.path, place: at}
	for in.next() {
		out.Lines = append(out.Lines, string(in.line))
	}
	if out.SHA256, err = in.end(); err != nil {
		return Text{}, err
	}
	return out, nil
}

// lineReader reads a text file line by line, and hashes what it reads.
type lineReader struct {
	line []byte // the last one, without its end; the next call overwrites it

	path, flag string
	at         place
	file       *files.Input
	in         *files.LineReader
	hash       hash.Hash // nil: not hashed
	parts      bool      // hashed line by line, since the text is only part of its file
	number     int       // of the line in the file
	count      int       // lines of the text
	failed     error
}

// openLines begins a file that is hashed.
func openLines(at place, flag string) (*lineReader, error) {
	file, err := files.Open(at.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, at.missing(flag)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the text for %s: %w", flag, err)
	}
	if info, err := file.File.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s: this is a folder, not a text file; set %s to a file within it", at.path, flag)
	}
	r := &lineReader{path: file.File.Name(), flag: flag, at: at, file: file, hash: sha256.New(), parts: at.isPart()}
	var from io.Reader = file
	if !r.parts {
		from = io.TeeReader(file, r.hash)
	}
	r.in = files.NewLineReader(from, at.Limit())
	return r, nil
}

// unhashed spares a text that was not begun yet its sum.
func (r *lineReader) unhashed() {
	r.hash, r.parts = nil, false
	r.in = files.NewLineReader(r.file, r.at.Limit())
}

func (r *lineReader) Close() { r.file.Close() }

// next reads a line of the text; false at the end of the file, and at the first error, which end tells.
func (r *lineReader) next() bool {
	for r.read() {
		if !r.at.portion.has(r.number) {
			continue
		}
		r.count++
		if r.parts {
			r.hash.Write(r.line)
			r.hash.Write([]byte{'\n'})
		}
		return true
	}
	return false
}

// read reads a line of the file, or of its column.
func (r *lineReader) read() bool {
	line, err := r.in.Next()
	switch {
	case errors.Is(err, files.ErrLongLine):
		r.failed = files.LongLine(r.path, r.number+1, r.in.Limit(), "break it up, a sentence a line, or raise "+
			"data.max_line")
		return false
	case err != nil:
		r.failed = fmt.Errorf("%s:%d: reading stopped here: %w", r.path, r.number+1, err)
		return false
	case len(line) == 0:
		return false
	}
	if r.number == 0 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	r.number++
	if r.failed = badByte(line); r.failed == nil {
		r.line, r.failed = r.at.cut(line)
	}
	if r.failed != nil {
		r.failed = fmt.Errorf("%s:%d: %w", r.path, r.number, r.failed)
	}
	return r.failed == nil
}

// end gives the text's SHA-256 once next is false, or why reading stopped.
func (r *lineReader) end() (string, error) {
	switch {
	case r.failed != nil:
		return "", r.failed
	case r.number == 0:
		return "", fmt.Errorf("%s: the file is empty; set %s to a file with one sentence a line", r.path, r.flag)
	case r.count == 0:
		return "", fmt.Errorf("%s: its %d lines are too few for data.held_out to leave any for %s: give files of "+
			"validation and test text", r.path, r.number, r.flag)
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// badByte reports what no text holds: bytes that are not UTF-8, and zeros, as files in UTF-16 have them.
func badByte(line []byte) error {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return fmt.Errorf("byte %d of this line is zero, which no text holds; where the file is UTF-16, convert it "+
			"with iconv -f UTF-16 -t UTF-8, else remove such bytes with tr -d '\\000'", at+1)
	}
	if at := files.InvalidByte(line); at >= 0 {
		return fmt.Errorf("byte %d (0x%02x) of this line is not valid UTF-8; convert the file, for instance with "+
			"iconv -t UTF-8", at+1, line[at])
	}
	return nil
}

// Some are n pairs at equal distances, in memory; all if n is 0. More than there are is an error.
func (p Parallel) Some(n int, key string) (Parallel, error) {
	all := p.Source.Len()
	switch {
	case n == 0:
		return p, nil
	case n > all:
		return Parallel{}, fmt.Errorf("%s = %d, and %s has %d lines: lower it, or set it to 0 for all", key, n,
			cmp.Or(p.Source.Path, "the training text"), all)
	}
	return Parallel{p.Source.some(n), p.Target.some(n)}, nil
}

func (t Text) some(n int) Text {
	some := Text{Path: t.Path, Lines: make([]string, n), place: t.place, of: len(t.Lines)}
	for i := range some.Lines {
		some.Lines[i] = t.Lines[i*len(t.Lines)/n]
	}
	return some
}
