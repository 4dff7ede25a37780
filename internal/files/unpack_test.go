package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// What is packed comes out as it was, in whatever pieces it arrives, and what is not packed as it is.
func TestUnpack(t *testing.T) {
	for _, text := range []string{"", "a", "(", "(\n", "B", "BZh", "PK", "\x1f", "\x28\xb5", "\xfd7", "a line\n",
		strings.Repeat("0123456789", 50_000)} {
		byGzip, byZstandard := fixtures.Gzip(t, text), fixtures.Zstandard(t, text)
		for packing, stream := range map[string]string{"": text, "gzip": byGzip, "Zstandard": byZstandard} {
			for _, from := range []io.Reader{strings.NewReader(stream),
				iotest.OneByteReader(strings.NewReader(stream))} {
				u, err := Unpack(from)
				if err != nil {
					t.Fatalf("%.10q packed with %q: %v", text, packing, err)
				}
				got, err := io.ReadAll(u)
				u.Close()
				if err != nil || string(got) != text || u.Packing != packing {
					t.Errorf("%.10q packed with %q: %d bytes of %q, %v", text, packing, len(got), u.Packing, err)
				}
			}
		}
	}
}

// pzstd writes a frame to be skipped, which holds the length of the next one, before each frame (RFC 8878, 3.1.2).
func TestUnpackSkippedFrames(t *testing.T) {
	var stream []byte
	for _, text := range []string{"one\n", "two\n"} {
		frame := fixtures.Zstandard(t, text)
		stream = append(stream, "P*M\x18\x04\x00\x00\x00"...)
		stream = append(binary.LittleEndian.AppendUint32(stream, uint32(len(frame))), frame...)
	}
	u, err := Unpack(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if got, err := io.ReadAll(u); err != nil || string(got) != "one\ntwo\n" || u.Packing != "Zstandard" {
		t.Errorf("%q of %q, %v", got, u.Packing, err)
	}
}

// Someone who types a line gets it before there is more.
func TestUnpackDoesNotWait(t *testing.T) {
	for _, line := range []string{"a\n", "(\n", "B\n", "P\n"} {
		in, out := io.Pipe()
		go out.Write([]byte(line))
		u, err := Unpack(in)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10)
		if n, err := u.Read(got); err != nil || string(got[:n]) != line {
			t.Errorf("%q came as %q, %v", line, got[:n], err)
		}
		in.Close()
	}
}

// The error of a stream is its own, and no damage.
func TestUnpackErrors(t *testing.T) {
	long := strings.Repeat("0123456789", 50_000)
	byGzip, byZstandard := fixtures.Gzip(t, long), fixtures.Zstandard(t, long)
	broken := errors.New("the line is dead")
	for packing, stream := range map[string]string{"gzip": byGzip, "Zstandard": byZstandard} {
		u, err := Unpack(io.MultiReader(strings.NewReader(stream[:len(stream)/2]), iotest.ErrReader(broken)))
		if err == nil {
			_, err = io.ReadAll(u)
		}
		if !errors.Is(err, broken) || strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: a stream that broke gives %v", packing, err)
		}
		u, err = Unpack(strings.NewReader(stream[:len(stream)/2]))
		if err == nil {
			_, err = io.ReadAll(u)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "its packing ("+packing+") is damaged or cut short: ") {
			t.Errorf("%s: what is cut gives %v", packing, err)
		}
	}
	for packing, start := range map[string]string{"zip": "PK\x03\x04", "bzip2": "BZh91AY&SY", "xz": "\xfd7zXZ\x00"} {
		if _, err := Unpack(strings.NewReader(start + "more")); err == nil ||
			!strings.HasPrefix(err.Error(), "it is packed with "+packing+", and only") {
			t.Errorf("%s gives %v", packing, err)
		}
	}
}

// A file goes before a packed one of its name.
func TestOpen(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	byGzip, byZstandard := fixtures.Gzip(t, "packed"), fixtures.Zstandard(t, "packed")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path+":") ||
		Exists(path) {
		t.Errorf("no file gives %v", err)
	}
	for _, c := range []struct{ name, content, want string }{{"a.zst", byZstandard, "packed"},
		{"a.gz", byGzip, "packed"}, {"a", "plain", "plain"}} {
		if err := os.WriteFile(filepath.Join(folder, c.name), []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		in, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if err != nil || string(got) != c.want || filepath.Base(in.File.Name()) != c.name || !Exists(path) {
			t.Errorf("%s: %q of %s, %v", c.name, got, in.File.Name(), err)
		}
		in.Close()
		if PlainName(c.name) != "a" {
			t.Errorf("%s is called %s", c.name, PlainName(c.name))
		}
	}
}
