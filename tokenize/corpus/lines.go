package corpus

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// Text is a file of sentences, one a line.
type Text struct {
	Path   string
	Lines  []string
	SHA256 string // of the file's bytes, in hexadecimal
}

var byteOrderMark = []byte("\ufeff")

// ReadLines reads a text file that must be UTF-8 and hold at least one line. The
// flag, such as "-train", is named in the errors that it can mend. A last line
// without a line feed counts.
func ReadLines(path, flag string) (Text, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Text{}, fmt.Errorf("%s: there is no such file; %s names it, within the folder given by -data", path, flag)
	}
	if err != nil {
		return Text{}, fmt.Errorf("cannot read the text for %s: %w", flag, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return Text{}, fmt.Errorf("%s: this is a folder, not a text file; set %s to a file within it", path, flag)
	}

	hash := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(file, hash), 1<<16)
	out := Text{Path: path}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return Text{}, fmt.Errorf("%s:%d: reading stopped here: %w", path, len(out.Lines)+1, err)
		}
		if len(line) == 0 {
			break
		}
		if len(out.Lines) == 0 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if at := invalidByte(line); at >= 0 {
			return Text{}, fmt.Errorf("%s:%d: byte %d (0x%02x) of this line is not valid UTF-8; convert the file, for instance with iconv -t UTF-8", path, len(out.Lines)+1, at+1, line[at])
		}
		out.Lines = append(out.Lines, string(line))
	}
	if len(out.Lines) == 0 {
		return Text{}, fmt.Errorf("%s: the file is empty; set %s to a file with one sentence a line", path, flag)
	}
	out.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return out, nil
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

// ReadParallel reads two files that are translations of each other line by line,
// and refuses them when they differ in length.
func ReadParallel(sourcePath, targetPath, flag string) (source, target Text, err error) {
	if source, err = ReadLines(sourcePath, flag); err != nil {
		return Text{}, Text{}, err
	}
	if target, err = ReadLines(targetPath, flag); err != nil {
		return Text{}, Text{}, err
	}
	if a, b := len(source.Lines), len(target.Lines); a != b {
		return Text{}, Text{}, fmt.Errorf("%s has %d lines and %s has %d: line N of one must be the translation of line N of the other, so restore the missing lines or set %s to files that match", sourcePath, a, targetPath, b, flag)
	}
	return source, target, nil
}
