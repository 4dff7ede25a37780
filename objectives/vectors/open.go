package vectors

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/aperture-ml/aperture/internal/files"
	"github.com/aperture-ml/aperture/tokenize"
)

// Open reads the vectors of a vocabulary from a file: text (.vec), the binary format of word2vec, or a model of
// fastText, each as it is or packed with gzip or Zstandard. What it is the content tells, not the name. Its memory is
// that of the vocabulary's vectors, and for a model of fastText 8 bytes more for each row of the model.
//
// A file that cannot be right for this vocabulary is an error too: none of its words, or words that make up less than a
// half of the running text. Errors are one sentence with the file, the line or the byte, and what to do.
func Open(path string, v *tokenize.Vocabulary) (*Table, error) {
	c := &collector{v: v}
	if err := scan(path, c); err != nil {
		return nil, err
	}
	if err := c.check(path); err != nil {
		return nil, err
	}
	table := c.finish()
	table.Source = filepath.Base(path)
	return table, nil
}

// What becomes of a word of a file.
type fate int

const (
	passed   fate = iota // its numbers are not read
	kept                 // it comes to the sink
	averaged             // it adds to the mean of the words that stand for no symbol
)

// sink takes the vectors of a file. Calls come from one goroutine, in the file's order, except those of fate.
type sink interface {
	begin(width int)
	// fate says what becomes of a word, and for how many words an averaged one stands. at is the byte it begins at, and
	// 0 in formats where reading a word costs little. Several goroutines call it at once.
	fate(word []byte, at int64) (fate, int)
	keep(word string, vector []float32) // vector is good until the next call
	// outside counts words that stand for no symbol, and what their vectors add up to: nil where they were passed.
	outside(words int, sum []float64)
	// wanted are the words that compose takes where a format can make vectors of words that it lacks.
	wanted() []string
	compose(word string, vector []float32)
}

// scan reads a file of any format into a sink.
func scan(path string, to sink) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, err := files.Unpack(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unpacked.Close()
	in := bufio.NewReaderSize(unpacked, peeked)
	if start, err := in.Peek(1); len(start) == 0 {
		if err == io.EOF {
			return fmt.Errorf("%s: the file is empty", path)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	size := int64(math.MaxInt64)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && unpacked.Packing == "" {
		size = info.Size()
	}
	if err := scanFormat(in, size, path, to); err != nil {
		return err
	}
	if unpacked.Packing != "" {
		if _, err = io.Copy(io.Discard, in); err != nil { // which compares the packing's own sum
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// The first bytes of a file, this many, tell its format.
const peeked = 1 << 16

// scanFormat reads the vectors of a file of the given number of bytes, which is math.MaxInt64 where that is not known.
func scanFormat(in *bufio.Reader, size int64, name string, to sink) error {
	start, _ := in.Peek(peeked)
	switch recognize(start) {
	case word2vecFormat:
		return readWord2vec(in, size, name, to)
	case fastTextFormat:
		return readFastText(in, size, name, to)
	case noFormat:
		return fmt.Errorf("%s holds no vectors: wanted are text (.vec), the .bin of word2vec or the .bin of fastText, "+
			"each also packed with gzip or Zstandard; what gensim's save() writes is none of them", name)
	}
	return readText(in, name, to)
}

// format is a format that is read.
type format int

const (
	noFormat format = iota
	textFormat
	word2vecFormat
	fastTextFormat
)

// The first bytes of a fastText model: 793712314.
var fastTextMagic = []byte{0xba, 0x16, 0x4f, 0x2f}

// recognize tells a format by the first bytes of a file. Text and word2vec's binary format may begin with the same
// line; what follows the first word there are digits in the one, and float32 in the other, which always have bytes that
// no text has.
func recognize(start []byte) format {
	if bytes.HasPrefix(start, fastTextMagic) {
		return fastTextFormat
	}
	line, rest, whole := bytes.Cut(start, []byte("\n"))
	if _, width, ok := header(line); ok && whole {
		if width < 1 || width > widest {
			return textFormat // whose reader says so
		}
		first, _, _ := bytes.Cut(rest, []byte("\n"))
		if _, numbers, ok := split(trim(first), width); ok {
			if bad, _ := parse(numbers, make([]float32, width)); bad == 0 {
				return textFormat
			}
		}
		_, numbers, found := bytes.Cut(rest, []byte(" "))
		if found && !printable(numbers[:min(len(numbers), 4*width)]) {
			return word2vecFormat
		}
		return textFormat
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return noFormat
	}
	return textFormat
}

// printable reports whether bytes could be of a text: UTF-8, which may be cut off, without control characters.
func printable(raw []byte) bool {
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f || r == utf8.RuneError && size == 1 &&
			utf8.FullRune(raw) {
			return false
		}
		raw = raw[size:]
	}
	return true
}

// The largest width that a file may announce: beyond it a header is damaged.
const widest = 1 << 16

func checkShape(count, width int) error {
	if count < 0 || width < 1 || width > widest {
		return fmt.Errorf("%d vectors of %d numbers make no sense: the width must be from 1 to %d", count, width,
			widest)
	}
	return nil
}

func shorten[T string | []byte](s T) string {
	if r := []rune(string(s[:min(len(s), 200)])); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return string(s)
}
