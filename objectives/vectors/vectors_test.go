package vectors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/tokenize"
)

// words is the vocabulary of counted words, without words that never occur.
func words(counted ...string) *tokenize.Vocabulary {
	counts := map[string]int{}
	for i, word := range counted {
		counts[word] = 100 - i
	}
	return tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{PaddingFactor: 1})
}

func row(t *testing.T, table *Table, id int32, want ...float64) {
	t.Helper()
	got := table.Row(id)
	if len(got) != len(want) {
		t.Fatalf("the row of %d has %d numbers, want %d", id, len(got), len(want))
	}
	for i, x := range got {
		if math.Abs(float64(x)-want[i]) > 1e-6 {
			t.Errorf("the row of %d is %v, want %v", id, got, want)
			return
		}
	}
}

const third = 0.57735026919

// TestReadTextWithAndWithoutHeader: the same vectors either way, with blanks at line ends, a
// byte order mark, tabs, and a word that a Unicode space stands in.
func TestReadTextWithAndWithoutHeader(t *testing.T) {
	v := words("the", "a\u00a0b", "cat", "nowhere")
	body := "the 3 0 4 \ndog 1 1 0\ncat\t0\t2e1\t0\nthe 9 9 9\na\u00a0b 0 0 -1\nbird 3 -1 0"
	for what, text := range map[string]string{
		"without a header": body, "with a header": "6 3\n" + body + "\n", "with a byte order mark": "\ufeff6 3\r\n" + strings.ReplaceAll(body, "\n", "\r\n"),
	} {
		table, err := ReadText(strings.NewReader(text), "x.vec", v)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if table.Width != 3 || table.Unused != 2 || table.Missing != 1 || table.End != "a constant" {
			t.Errorf("%s: the table is %+v", what, table)
		}
		row(t, table, v.ID("the"), 0.6, 0, 0.8)
		row(t, table, v.ID("cat"), 0, 1, 0)
		row(t, table, v.ID("a\u00a0b"), 0, 0, -1)
		row(t, table, v.ID("nowhere"), 0, 0, 0) // <unk> is another symbol
		row(t, table, tokenize.Unk, 1, 0, 0)    // the mean of dog and bird
		row(t, table, tokenize.BOS, 0, 0, 0)
		row(t, table, tokenize.Pad, 0, 0, 0)
		row(t, table, tokenize.EOS, third, -third, third)
	}
}

// TestSpecialVectors: the file's </s> replaces the constant, its <s> and <pad> are left, its
// <unk> serves where every vector stands for a word.
func TestSpecialVectors(t *testing.T) {
	v := words("the")
	table, err := ReadText(strings.NewReader("</s> 0 2\n<s> 1 1\n<pad> 1 1\n<unk> -3 0\nthe 1 0\n"), "x.vec", v)
	if err != nil {
		t.Fatal(err)
	}
	if table.End != "the file" || table.Missing != 0 || table.Unused != 0 {
		t.Errorf("the table is %+v", table)
	}
	row(t, table, tokenize.EOS, 0, 1)
	row(t, table, tokenize.BOS, 0, 0)
	row(t, table, tokenize.Pad, 0, 0)
	row(t, table, tokenize.Unk, -1, 0)
	if table, err = ReadText(strings.NewReader("</s> 0 0\nthe 1 0\n"), "x.vec", v); err != nil || table.End != "a constant" {
		t.Errorf("a zero vector of </s>: %+v (%v)", table, err)
	}
	row(t, table, tokenize.EOS, math.Sqrt2/2, -math.Sqrt2/2)
	row(t, table, tokenize.Unk, 0, 0)
	if table.Missing != 1 {
		t.Errorf("<unk> has no vector, and %d are missing", table.Missing)
	}
}

func binaryFile(count, width int, newline string, entries map[string][]float32, order ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %d\n", count, width)
	for _, word := range order {
		b.WriteString(word + " ")
		binary.Write(&b, binary.LittleEndian, entries[word])
		b.WriteString(newline)
	}
	return b.Bytes()
}

func TestReadBinary(t *testing.T) {
	v := words("the", "cat")
	entries := map[string][]float32{"the": {3, 4}, "cat": {0, -2}, "dog": {1, 1}, "</s>": {1, 0}}
	for _, newline := range []string{"\n", ""} {
		path := filepath.Join(t.TempDir(), "x.bin")
		if err := os.WriteFile(path, binaryFile(4, 2, newline, entries, "</s>", "the", "dog", "cat"), 0o666); err != nil {
			t.Fatal(err)
		}
		table, err := Open(path, v)
		if err != nil {
			t.Fatal(err)
		}
		row(t, table, v.ID("the"), 0.6, 0.8)
		row(t, table, v.ID("cat"), 0, -1)
		row(t, table, tokenize.Unk, math.Sqrt2/2, math.Sqrt2/2)
		row(t, table, tokenize.EOS, 1, 0)
	}
}

// TestFilesThatAreRefused names the file and the place in one sentence.
func TestFilesThatAreRefused(t *testing.T) {
	v := words("the")
	entries := map[string][]float32{"the": {3, float32(math.NaN())}, "cat": {1, 2}}
	for want, read := range map[string]func() (*Table, error){
		"x.vec: the file holds no vectors": func() (*Table, error) { return ReadText(strings.NewReader("\n\n"), "x.vec", v) },
		"x.vec:3: expected a word and 2 numbers": func() (*Table, error) {
			return ReadText(strings.NewReader("2 2\nthe 1 2\ncat 1\n"), "x.vec", v)
		},
		"x.vec:1: expected a word and its numbers": func() (*Table, error) { return ReadText(strings.NewReader("the\n"), "x.vec", v) },
		`x.vec:1: number 2 of "the" is "x"`:        func() (*Table, error) { return ReadText(strings.NewReader("the 1 x\n"), "x.vec", v) },
		`x.vec:1: number 1 of "the" is "nan"`:      func() (*Table, error) { return ReadText(strings.NewReader("the nan 1\n"), "x.vec", v) },
		"announces 3 vectors and 1 are there":      func() (*Table, error) { return ReadText(strings.NewReader("3 2\nthe 1 2\n"), "x.vec", v) },
		"x.vec:1: 3 vectors of 0 numbers":          func() (*Table, error) { return ReadText(strings.NewReader("3 0\nthe 1 2\n"), "x.vec", v) },
		"cut off in vector 2 of the 2": func() (*Table, error) {
			return ReadBinary(bytes.NewReader(binaryFile(2, 2, "\n", entries, "cat")), "x.bin", v)
		},
		"number 2 of vector 1, \"the\"": func() (*Table, error) {
			return ReadBinary(bytes.NewReader(binaryFile(1, 2, "\n", entries, "the")), "x.bin", v)
		},
		"does not begin with the number": func() (*Table, error) { return ReadBinary(strings.NewReader("the cat\n"), "x.bin", v) },
		"x.bin is a fastText model": func() (*Table, error) {
			return ReadBinary(bytes.NewReader(binary.LittleEndian.AppendUint32(nil, 793712314)), "x.bin", v)
		},
		"2 vectors of 99999999 numbers": func() (*Table, error) { return ReadBinary(strings.NewReader("2 99999999\nthe "), "x.bin", v) },
		"no such file":                  func() (*Table, error) { return Open("/nowhere/x.vec", v) },
		"must be at least 1":            func() (*Table, error) { return Build(nil, v, Options{}, 1) },
		"no two words":                  func() (*Table, error) { return Build(nil, v, Options{Width: 300, Window: 2}, 1) },
		"sentence 1 holds symbol 5":     func() (*Table, error) { return Build([][]int32{{5}}, v, Options{Width: 300, Window: 2}, 1) },
	} {
		if _, err := read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

// TestCover: words without a vector leave the vocabulary, the others keep theirs.
func TestCover(t *testing.T) {
	v := words("the", "gone", "cat")
	table, err := ReadText(strings.NewReader("cat 0 1\nthe 1 0\ndog -1 0\n"), "x.vec", v)
	if err != nil {
		t.Fatal(err)
	}
	covered, rest := table.Cover(v, 0)
	if got := strings.Join(covered.Decode([]int32{0, 1, 2, 3, 4, 5}), " "); covered.Len() != 6 || got != "<s> <pad> </s> <unk> the cat" {
		t.Errorf("the covered vocabulary is %s, of %d", got, covered.Len())
	}
	row(t, rest, 4, 1, 0)
	row(t, rest, 5, 0, 1)
	row(t, rest, tokenize.Unk, -1, 0)
	if rest.Missing != 0 || rest.Unused != 1 || rest.End != "a constant" || covered.Count(5) != 98 {
		t.Errorf("the covered table is %+v", rest)
	}
	if again, _ := rest.Cover(covered, 0); again.Hash() != covered.Hash() {
		t.Error("a covered vocabulary changes when it is covered")
	}
	one, first := table.Cover(v, 1)
	if one.Len() != 5 || one.Token(4) != "the" || one.ID("cat") != tokenize.Unk {
		t.Errorf("of the words one is %q", one.Token(4))
	}
	row(t, first, 4, 1, 0)
	row(t, first, tokenize.Unk, -1, 0) // the file's words that the text lacks come first
	if table, err = ReadText(strings.NewReader("cat 0 2\nthe 1 0\ngone 4 0\n"), "x.vec", v); err != nil {
		t.Fatal(err)
	}
	if _, first = table.Cover(v, 1); first.Missing != 0 {
		t.Error("<unk> has no vector, where two words were left out that have one")
	}
	row(t, first, tokenize.Unk, math.Sqrt(0.5), math.Sqrt(0.5))
}

func TestNearest(t *testing.T) {
	v := words("north", "east", "northeast")
	table, err := ReadText(strings.NewReader("north 0 1\neast 1 0\nnortheast 3 4\n"), "x.vec", v)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range table.Nearest(v.ID("north"), 10) {
		got = append(got, fmt.Sprintf("%s %.2f", v.Token(n.ID), n.Cosine))
	}
	if want := []string{"northeast 0.80", "east 0.00", "</s> -0.71"}; !slices.Equal(got, want) {
		t.Errorf("the neighbours are %v, want %v", got, want)
	}
}
