package tokenize

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Ids of the four tokens of every vocabulary: start of sentence, padding, end of sentence, unknown.
const (
	BOS = iota
	Pad
	EOS
	Unk
	specialCount
)

var specialTokens = [specialCount]string{"<s>", "<pad>", "</s>", "<unk>"}

// VocabularyOptions choose which tokens enter a vocabulary.
type VocabularyOptions struct {
	// MinCount leaves out rarer tokens.
	MinCount int
	// MaxTypes keeps the most frequent types only, special and padding tokens apart; 0 keeps all.
	MaxTypes int
	// PaddingFactor makes the size a multiple of it by tokens that never occur (madeupword0000 and on); 0 is 8, 1 none.
	PaddingFactor int
}

// Vocabulary numbers tokens as fairseq does: the four special tokens, then types by falling count, equals in code-point
// order. It does not change, so that goroutines may share it.
type Vocabulary struct {
	ids    map[string]int32
	tokens []string
	counts []int
}

// NewVocabulary makes a vocabulary of counted tokens; occurrences of a special token count for it.
func NewVocabulary(counts map[string]int, opts VocabularyOptions) *Vocabulary {
	v := emptyVocabulary(len(counts))
	type counted struct {
		token string
		n     int
	}
	types := make([]counted, 0, len(counts))
	for token, n := range counts {
		if id, special := v.ids[token]; special {
			v.counts[id] = n
		} else if n >= opts.MinCount {
			types = append(types, counted{token, n})
		}
	}
	slices.SortFunc(types, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.token, b.token))
	})
	if opts.MaxTypes > 0 && len(types) > opts.MaxTypes {
		types = types[:opts.MaxTypes]
	}
	for _, t := range types {
		v.add(t.token, t.n)
	}
	factor := cmp.Or(max(opts.PaddingFactor, 0), 8)
	for i := 0; len(v.tokens)%factor != 0; i++ {
		token := MadeUpWord(i)
		if _, taken := v.ids[token]; !taken {
			v.add(token, 0)
		}
	}
	return v
}

func emptyVocabulary(size int) *Vocabulary {
	v := &Vocabulary{ids: make(map[string]int32, size+int(specialCount))}
	for _, token := range specialTokens {
		v.add(token, 0)
	}
	return v
}

func (v *Vocabulary) add(token string, n int) {
	v.ids[token] = int32(len(v.tokens))
	v.tokens = append(v.tokens, token)
	v.counts = append(v.counts, n)
}

// MadeUpWord is the n-th token, from 0, that fills a vocabulary up and never occurs, as fairseq names it.
func MadeUpWord(n int) string { return fmt.Sprintf("madeupword%04d", n) }

// ReadVocabulary reads a dictionary file of fairseq, or your own: "token count" lines in the order of ids from 4 on,
// without the special tokens. name stands for the file in errors.
func ReadVocabulary(r io.Reader, name string) (*Vocabulary, error) {
	v := emptyVocabulary(0)
	lineOf := make(map[string]int)
	rows := newTableRows(r, name)
	for token, n := range rows.counts() {
		if id, taken := v.ids[token]; taken {
			if id < specialCount {
				return nil, rows.Errorf("%.80q is in every vocabulary already; delete the line", token)
			}
			return nil, rows.Errorf("%.80q stands on line %d already; delete one of the two", token, lineOf[token])
		}
		lineOf[token] = rows.Number()
		v.add(token, n)
	}
	if strings.HasSuffix(strings.TrimRight(rows.Text(), " \r"), " #fairseq:overwrite") {
		return nil, rows.Errorf("#fairseq:overwrite is not supported; delete the line, or its mark if the token " +
			"stands nowhere else")
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if v.Len() == int(specialCount) {
		return nil, fmt.Errorf("%s: the vocabulary is empty", name)
	}
	return v, nil
}

// Write writes the vocabulary as ReadVocabulary and fairseq read it.
func (v *Vocabulary) Write(w io.Writer) error {
	return writeRows(w, func(yield func(string, string) bool) {
		for i, token := range v.tokens[specialCount:] {
			if !yield(token, strconv.Itoa(v.counts[specialCount+i])) {
				return
			}
		}
	})
}

// Hash is the SHA-256, in hexadecimal, of what Write writes: equal hashes mean equal ids.
func (v *Vocabulary) Hash() string {
	sum := sha256.New()
	v.Write(sum) // a hash never fails to write
	return hex.EncodeToString(sum.Sum(nil))
}

// Len is the number of tokens, special and padding tokens included.
func (v *Vocabulary) Len() int { return len(v.tokens) }

// ID is the number of a token, Unk when the vocabulary does not have it.
func (v *Vocabulary) ID(token string) int32 {
	if id, ok := v.ids[token]; ok {
		return id
	}
	return Unk
}

// Token is the token of an id, "<unk>" for a number that is none.
func (v *Vocabulary) Token(id int32) string {
	if !v.has(id) {
		id = Unk
	}
	return v.tokens[id]
}

// Count is how often a token was counted, 0 if there is no such id; for special tokens 0 after ReadVocabulary.
func (v *Vocabulary) Count(id int32) int {
	if !v.has(id) {
		return 0
	}
	return v.counts[id]
}

// Counts are the counts of all ids.
func (v *Vocabulary) Counts() []float64 {
	counts := make([]float64, len(v.counts))
	for i, n := range v.counts {
		counts[i] = float64(n)
	}
	return counts
}

func (v *Vocabulary) has(id int32) bool { return id >= 0 && int(id) < len(v.tokens) }

// Encode turns the tokens of a text into ids, never into padding. It adds no end of sentence.
func (v *Vocabulary) Encode(tokens []string) []int32 {
	ids := make([]int32, len(tokens))
	for i, token := range tokens {
		ids[i] = v.wordID(token)
	}
	return ids
}

// wordID is the id of a token of a text. There the padding token is an unknown word, since models pass over padding.
func (v *Vocabulary) wordID(token string) int32 {
	if id := v.ID(token); id != Pad {
		return id
	}
	return Unk
}

// Decode turns ids into tokens, special ones included.
func (v *Vocabulary) Decode(ids []int32) []string {
	tokens := make([]string, len(ids))
	for i, id := range ids {
		tokens[i] = v.Token(id)
	}
	return tokens
}
