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

// open writes a file and opens it.
func open(t *testing.T, name, content string, v *tokenize.Vocabulary) (*Table, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return Open(path, v)
}

const third = 0.57735026919

// TestReadTextWithAndWithoutHeader: the same vectors either way, with blanks at line ends, a
// byte order mark, tabs, and a word that a Unicode space stands in.
func TestReadTextWithAndWithoutHeader(t *testing.T) {
	v := words("the", "a\u00a0b", "cat", "nowhere")
	body := "the 3 0 4 \ndog 1 1 0\ncat\t0\t2e1\t0\nthe 9 9 9\na\u00a0b 0 0 -1\nbird 3 -1 0"
	for what, text := range map[string]string{
		"without a header": body, "with a header": "6 3\n" + body + "\n", "with a byte order mark": "\ufeff6 3\r\n" +
			strings.ReplaceAll(body, "\n", "\r\n"),
	} {
		table, err := open(t, "x.vec", text, v)
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

// TestFormats: text and binary are told apart by what follows the first line, with few and short numbers too.
func TestFormats(t *testing.T) {
	entries := map[string][]float32{"ü": {3, 4}, "\u00e9t\u00e9": {0.11, -0.5}, "x": {-2.5e-7, 1e20}}
	for content, want := range map[string]format{
		"2 1\nü 1\nß 2\n":                  textFormat,
		"2 2\nü\t1\t2\nü é\t1\t2\n":        textFormat,
		"2 2\nü 1\nß 2 2\n":                textFormat, // ragged
		"2 2\nü nan 1\nß 2 2\n":            textFormat,
		"ü 1 2\n":                          textFormat,
		"5 5\n":                            textFormat,
		"":                                 textFormat,
		"\xba\x16\x4f\x2f\x0c\x00\x00\x00": fastTextFormat,
		"\x93NUMPY\x01\x00":                noFormat,
		string(binaryFile(1, 2, "", entries, "ü")):                    word2vecFormat,
		string(binaryFile(2, 2, "\n", entries, "\u00e9t\u00e9", "x")): word2vecFormat,
		string(binaryFile(1, 2, "\n", entries, "x")):                  word2vecFormat,
	} {
		if got := recognize([]byte(content)); got != want {
			t.Errorf("%q is format %d, want %d", content, got, want)
		}
	}
}

// TestSpecialVectors: the file's </s> replaces the constant, its <s> and <pad> are left, its
// <unk> serves where every vector stands for a word.
func TestSpecialVectors(t *testing.T) {
	v := words("the")
	table, err := open(t, "x.vec", "</s> 0 2\n<s> 1 1\n<pad> 1 1\n<unk> -3 0\nthe 1 0\n", v)
	if err != nil {
		t.Fatal(err)
	}
	if table.End != "the file" || table.Missing != 0 || table.Unused != 0 {
		t.Errorf("the table is %+v", table)
	}
	row(t, table, tokenize.EOS, 0, 1)
	if table.EndByConstant(); table.End != "a constant" {
		t.Errorf("</s> has its vector from %s", table.End)
	}
	row(t, table, tokenize.EOS, math.Sqrt2/2, -math.Sqrt2/2)
	row(t, table, tokenize.BOS, 0, 0)
	row(t, table, tokenize.Pad, 0, 0)
	row(t, table, tokenize.Unk, -1, 0)
	if table, err = open(t, "x.vec", "</s> 0 0\nthe 1 0\n", v); err != nil || table.End != "a constant" {
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

// TestCover: words without a vector leave the vocabulary, the others keep theirs.
func TestCover(t *testing.T) {
	v := words("the", "gone", "cat")
	table, err := open(t, "x.vec", "cat 0 1\nthe 1 0\ndog -1 0\n", v)
	if err != nil {
		t.Fatal(err)
	}
	covered, rest := table.Cover(v, 0)
	if got := strings.Join(covered.Decode([]int32{0, 1, 2, 3, 4, 5}), " "); covered.Len() != 6 ||
		got != "<s> <pad> </s> <unk> the cat" {
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
	if table, err = open(t, "x.vec", "cat 0 2\nthe 1 0\ngone 4 0\n", v); err != nil {
		t.Fatal(err)
	}
	if _, first = table.Cover(v, 1); first.Missing != 0 {
		t.Error("<unk> has no vector, where two words were left out that have one")
	}
	row(t, first, tokenize.Unk, math.Sqrt(0.5), math.Sqrt(0.5))
}

func TestNearest(t *testing.T) {
	v := words("north", "east", "northeast")
	table, err := open(t, "x.vec", "north 0 1\neast 1 0\nnortheast 3 4\n", v)
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
