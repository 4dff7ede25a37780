package vectors

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// Where the vector of </s> is from.
const (
	FromFile     = "the file"
	FromConstant = "a constant"
)

// The Source of vectors that are made from text.
const fromText = "the training text"

// Table holds the vectors of a vocabulary.
type Table struct {
	Width int       // M, components of a vector
	Rows  []float32 // [V*M], rows of length 1 in the order of ids; zero where there is no vector

	// Of a file: Known of the Words of the training text stand in it, which make up a Share of the running text; to
	// Composed others a model of fastText gave the mean of their n-grams.
	Words, Known, Composed int
	Share                  float64

	Missing int    // symbols without a vector, beside padding and <s>
	Unused  int    // vectors of the file that stand for no symbol; their mean is <unk>'s
	End     string // where the vector of </s> is from: FromFile or FromConstant
	// Source says where the others are from: "the training text", or the name of the file.
	Source string
	SHA256 string // of the file, in hexadecimal, where the caller set it
}

func newTable(v *tokenize.Vocabulary, width int) *Table {
	return &Table{Width: width, Rows: make([]float32, v.Len()*width)}
}

// Row is the vector of a symbol.
func (t *Table) Row(id int32) []float32 { return t.Rows[int(id)*t.Width : (int(id)+1)*t.Width] }

func (t *Table) len() int32 { return int32(len(t.Rows) / max(t.Width, 1)) }

// Has reports whether a symbol has a vector.
func (t *Table) Has(id int32) bool {
	return slices.ContainsFunc(t.Row(id), func(x float32) bool { return x != 0 })
}

// finish scales rows to length 1, gives </s> its constant where it has no vector, and counts the symbols without one.
func (t *Table) finish() {
	clear(t.Row(tokenize.BOS))
	clear(t.Row(tokenize.Pad))
	if t.End == "" {
		t.constantEnd()
	}
	for id := range t.len() {
		if !normalize(t.Row(id)) && id != tokenize.BOS && id != tokenize.Pad {
			t.Missing++
		}
	}
}

// EndByConstant gives </s> the constant, whatever the file has.
func (t *Table) EndByConstant() {
	t.constantEnd()
	normalize(t.Row(tokenize.EOS))
}

func (t *Table) constantEnd() {
	t.End = FromConstant
	end := t.Row(tokenize.EOS)
	for i := range end {
		end[i] = float32(1 - 2*(i%2))
	}
}

// normalize scales a row to length 1; a row too short for that becomes zero, and false is returned.
func normalize(row []float32) bool {
	squares := 0.0
	for _, x := range row {
		squares += float64(x) * float64(x)
	}
	length := math.Sqrt(squares)
	if length < 1e-12 {
		clear(row)
		return false
	}
	for i, x := range row {
		row[i] = float32(float64(x) / length)
	}
	return true
}

// Cover leaves out of a vocabulary the words that have no vector, and of the others all but the size most
// frequent; size 0 keeps them all. It gives the table of the words that stay. The four symbols that every vocabulary
// begins with stay in any case. Where <unk> has no vector and words were left out for the size, it gets the mean of
// theirs.
func (t *Table) Cover(v *tokenize.Vocabulary, size int) (*tokenize.Vocabulary, *Table) {
	counts := map[string]int{}
	for id := range int32(v.Len()) {
		if id <= tokenize.Unk || t.Has(id) {
			counts[v.Token(id)] = v.Count(id)
		}
	}
	covered := tokenize.NewVocabulary(counts, tokenize.VocabularyOptions{PaddingFactor: 1, MaxTypes: size})
	out := newTable(covered, t.Width)
	out.Unused, out.End, out.Source, out.SHA256 = t.Unused, t.End, t.Source, t.SHA256
	out.Words, out.Known, out.Composed, out.Share = t.Words, t.Known, t.Composed, t.Share
	for id := range int32(covered.Len()) {
		// Its own words are found by name, for a file of words may have another order than counts give.
		from := id
		if id > tokenize.Unk {
			from = v.ID(covered.Token(id))
		}
		copy(out.Row(id), t.Row(from))
	}
	if unk := out.Row(tokenize.Unk); !out.Has(tokenize.Unk) {
		for id := int32(tokenize.Unk + 1); id < int32(v.Len()); id++ {
			if covered.ID(v.Token(id)) == tokenize.Unk {
				for i, x := range t.Row(id) {
					unk[i] += x
				}
			}
		}
		if !normalize(unk) {
			out.Missing = 1
		}
	}
	return covered, out
}

// Neighbour is a symbol with its cosine.
type Neighbour struct {
	ID     int32
	Cosine float64
}

// Nearest gives the k symbols whose vectors are nearest to that of id, nearest first,
// without itself and symbols that have no vector.
func (t *Table) Nearest(id int32, k int) []Neighbour {
	var all []Neighbour
	own := t.Row(id)
	for other := range t.len() {
		if other == id || !t.Has(other) {
			continue
		}
		dot := 0.0
		for i, x := range t.Row(other) {
			dot += float64(x) * float64(own[i])
		}
		all = append(all, Neighbour{other, dot})
	}
	slices.SortStableFunc(all, func(a, b Neighbour) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return all[:min(k, len(all))]
}

// Describe says in a line or two where the vectors are from. The vector of </s> decides where sentences end: where a
// file brings it, the words next to it are worth a look.
func (t *Table) Describe(words *tokenize.Vocabulary) []string {
	line := fmt.Sprintf("target vectors: %d numbers, made from the training text", t.Width)
	if t.Source != fromText {
		line = fmt.Sprintf("target vectors: %d numbers, read from %s, where %d words are not of the training text; "+
			"their mean is that of <unk>", t.Width, t.Source, t.Unused)
		if t.Words > 0 {
			line += fmt.Sprintf("; it has %d of the text's %d words, %.1f %% of the running text", t.Known, t.Words,
				100*t.Share)
		}
		if t.Composed > 0 {
			line += fmt.Sprintf(", and n-grams for %d more", t.Composed)
		}
	}
	if t.End != FromFile {
		return []string{line}
	}
	var near []string
	for _, n := range t.Nearest(tokenize.EOS, 5) {
		near = append(near, fmt.Sprintf("%s %.2f", words.Token(n.ID), n.Cosine))
	}
	return []string{line, "the file has a vector for the end of a sentence, near " + strings.Join(near, ", ")}
}

// Hash is the SHA-256, in hexadecimal, of the rows.
func (t *Table) Hash() string {
	sum := sha256.New()
	for rows := range slices.Chunk(t.Rows, 1<<16) { // what binary.Write is given it copies whole
		binary.Write(sum, binary.LittleEndian, rows) // a hash never fails to write
	}
	return hex.EncodeToString(sum.Sum(nil))
}
