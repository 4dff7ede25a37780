package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
)

// EndOfLine is the word that ends each line of running text.
const EndOfLine = "<eos>"

// UnknownWord stands for words outside a closed vocabulary: an ordinary word, which the texts hold themselves.
const UnknownWord = "<unk>"

// Words is the vocabulary of running text: words, numbered in the order of first appearance, or pieces of byte-level
// byte-pair encoding (pieces.go).
type Words struct {
	list   []string
	ids    map[string]int32
	closed bool // new words are unknown

	pieces *bytebpe.Tokenizer // nil: words, or pieces that are still to be learnt
	learn  int                // size of a vocabulary of pieces that is still to be learnt
}

// NewWords makes a vocabulary that grows with the texts that are read.
func NewWords() *Words { return &Words{ids: map[string]int32{}} }

// Len counts the words.
func (w *Words) Len() int { return len(w.list) }

// Word is the word of an id.
func (w *Words) Word(id int32) string { return w.list[id] }

// Counts are how often each word, by its id, occurs in a text of these words.
func (w *Words) Counts(ids []int32) []float64 {
	counts := make([]float64, len(w.list))
	for _, id := range ids {
		counts[id]++
	}
	return counts
}

// Text is words joined by spaces, or what pieces spell.
func (w *Words) Text(ids []int32) string {
	if w.pieces != nil {
		return w.pieces.Decode(ids)
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = w.list[id]
	}
	return strings.Join(words, " ")
}

// ID is a word's id; in a closed vocabulary a new word has that of UnknownWord, and known is false without one.
func (w *Words) ID(word string) (id int32, known bool) { return w.id([]byte(word)) }

func (w *Words) id(word []byte) (id int32, known bool) {
	if id, known = w.ids[string(word)]; known {
		return id, true
	}
	if w.closed {
		id, known = w.ids[UnknownWord]
		return id, known
	}
	id = int32(len(w.list))
	text := string(word)
	w.list = append(w.list, text)
	w.ids[text] = id
	return id, true
}

// Close makes every further word an unknown one.
func (w *Words) Close() { w.closed = true }

// SortByFrequency renumbers the words by falling count in the training text, equals in their order, and changes all
// texts to match.
func (w *Words) SortByFrequency(training []int32, texts ...[]int32) {
	counts, order := w.Counts(training), all(len(w.list)) // order: new id -> old id
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(counts[b], counts[a]) })
	renamed, list := make([]int32, len(order)), make([]string, len(order))
	for id, old := range order {
		renamed[old], list[id] = int32(id), w.list[old]
		w.ids[list[id]] = int32(id)
	}
	w.list = list
	for _, ids := range texts {
		for i, old := range ids {
			ids[i] = renamed[old]
		}
	}
}

// Hash is a SHA-256, in hexadecimal, over the words in their order, or over the files of pieces.
func (w *Words) Hash() string {
	sum := sha256.New()
	if w.pieces != nil {
		w.pieces.Write(sum, sum) // a hash never fails to write
		return hex.EncodeToString(sum.Sum(nil))
	}
	w.Write(sum)
	return hex.EncodeToString(sum.Sum(nil))
}

// Write writes the words, one a line.
func (w *Words) Write(out io.Writer) error {
	buffer := bufio.NewWriter(out)
	for _, word := range w.list {
		buffer.WriteString(word + "\n")
	}
	return buffer.Flush()
}

// ReadWords reads what Write wrote, as a vocabulary that no longer grows.
func ReadWords(path string) (*Words, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	return WordsOf(text, path)
}

// WordsOf is ReadWords for text in memory; name stands for it in errors.
func WordsOf(text []byte, name string) (*Words, error) {
	w := NewWords()
	lines := tokenize.NewLines(bytes.NewReader(text), name).Table()
	for lines.Next() {
		word := lines.Text()
		if _, found := w.ids[word]; found || word == "" || len(strings.Fields(word)) != 1 {
			return nil, lines.Errorf("%.80q is no new word; restore the file as the run wrote it", word)
		}
		w.id([]byte(word))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(w.list) == 0 {
		return nil, fmt.Errorf("%s: the file holds no words; restore it as the run wrote it", name)
	}
	w.Close()
	return w, nil
}
