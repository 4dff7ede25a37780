package vectors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/tokenize"
)

// TestFilesThatAreRefused names the file, the place and what to do, in one sentence.
func TestFilesThatAreRefused(t *testing.T) {
	v := words("the", "cat", "sat", "on", "a", "mat")
	all := "the 1 2\ncat 1 2\nsat 1 2\non 1 2\n"
	entries := map[string][]float32{"the": {3, float32(math.NaN())}, "cat": {1, 2}, "sat": {4, 5},
		"a": {float32(math.Inf(1)), 1}}
	model := read(t, "fasttext-a.bin")
	nan := append([]byte(nil), model...)
	copy(nan[matrixAt(nan):], "\xff\xff\xff\xff")
	patched := func(at int, value uint32) string {
		raw := append([]byte(nil), model...)
		binary.LittleEndian.PutUint32(raw[at:], value)
		return string(raw)
	}
	outputAt := matrixAt(model) + 320*28 + 1
	matrix := func(at int, rows, columns uint64) string {
		raw := append([]byte(nil), model...)
		binary.LittleEndian.PutUint64(raw[at:], rows)
		binary.LittleEndian.PutUint64(raw[at+8:], columns)
		return string(raw)
	}
	for _, c := range []struct{ name, content, want string }{
		{"empty.vec", "", "empty.vec: the file is empty"},
		{"x.vec", "\n\n", "x.vec: the file holds no vectors"},
		{"x.vec", "2 2\nthe 1 2\ncat 1\n", `x.vec:3: expected a word and 2 numbers, as the first line announces, not "cat 1": mend`},
		{"x.vec", "\nthe 1 2\ncat 1 2 3\ncat  1\n", `x.vec:4: number`},
		{"x.vec", "the 1 2\nwhale 1\n", `x.vec:2: expected a word and 2 numbers, as line 1 has, not "whale 1"`},
		{"x.vec", "the 1 2\n 1 2\n", `x.vec:2: expected a word and 2 numbers`},
		{"x.vec", "the\n", "x.vec:1: expected a word and its numbers"},
		{"README", "These are vectors of words\n",
			`README:1: expected a word and its numbers, not "These are vectors of words": the file is no vectors`},
		{"x.vec", "the 1 x\n", `x.vec:1: number 2 of "the" is "x", which is no finite number: mend or delete`},
		{"x.vec", all + "a nan 1\n", `x.vec:5: number 1 of "a" is "nan"`},
		{"x.vec", all + "a 1 -inf\n", `x.vec:5: number 2 of "a" is "-inf"`},
		{"x.vec", all + "a 1 1e39\n", `x.vec:5: number 2 of "a" is "1e39"`},
		{"x.vec", "3 2\nthe 1 2\n", "x.vec is cut off: its first line announces 3 vectors and 1 are there"},
		{"x.vec", "3 0\nthe 1 2\n", "x.vec:1: 3 vectors of 0 numbers"},
		{"x.vec", "1 2\n" + strings.Repeat("x", longestLine+2*pieceBytes) + " 1 2\n",
			"x.vec:2: this line has more than"},
		{"x.vec", strings.Repeat("x", longestLine+pieceBytes) + " 1 2\n",
			"x.vec:1: this line has more than 4194304 bytes"},
		{"x.vec", "dog 1 2\nbird 1 2\n", "x.vec has a vector for none of the 6 words of the training text: give " +
			"vectors of the target language"},
		{"english.vec", "the 1 2\ndog 1 2\n",
			"english.vec has vectors of 1 of the 6 words, which make up 17 % of the training text: it seems to be " +
				"another language's"},
		{"x.zip", "PK\x03\x04....", "x.zip: it is packed with zip, and only gzip and Zstandard are unpacked here: " +
			"unpack it"},
		{"x.kv", "\x80\x04\x95\x00\x00\x00", "x.kv holds no vectors: wanted are text (.vec)"},
		{"x.bin", string(binaryFile(3, 2, "\n", entries, "cat", "sat")), "x.bin is cut off at byte 30"},
		{"x.bin", "4611686018427387904 4\nthe \x00\x00\x00\x00",
			"x.bin is cut off at byte 30, or its first line is wrong: 4611686018427387904 vectors of 4 numbers are " +
				"more than it holds"},
		{"x.bin", string(binaryFile(3, 2, "\n", entries, "cat", "sat", "cat"))[:35],
			"x.bin is cut off at byte 35, in vector 3"},
		{"x.bin", string(binaryFile(1, 2, "\n", entries, "the")),
			`x.bin: number 2 of vector 1, "the", at byte 12, is no finite number`},
		{"x.bin", string(binaryFile(2, 2, "\n", entries, "cat", "a")),
			`x.bin: number 1 of vector 2, "a", at byte 19, is no finite number`},
		{"x.bin", string(binaryFile(1, 2, "\n", entries, "cat", "sat")),
			"x.bin: behind the 1 vectors of 2 numbers that it announces there are 13 bytes more, from byte 17 on"},
		{"x.bin", "2 1\n" + strings.TrimPrefix(string(binaryFile(2, 2, "", entries, "cat", "sat")), "2 2\n"),
			"x.bin: no word stands at byte 12, where vector 2 of 2 should begin: the width of 1"},
		{"x.bin", "2 99999999\nthe \x00\x00", "2 vectors of 99999999 numbers"},
		{"f.bin", string(model[:50]), "f.bin is cut off at byte 50, in the head of a fastText model"},
		{"f.bin", string(model[:150]), "f.bin is cut off at byte 150, in the words of a fastText model"},
		{"f.bin", string(model[:matrixAt(model)+100]),
			"in the matrix of word vectors of a fastText model, which announces 320 rows of 28 bytes or more: get the " +
				"file again"},
		{"f.bin", string(model[:len(model)-1]),
			fmt.Sprintf("f.bin is cut off at byte %d, in the output matrix", len(model)-1)},
		{"f.bin", string(nan), fmt.Sprintf("f.bin: number 1 of row 1, at byte %d, is no finite number",
			matrixAt(model))},
		{"f.bin", patched(4, 13), "f.bin is a fastText model of version 13"},
		{"f.bin", patched(8, 9), "in the matrix of word vectors of a fastText model, which announces 320 rows of 36 " +
			"bytes or more"},
		{"f.bin", patched(8, 6), "vectors of 6 numbers: the fastText model is damaged"},
		{"f.bin", patched(8, 0), "vectors of 0 numbers for"},
		{"f.bin", patched(68, 3), "more than 3 words"},
		{"f.bin", patched(64, 1<<30), "in the words of a fastText model, which announces 1073741824 rows of 10 bytes " +
			"or more"},
		{"f.bin", patched(40, 1<<25), "in the matrix of word vectors of a fastText model, which announces 3355"},
		{"f.bin", patched(48, 1<<30), "to maxn = 1073741824 characters make no sense: the fastText model is damaged"},
		{"f.bin", patched(44, 1<<31), "n-grams of minn = -2147483648"},
		{"f.bin", matrix(matrixAt(model)-16, 1<<62, 7),
			"in the matrix of word vectors of a fastText model, which announces 4611686018427387904 rows of 28 bytes"},
		{"f.bin", matrix(matrixAt(model)-16, 1<<63, 7), "a matrix of -9223372036854775808 by 7"},
		{"f.bin", matrix(outputAt, 1<<62, 7),
			"in the output matrix of a fastText model, which announces 4611686018427387904 rows of 28 bytes"},
		{"f.bin", matrix(outputAt, 1<<62, 1<<62),
			"an output matrix of 4611686018427387904 by 4611686018427387904 makes no sense"},
		{"f.bin", matrix(outputAt, 1<<61, 0), "an output matrix of 2305843009213693952 by 0 makes no sense"},
		{"q.ftz", string(read(t, "fasttext-q.ftz")),
			"q.ftz is a quantised fastText model, which is not read: give the .bin that it was made from"},
		{"x.vec.gz", string(packed(t, all))[:20],
			"x.vec.gz: its packing (gzip) is damaged or cut short: unexpected EOF; get"},
		{"x.bin.gz", string(packed(t, string(binaryFile(3, 2, "\n", entries, "cat", "sat")))),
			"x.bin.gz is cut off at byte 30, in vector 3"},
		{"x.vec.gz", strings.Replace(string(packed(t, all)), string(packed(t, all)[len(packed(t, all))-8:]), "12345678",
			1), "x.vec.gz: its packing (gzip) is damaged"},
	} {
		_, err := open(t, c.name, c.content, v)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error is %v, want one with %q", err, c.want)
		}
	}
	if _, err := Open("/nowhere/x.vec", v); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for want, build := range map[string]func() (*Table, error){
		"must be at least 1": func() (*Table, error) { return Build(nil, v, Options{}, 1) },
		"no two words":       func() (*Table, error) { return Build(nil, v, Options{Width: 300, Window: 2}, 1) },
		"sentence 1 holds symbol 5": func() (*Table,
			error) {
			return Build([][]int32{{5}}, words(), Options{Width: 300, Window: 2}, 1)
		},
	} {
		if _, err := build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

// TestVectorsOfAnotherLanguage: English vectors for a German text are refused, though the two share words and marks.
func TestVectorsOfAnotherLanguage(t *testing.T) {
	german := tokenize.NewVocabulary(map[string]int{".": 10, "in": 3, "ein": 9, "mann": 5, "die": 4, "frau": 4,
		"und": 6, "geht": 2}, tokenize.VocabularyOptions{})
	_, err := open(t, "x.vec", "a 1 2\n. 2 3\nin 2 1\nman 3 1\ndie 4 4\n", german)
	if err == nil ||
		!strings.Contains(err.Error(), "x.vec has vectors of 3 of the 8 words, which make up 40 % of the training "+
			"text") {
		t.Errorf("the error is %v", err)
	}
}

// matrixAt is where the numbers of a fastText model's input matrix begin.
func matrixAt(model []byte) int {
	at := 92
	for range binary.LittleEndian.Uint32(model[64:]) {
		at += strings.IndexByte(string(model[at:]), 0) + 10
	}
	return at + 17
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
