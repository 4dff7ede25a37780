package vectors

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// FuzzOpen reads a file of any of the formats for a vocabulary, and whole: vectors are finite, and of length 1 or 0.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"fasttext-a.bin", "fasttext-c.bin", "fasttext-labels.bin"} {
		f.Add(read(f, name))
	}
	entries := map[string][]float32{"the": {3, 1}, "cat": {1, 2}}
	for _, text := range []string{
		"", "the 1 2\ncat 3 4\n", "2 2\nthe 1 2\ncat 3 4\n", "\ufeff1 1\nthe 1\n", "the\t1  2\r\n", "the nan 1\n", "1 65536\nthe 1\n",
		"9223372036854775807 1\nthe \x00\x00\x00\x00", "the 1 1e39\ncat 1e-50 0x1p3\n", "New York 1 2\nthe 3 4\n",
		string(binaryFile(2, 2, "\n", entries, "the", "cat")), string(binaryFile(2, 2, "", entries, "the", "cat")),
		fixtures.Gzip(f, "the 1 2\ncat 3 4\n"), fixtures.Zstandard(f, "the 1 2\n"), "\x80\x04\x95", "PK\x03\x04",
		"the \x1b[2J\n", strings.Repeat("z", 2000) + " 1\n",
	} {
		f.Add([]byte(text))
	}
	f.Add(grams(4000, 90))
	v := words("the", "cat", "sat", "x")
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(folder, "x.vec")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var table *Table
		if fixtures.Promise(t, unpackedBytes(data), func() (err error) { table, err = Open(path, v); return err }) == nil {
			for id := range int32(v.Len()) {
				squares := 0.0
				for _, x := range table.Row(id) {
					squares += float64(x) * float64(x)
				}
				if math.Abs(squares-1) > 1e-3 && squares != 0 {
					t.Errorf("the vector of %q has length %v", v.Token(id), math.Sqrt(squares))
				}
			}
		}
		var list *List
		if fixtures.Promise(t, unpackedBytes(data), func() (err error) { list, err = ReadAll(path); return err }) == nil {
			if len(list.Rows) != len(list.Words)*list.Width {
				t.Errorf("%d words of width %d have %d numbers", len(list.Words), list.Width, len(list.Rows))
			}
		}
	})
}

// unpackedBytes is a bound of what little fuzzed data may unpack to.
func unpackedBytes(data []byte) int {
	if len(data) > 2 && (string(data[:2]) == "\x1f\x8b" || string(data[:2]) == "\x28\xb5") {
		return 1000*len(data) + 4<<20 // what Zstandard may set aside
	}
	return len(data)
}

// grams is a model of fastText that holds together: one word of that many bytes, and n-grams of 1 to longest
// characters.
func grams(word, longest int) []byte {
	fields := []uint32{793712314, 12, 1, 5, 1, 1, 5, 1, 2, 2, 1000, 1, uint32(longest), 100, 0, 0, 1, 1, 0, 1, 0,
		math.MaxUint32, math.MaxUint32}
	var out []byte
	for _, x := range fields {
		out = binary.LittleEndian.AppendUint32(out, x)
	}
	out = append(append(out, strings.Repeat("x", word)...), make([]byte, 10)...)
	for _, rows := range []int{1001, 1} {
		out = append(out, 0)
		out = binary.LittleEndian.AppendUint64(out, uint64(rows))
		out = binary.LittleEndian.AppendUint64(out, 1)
		out = append(out, make([]byte, 4*rows)...)
	}
	return out
}

// TestManyGrams: words of 4 kB with n-grams of 1 to 90 characters take no more memory than a small multiple of the
// file; such a word took 800 times its size.
func TestManyGrams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.bin")
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(grams(100, 6))
	if list, err := ReadAll(path); err != nil || len(list.Words) != 1 {
		t.Fatalf("an ordinary word gave %v, %v", list, err)
	}
	write(grams(4000, 90))
	_, err := ReadAll(path)
	if err == nil || !strings.HasSuffix(err.Error(),
		"1 words have more n-grams of 1 to 90 characters than its matrix has room for: the fastText model is damaged") {
		t.Errorf("the error is %v", err)
	}
}
