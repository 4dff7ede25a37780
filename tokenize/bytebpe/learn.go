package bytebpe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/tokenize"
)

// Counts counts the words of texts, by GPT-2's pattern. The zero value is ready for use.
type Counts struct{ raw map[string]int }

// Add counts the words of a text, which begins and ends a word.
func (c *Counts) Add(text []byte) {
	if c.raw == nil {
		c.raw = map[string]int{}
	}
	for len(text) > 0 {
		n := firstWord(text)
		c.raw[string(text[:n])]++
		text = text[n:]
	}
}

// MinFrequency is how often a pair has to be seen for a merge, as in Hugging Face's trainer.
const MinFrequency = 2

// Learn learns a vocabulary of a size from the words that were counted, as Hugging Face's ByteLevelBPETokenizer does
// with the same lines: the 256 bytes by their printable forms, then what merges make (see [tokenize.LearnUnits]). It is
// smaller where no pair is left that is seen MinFrequency times.
func Learn(c *Counts, size int) *Tokenizer {
	words := make([]string, 0, len(c.raw))
	for word := range c.raw {
		words = append(words, word)
	}
	slices.Sort(words)
	var counts tokenize.WordCounts
	for _, word := range words {
		counts.Add(print([]byte(word)), c.raw[word])
	}
	letters := slices.Clone(printable[:])
	slices.Sort(letters)
	t := &Tokenizer{ids: map[string]int32{}, merges: map[[2]int32]merge{}}
	for _, letter := range letters {
		t.add(string(letter))
	}
	for b, letter := range printable {
		t.bytes[b] = t.ids[string(letter)]
	}
	for rank, m := range tokenize.LearnUnits(&counts, t.units, size, MinFrequency) {
		pair := [2]int32{t.ids[m.Left], t.ids[m.Right]}
		t.merges[pair] = merge{int32(rank), t.add(m.Left + m.Right)}
	}
	return t
}

// add gives the id of a unit, a new one where it has none.
func (t *Tokenizer) add(unit string) int32 {
	id, known := t.ids[unit]
	if !known {
		id = int32(len(t.units))
		t.ids[unit] = id
		t.units = append(t.units, unit)
	}
	return id
}

// print is the printable form of bytes.
func print(raw []byte) string {
	var b strings.Builder
	for _, x := range raw {
		b.WriteRune(printable[x])
	}
	return b.String()
}

// Write writes vocab.json and merges.txt, as Read reads them and Hugging Face's tokenizers write them.
func (t *Tokenizer) Write(vocabulary, merges io.Writer) error {
	out := bufio.NewWriter(vocabulary)
	between := "{"
	for id, unit := range t.units {
		if unit == "" {
			continue
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // <|endoftext|> is written as it is
		if err := encoder.Encode(unit); err != nil {
			return err
		}
		out.WriteString(between + strings.TrimSpace(text.String()) + ":" + strconv.Itoa(id))
		between = ","
	}
	out.WriteString("}")
	if err := out.Flush(); err != nil {
		return err
	}
	type ranked struct {
		rank int32
		pair [2]int32
	}
	all := make([]ranked, 0, len(t.merges))
	for pair, m := range t.merges {
		all = append(all, ranked{m.rank, pair})
	}
	slices.SortFunc(all, func(a, b ranked) int { return int(a.rank - b.rank) })
	out.Reset(merges)
	out.WriteString("#version: 0.2\n")
	for _, m := range all {
		out.WriteString(t.units[m.pair[0]] + " " + t.units[m.pair[1]] + "\n")
	}
	return out.Flush()
}
