package vectors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// counter is a buffered reader that knows how many bytes it gave.
type counter struct {
	*bufio.Reader
	at   int64
	size int64 // of the file; unknown of a packed one, and math.MaxInt64
}

func newCounter(in *bufio.Reader, size int64) *counter {
	return &counter{Reader: bufio.NewReaderSize(in, pieceBytes), size: size}
}

func (c *counter) full(p []byte) error {
	n, err := io.ReadFull(c.Reader, p)
	c.at += int64(n)
	return err
}

// skip passes over n bytes, which may be more than an int of bufio's Discard holds.
func (c *counter) skip(n int64) error {
	for n > 0 {
		m, err := c.Discard(int(min(n, 1<<30)))
		c.at += int64(m)
		n -= int64(m)
		if err != nil {
			return err
		}
	}
	return nil
}

// rest reads what is left, and says how much it was.
func (c *counter) rest() (int64, error) {
	n, err := io.Copy(io.Discard, c.Reader)
	c.at += n
	return n, err
}

func isCut(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }

// readWord2vec reads the binary format of word2vec: "count width", then each word, a space and its numbers as
// little-endian float32. Numbers of words that are passed are not looked at.
func readWord2vec(raw *bufio.Reader, size int64, name string, to sink) error {
	in := newCounter(raw, size)
	line, err := in.ReadSlice('\n') // recognize saw it
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	in.at = int64(len(line))
	count, width, _ := header(line)
	if err := checkShape(count, width); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if count == 0 {
		return fmt.Errorf("%s: the file holds no vectors", name)
	}
	if left := in.size - in.at; int64(count) > left/int64(4*width+1) { // a space before the numbers
		return fmt.Errorf("%s is cut off at byte %d, or its first line is wrong: %d vectors of %d numbers are more "+
			"than it holds: get the file again", name, in.size, count, width)
	}
	to.begin(width)
	numbers, vector, row := make([]byte, 4*width), make([]float32, width), make([]float64, width)
	for i := range count {
		start := in.at
		failed := func(err error) error {
			if isCut(err) {
				return fmt.Errorf("%s is cut off at byte %d, in vector %d of the %d of %d numbers that it announces: "+
					"get the file again", name, in.at, i+1, count, width)
			}
			return fmt.Errorf("%s: byte %d: %w", name, in.at, err)
		}
		word, err := in.ReadSlice(' ')
		in.at += int64(len(word))
		if err != nil && err != bufio.ErrBufferFull {
			return failed(err)
		}
		word = bytes.TrimLeft(word[:max(len(word)-1, 0)], "\n")
		if len(word) > longestWord || bytes.IndexByte(word, 0) >= 0 {
			return fmt.Errorf("%s: no word stands at byte %d, where vector %d of %d should begin: the width of %d "+
				"that it announces is not that of its vectors, or the file is damaged", name, start, i+1, count, width)
		}
		what, words := to.fate(word, start)
		if what == passed {
			if words > 0 {
				to.outside(words, nil)
			}
			if err := in.skip(int64(len(numbers))); err != nil {
				return failed(err)
			}
			continue
		}
		text, from := string(word), in.at
		if err := in.full(numbers); err != nil {
			return failed(err)
		}
		if bad := decodeFloats(numbers, vector); bad > 0 {
			return fmt.Errorf("%s: number %d of vector %d, %q, at byte %d, is no finite number: the file is damaged",
				name, bad, i+1, shorten(text), from+4*int64(bad-1))
		}
		if what == kept {
			to.keep(text, vector)
			continue
		}
		for j, x := range vector {
			row[j] = float64(words) * float64(x)
		}
		to.outside(1, row)
	}
	return readEnd(in, name, fmt.Sprintf("the %d vectors of %d numbers", count, width))
}

// Longer words are none, but numbers.
const longestWord = 4096

// readEnd reads to the end of a file, where only line feeds may stand behind what it announced.
func readEnd(in *counter, name, announced string) error {
	for {
		b, err := in.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: byte %d: %w", name, in.at, err)
		}
		if b != '\n' && b != '\r' {
			break
		}
		in.at++
	}
	at := in.at
	n, err := in.rest()
	if err != nil {
		return fmt.Errorf("%s: byte %d: %w", name, in.at, err)
	}
	return fmt.Errorf("%s: behind %s that it announces there are %d bytes more, from byte %d on: its first line gives "+
		"another number or width than the file has", name, announced, n+1, at)
}

// decodeFloats reads little-endian float32; where one is not finite, bad is its number.
func decodeFloats(raw []byte, vector []float32) (bad int) {
	for i := range vector {
		bits := binary.LittleEndian.Uint32(raw[4*i:])
		if bits&0x7f800000 == 0x7f800000 {
			return i + 1
		}
		vector[i] = math.Float32frombits(bits)
	}
	return 0
}
