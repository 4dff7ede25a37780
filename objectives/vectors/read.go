package vectors

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// Open reads the vectors of a vocabulary from a file: binary word2vec where its name ends in
// .bin, else text, one word a line with its numbers behind it, with or without a header
// "count width". Errors name the file and the line, or the number of the vector.
func Open(path string, v *tokenize.Vocabulary) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hash := sha256.New()
	in := io.TeeReader(f, hash)
	read := ReadText
	if strings.HasSuffix(path, ".bin") {
		read = ReadBinary
	}
	table, err := read(in, path, v)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // what stands behind the last vector
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	table.Source, table.SHA256 = filepath.Base(path), hex.EncodeToString(hash.Sum(nil))
	return table, nil
}

// sink takes the vectors of a file as they come.
type sink interface {
	begin(width int)
	add(word string, vector []float32) // vector is good until the next one
}

// collector puts vectors where they belong.
type collector struct {
	v     *tokenize.Vocabulary
	table *Table
	taken []bool    // of the vocabulary; a word's first vector counts
	sum   []float64 // of the vectors without a symbol
	unk   []float32 // the file's own vector of <unk>
}

func (c *collector) begin(width int) {
	c.table, c.taken, c.sum = newTable(c.v, width), make([]bool, c.v.Len()), make([]float64, width)
}

func (c *collector) add(word string, vector []float32) {
	id := c.v.ID(word)
	switch {
	case word == c.v.Token(tokenize.BOS) || word == c.v.Token(tokenize.Pad):
	case word == c.v.Token(tokenize.Unk):
		c.unk = append(c.unk[:0], vector...)
	case id == tokenize.Unk:
		c.table.Unused++
		for i, x := range vector {
			c.sum[i] += float64(x)
		}
	case !c.taken[id]:
		c.taken[id] = true
		copy(c.table.Row(id), vector)
		if id == tokenize.EOS {
			c.table.End = FromFile
		}
	}
}

func (c *collector) finish() *Table {
	unk := c.table.Row(tokenize.Unk)
	copy(unk, c.unk)
	if c.table.Unused > 0 {
		for i, x := range c.sum {
			unk[i] = float32(x / float64(c.table.Unused))
		}
	}
	if c.table.End != "" && !c.table.Has(tokenize.EOS) {
		c.table.End = "" // a vector of zeros is none
	}
	c.table.finish()
	return c.table
}

// ReadText reads text vectors; name stands for the file in errors. Fields are separated by
// spaces or tabs and nothing else: a word may hold any other character, and, where the width
// is known, spaces too. A word's first vector counts.
func ReadText(r io.Reader, name string, v *tokenize.Vocabulary) (*Table, error) {
	c := &collector{v: v}
	if err := scanText(r, name, c); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

func scanText(r io.Reader, name string, to sink) error {
	in := bufio.NewReaderSize(r, 1<<20)
	var vector []float32 // of the file's width, once that is known
	announced, read := -1, 0
	for number := 1; ; number++ {
		line, err := in.ReadString('\n')
		if line == "" && err == io.EOF {
			break
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", name, err)
		}
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" {
			continue
		}
		if vector == nil {
			count, width, ok := header(line)
			switch {
			case ok && number == 1:
				if err := checkShape(count, width); err != nil {
					return fmt.Errorf("%s:1: %w", name, err)
				}
				announced = count
			case len(fields(line)) > 1:
				width = len(fields(line)) - 1
			default:
				return fmt.Errorf("%s:%d: expected a word and its numbers, not %q", name, number, shorten(line))
			}
			to.begin(width)
			vector = make([]float32, width)
			if announced >= 0 {
				continue
			}
		}
		word, numbers, ok := splitLast(line, len(vector))
		if !ok {
			return fmt.Errorf("%s:%d: expected a word and %d numbers, not %q", name, number, len(vector), shorten(line))
		}
		for i, field := range numbers {
			x, err := strconv.ParseFloat(field, 32)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("%s:%d: number %d of %q is %q, which is no finite number", name, number, i+1, shorten(word), shorten(field))
			}
			vector[i] = float32(x)
		}
		read++
		to.add(word, vector)
	}
	switch {
	case read == 0:
		return fmt.Errorf("%s: the file holds no vectors", name)
	case read < announced:
		return fmt.Errorf("%s: the file is cut off: its first line announces %d vectors and %d are there", name, announced, read)
	}
	return nil
}

// header reads "count width".
func header(line string) (count, width int, ok bool) {
	f := fields(line)
	if len(f) != 2 {
		return 0, 0, false
	}
	count, err1 := strconv.Atoi(f[0])
	width, err2 := strconv.Atoi(f[1])
	return count, width, err1 == nil && err2 == nil
}

// The largest width that a file may announce: beyond it a header is damaged.
const widest = 1 << 16

func checkShape(count, width int) error {
	if count < 0 || width < 1 || width > widest {
		return fmt.Errorf("%d vectors of %d numbers make no sense: the width must be from 1 to %d", count, width, widest)
	}
	return nil
}

func fields(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
}

// splitLast splits a line before its last n fields.
func splitLast(line string, n int) (word string, last []string, ok bool) {
	last = make([]string, n)
	for i := n - 1; i >= 0; i-- {
		at := strings.LastIndexAny(line, " \t")
		if at < 0 {
			return "", nil, false
		}
		last[i] = line[at+1:]
		line = strings.TrimRight(line[:at], " \t")
	}
	return line, last, line != ""
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

// The first bytes of a fastText model.
var fastText = []byte{0xba, 0x16, 0x4f, 0x2f}

// ReadBinary reads the binary format of word2vec: "count width", then each word, a space and
// its numbers as little-endian float32.
func ReadBinary(r io.Reader, name string, v *tokenize.Vocabulary) (*Table, error) {
	c := &collector{v: v}
	if err := scanBinary(r, name, c); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

func scanBinary(r io.Reader, name string, to sink) error {
	in := bufio.NewReaderSize(r, 1<<20)
	if start, _ := in.Peek(len(fastText)); bytes.Equal(start, fastText) {
		return fmt.Errorf("%s is a fastText model: give the .vec file that stands beside it", name)
	}
	line, err := in.ReadSlice('\n')
	if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("%s: %w", name, err)
	}
	count, width, ok := header(strings.TrimRight(string(line[:min(len(line), 100)]), "\r\n"))
	if !ok {
		return fmt.Errorf("%s does not begin with the number of its vectors and their width: it is no binary word2vec file", name)
	}
	if err := checkShape(count, width); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if count == 0 {
		return fmt.Errorf("%s: the file holds no vectors", name)
	}
	to.begin(width)
	raw, vector := make([]byte, 4*width), make([]float32, width)
	for i := range count {
		cut := func(err error) error {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return fmt.Errorf("%s: the file is cut off in vector %d of the %d that it announces", name, i+1, count)
			}
			return fmt.Errorf("%s: vector %d: %w", name, i+1, err)
		}
		word, err := in.ReadSlice(' ')
		if err != nil {
			return cut(err)
		}
		text := strings.TrimLeft(string(word[:len(word)-1]), "\n")
		if _, err := io.ReadFull(in, raw); err != nil {
			return cut(err)
		}
		for j := range vector {
			x := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:]))
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("%s: number %d of vector %d, %q, is no finite number", name, j+1, i+1, shorten(text))
			}
			vector[j] = x
		}
		to.add(text, vector)
	}
	return nil
}
