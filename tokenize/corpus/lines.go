package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// Text is sentences, one a line: in memory, or in a file that is read again for each use.
type Text struct {
	Path   string
	Lines  []string // nil where they stay in the file
	SHA256 string   // of the file's bytes, in hexadecimal; empty for text that no file holds

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

var byteOrderMark = []byte("\ufeff")

// ReadLines reads a text file that must be UTF-8 and hold at least one line. The
// flag, such as "-train", is named in the errors that it can mend. A last line
// without a line feed counts.
func ReadLines(path, flag string) (Text, error) {
	out := Text{Path: path}
	in, err := openLines(path, flag)
	if err != nil {
		return Text{}, err
	}
	defer in.Close()
	for in.next() {
		out.Lines = append(out.Lines, string(in.line))
	}
	out.SHA256, err = in.end()
	if err != nil {
		return Text{}, err
	}
	return out, nil
}

// lineReader reads a text file line by line, and hashes what it reads.
type lineReader struct {
	line []byte // the last one, without its end; the next call overwrites it

	path, flag string
	file       *os.File
	in         *bufio.Reader
	hash       hash.Hash // nil: not hashed
	long       []byte
	count      int
	failed     error
}

// openLines begins a file that is hashed.
func openLines(path, flag string) (*lineReader, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file; %s names it, within the folder given by -data", path, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the text for %s: %w", flag, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s: this is a folder, not a text file; set %s to a file within it", path, flag)
	}
	r := &lineReader{path: path, flag: flag, file: file, hash: sha256.New()}
	r.in = bufio.NewReaderSize(io.TeeReader(file, r.hash), 1<<16)
	return r, nil
}

func (r *lineReader) Close() { r.file.Close() }

// next reads a line; false at the end of the file, and at the first error, which end tells.
func (r *lineReader) next() bool {
	line, err := r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		r.long = r.long[:0]
		for err == bufio.ErrBufferFull {
			r.long = append(r.long, line...)
			line, err = r.in.ReadSlice('\n')
		}
		r.long = append(r.long, line...)
		line = r.long
	}
	if err != nil && err != io.EOF {
		r.failed = fmt.Errorf("%s:%d: reading stopped here: %w", r.path, r.count+1, err)
		return false
	}
	if len(line) == 0 {
		return false
	}
	if r.count == 0 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	r.count++
	if at := invalidByte(line); at >= 0 {
		r.failed = fmt.Errorf("%s:%d: byte %d (0x%02x) of this line is not valid UTF-8; convert the file, for instance with iconv -t UTF-8", r.path, r.count, at+1, line[at])
		return false
	}
	r.line = line
	return true
}

// end gives the file's SHA-256 once next is false, or why reading stopped.
func (r *lineReader) end() (string, error) {
	switch {
	case r.failed != nil:
		return "", r.failed
	case r.count == 0:
		return "", fmt.Errorf("%s: the file is empty; set %s to a file with one sentence a line", r.path, r.flag)
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// invalidByte returns the offset of the first byte that is not UTF-8, or -1.
func invalidByte(line []byte) int {
	if utf8.Valid(line) {
		return -1
	}
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// Parallel is text and its translation, line by line.
type Parallel struct{ Source, Target Text }

// ReadParallel reads two files that are translations of each other line by line,
// and refuses them when they differ in length.
func ReadParallel(sourcePath, targetPath, flag string) (Parallel, error) {
	return parallel(sourcePath, targetPath, flag, ReadLines)
}

func parallel(sourcePath, targetPath, flag string, read func(path, flag string) (Text, error)) (p Parallel, err error) {
	if p.Source, err = read(sourcePath, flag); err != nil {
		return Parallel{}, err
	}
	if p.Target, err = read(targetPath, flag); err != nil {
		return Parallel{}, err
	}
	if a, b := p.Source.Len(), p.Target.Len(); a != b {
		return Parallel{}, fmt.Errorf("%s has %d lines and %s has %d: line N of one must be the translation of line N of the other, so restore the missing lines or set %s to files that match", sourcePath, a, targetPath, b, flag)
	}
	return p, nil
}

// Some are n pairs at equal distances, in memory and of no file; all of them where n is 0. It is an error to ask for more than there are.
func (p Parallel) Some(n int, key string) (Parallel, error) {
	all := p.Source.Len()
	switch {
	case n == 0:
		return p, nil
	case n > all:
		return Parallel{}, fmt.Errorf("%s = %d, and %s has %d lines: lower it, or set it to 0 for all", key, n, cmp.Or(p.Source.Path, "the training text"), all)
	}
	some := Parallel{Source: Text{Path: p.Source.Path, Lines: make([]string, n)}, Target: Text{Path: p.Target.Path, Lines: make([]string, n)}}
	for i := range n {
		some.Source.Lines[i], some.Target.Lines[i] = p.Source.Lines[i*all/n], p.Target.Lines[i*all/n]
	}
	return some, nil
}
