package vectors

import (
	"bytes"
	"compress/gzip"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/tokenize"
)

// golden reads what fastText says of words.
func golden(t *testing.T, name string) (words []string, vectors map[string][]float64) {
	t.Helper()
	vectors = map[string][]float64{}
	for line := range strings.Lines(string(read(t, name))) {
		fields := strings.Fields(line)
		var vector []float64
		for _, field := range fields[1:] {
			x, err := strconv.ParseFloat(field+strings.Repeat("p0", 1-strings.Count(field, "p")), 64)
			if err != nil {
				t.Fatal(err)
			}
			vector = append(vector, x)
		}
		words = append(words, fields[0])
		vectors[fields[0]] = vector
	}
	return words, vectors
}

// TestFastTextVectors: words that the models have and words that they lack get fastText's own vectors, scaled to length
// 1; those that are too short for an n-gram, or that a model without n-grams lacks, get none.
func TestFastTextVectors(t *testing.T) {
	for name, composed := range map[string]int{"a": 12, "b": 12, "c": 0, "labels": 12} {
		all, want := golden(t, "fasttext-"+name+".vec")
		counts := map[string]int{}
		for i, word := range all {
			counts[word] = 1000 - 20*i
		}
		v := tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{}) // with symbols that fill up and never occur
		table, err := Open(filepath.Join("testdata", "fasttext-"+name+".bin"), v)
		if err != nil {
			t.Fatal(err)
		}
		for word, vector := range want {
			squares := 0.0
			for _, x := range vector {
				squares += x * x
			}
			got := table.Row(v.ID(word))
			if word == "</s>" && squares == 0 {
				if table.End != FromConstant {
					t.Errorf("%s: the end's vector is from %s", name, table.End)
				}
				continue
			}
			if squares == 0 && table.Has(v.ID(word)) {
				t.Errorf("%s: %s has a vector", name, word)
			}
			for i, x := range vector {
				if squares > 0 && math.Abs(float64(got[i])-x/math.Sqrt(squares)) > 5e-7 {
					t.Errorf("%s: the vector of %s is %v, want %v / %v", name, word, got, vector, math.Sqrt(squares))
					break
				}
			}
		}
		if table.Composed != composed || table.Known != 19 || table.Unused != 0 {
			t.Errorf("%s: %d vectors are of n-grams, %d of the file, and %d unused", name, table.Composed, table.Known,
				table.Unused)
		}
		for id := range int32(v.Len()) {
			if v.Count(id) == 0 && id > tokenize.Unk && table.Has(id) {
				t.Errorf("%s: %q has a vector", name, v.Token(id))
			}
		}
	}
}

// TestFastTextWordsOutside: their mean is <unk>'s vector, as of the text file of the same model.
func TestFastTextWordsOutside(t *testing.T) {
	all, want := golden(t, "fasttext-a.vec")
	v := words(all[:15]...)
	mean := make([]float64, 7)
	for _, word := range all[15:19] {
		for i, x := range want[word] {
			mean[i] += x / 4
		}
	}
	squares := 0.0
	for _, x := range mean {
		squares += x * x
	}
	for i := range mean {
		mean[i] /= math.Sqrt(squares)
	}
	table, err := Open(filepath.Join("testdata", "fasttext-a.bin"), v)
	if err != nil {
		t.Fatal(err)
	}
	row(t, table, tokenize.Unk, mean...)
	if table.Unused != 4 || table.End != FromFile {
		t.Errorf("%d vectors are unused, and that of </s> is from %s", table.Unused, table.End)
	}
	list, err := ReadAll(filepath.Join("testdata", "fasttext-a.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if list.Width != 7 || len(list.Words) != 20 || len(list.Rows) != 7*20 {
		t.Errorf("there are %d words of width %d", len(list.Words), list.Width)
	}
	for i, word := range list.Words {
		for j, x := range want[word] {
			if math.Abs(float64(list.Rows[7*i+j])-x) > 1e-8 {
				t.Errorf("%s: number %d is %v, want %v", word, j, list.Rows[7*i+j], x)
			}
		}
	}
}

// TestPackedFiles: each format gives the same table from a packed file, whatever its name.
func TestPackedFiles(t *testing.T) {
	all, _ := golden(t, "fasttext-a.vec")
	v := words(append([]string{"the", "cat"}, all...)...)
	var text strings.Builder
	text.WriteString("22 2\n")
	for i, word := range all[:22] {
		text.WriteString(word + " " + strconv.Itoa(i-5) + " 0.5 \n")
	}
	entries := map[string][]float32{}
	for i, word := range all[:22] {
		entries[word] = []float32{float32(i), 1}
	}
	for format, content := range map[string]string{
		"text": text.String(), "word2vec": string(binaryFile(22, 2, "\n", entries, all[:22]...)),
		"fastText": string(read(t, "fasttext-a.bin")),
	} {
		plain, err := open(t, "x", content, v)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := open(t, "x.vec", string(packed(t, content)), v)
		if err != nil {
			t.Fatal(err)
		}
		unpacked.Source = plain.Source
		if diff := cmp.Diff(plain, unpacked); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func packed(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
