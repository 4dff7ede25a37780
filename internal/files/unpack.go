package files

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// packings are the endings of packed files, in the order in which they are looked for.
var packings = []string{".gz", ".zst"}

// maxWindow bounds the memory that unpacking Zstandard takes, which the file itself announces; zstd's own program has
// the same limit by default. That of gzip is 32 kB.
const maxWindow = 128 << 20

// Input is a file that is read as it is unpacked.
type Input struct {
	*Unpacked
	File *os.File // its name tells which file was found
}

// Open opens a file, or else the file of that name with .gz or .zst, and reads it unpacked.
func Open(path string) (*Input, error) {
	file, err := openAny(path)
	if err != nil {
		return nil, err
	}
	unpacked, err := Unpack(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return &Input{unpacked, file}, nil
}

func openAny(path string) (*os.File, error) {
	file, err := os.Open(path)
	for _, ending := range packings {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if packed, other := os.Open(path + ending); !errors.Is(other, fs.ErrNotExist) {
			file, err = packed, other
		}
	}
	return file, err
}

// Close closes the file.
func (in *Input) Close() error {
	in.Unpacked.Close()
	return in.File.Close()
}

// Exists reports whether Open would find a file, and no folder.
func Exists(path string) bool {
	for _, ending := range append([]string{""}, packings...) {
		if info, err := os.Stat(path + ending); err == nil {
			return !info.IsDir()
		}
	}
	return false
}

// PlainName is a file's name without the ending of its packing.
func PlainName(name string) string {
	for _, ending := range packings {
		if plain, found := strings.CutSuffix(name, ending); found {
			return plain
		}
	}
	return name
}

// Unpacked reads what is in a stream that may be packed.
type Unpacked struct {
	Packing string // "gzip", "Zstandard", or empty where it is not packed

	from   *remembering
	reader io.Reader
	close  func()
}

// magics are the first bytes of packed files. No text begins with those that are unpacked: the first two are not UTF-8.
// The third, which has a control character, begins the frame to be skipped that pzstd writes before each of its frames.
var magics = []struct{ start, packing string }{
	{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "Zstandard"}, {"P*M\x18", "Zstandard"},
	{"PK\x03\x04", "zip"}, {"BZh91AY&SY", "bzip2"}, {"\xfd7zXZ\x00", "xz"},
}

// Unpack reads a stream, unpacked if its first bytes say gzip or Zstandard; it waits for no more of a plain stream than
// that takes. Another packing is an error.
func Unpack(stream io.Reader) (*Unpacked, error) {
	from := &remembering{stream, nil}
	in := bufio.NewReaderSize(from, 1<<16)
	u := &Unpacked{from: from, reader: in, close: func() {}}
	switch u.Packing = packingOf(in); u.Packing {
	case "":
	case "gzip":
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, u.damaged(err)
		}
		u.reader = unpacked
	case "Zstandard":
		unpacked, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, u.damaged(err)
		}
		u.reader, u.close = unpacked, unpacked.Close
	default:
		return nil, fmt.Errorf("it is packed with %s, and only gzip and Zstandard are unpacked here: unpack it, and "+
			"give the file that was in it", u.Packing)
	}
	return u, nil
}

// packingOf looks at one byte after the other as long as they may begin a packed file.
func packingOf(in *bufio.Reader) string {
	for n := 1; ; n++ {
		head, err := in.Peek(n)
		if err != nil {
			return ""
		}
		open := false
		for _, m := range magics {
			switch {
			case string(head) == m.start:
				return m.packing
			case bytes.HasPrefix([]byte(m.start), head):
				open = true
			}
		}
		if !open {
			return ""
		}
	}
}

func (u *Unpacked) Read(p []byte) (int, error) {
	n, err := u.reader.Read(p)
	if err != nil && err != io.EOF && u.Packing != "" {
		err = u.damaged(err)
	}
	return n, err
}

// Close ends the unpacking, and leaves the stream open.
func (u *Unpacked) Close() { u.close() }

// damaged says what an error of unpacking means, unless the stream itself could not be read.
func (u *Unpacked) damaged(err error) error {
	if u.from.err != nil {
		return u.from.err
	}
	return fmt.Errorf("its packing (%s) is damaged or cut short: %v; get the file again", u.Packing, err)
}

// remembering keeps the error of a stream, which those who unpack it may report as damage.
type remembering struct {
	io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
