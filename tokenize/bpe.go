package tokenize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DefaultSeparator ends every unit that is not the last of its word.
const DefaultSeparator = "@@"

// BPEOptions change how words are segmented. The zero value segments as the codes say.
type BPEOptions struct {
	// Separator ends every unit but the last of a word; "" means DefaultSeparator.
	Separator string
	// Vocabulary, unless empty, undoes merges whose result it lacks. In it, units inside a word carry the separator.
	Vocabulary map[string]bool
	// Glossaries are regular expressions in Python's syntax. Their matches stay whole, and cut the rest of the word
	// apart.
	Glossaries []string
	// Dropout is the probability of passing over a merge (BPE-dropout, Provilkov et al., 2020), for training data only.
	Dropout float64
	// Seed starts the random numbers of Dropout: those of Python's random.seed.
	Seed int64
	// Remember is about how many bytes are spent on words whose units are known; 0 means 768 MB, for whole corpora.
	Remember int
}

// rememberUsually suits whole corpora.
const rememberUsually = 768 << 20

// BPE segments words with byte-pair codes. It is not safe for concurrent use: it has a cache and draws random numbers.
type BPE struct {
	table      *mergeTable
	separator  string
	vocabulary *unitSplitter
	glossaries []glossary
	dropout    float64
	random     *mersenneTwister

	cache unitCache // the units of words, joined as in the output
	scan  wordScanner
	word  wordMerger
	out   []byte
}

// NewBPE prepares codes for use.
func NewBPE(codes *Codes, opts BPEOptions) (*BPE, error) {
	opts.Separator = cmp.Or(opts.Separator, DefaultSeparator)
	if strings.ContainsAny(opts.Separator, lineBlanks) {
		return nil, fmt.Errorf("the separator %q should not hold spaces or line ends", opts.Separator)
	}
	if !(opts.Dropout >= 0 && opts.Dropout <= 1) {
		return nil, fmt.Errorf("dropout should be between 0 and 1, and is %v", opts.Dropout)
	}
	if len(codes.Merges) > maxMerges {
		return nil, fmt.Errorf("%d merges are more than the %d that can be applied; keep the first ones only",
			len(codes.Merges), maxMerges)
	}
	b := &BPE{
		table:     newMergeTable(codes),
		separator: opts.Separator,
		dropout:   opts.Dropout,
		cache:     newUnitCache(cmp.Or(opts.Remember, rememberUsually)),
	}
	if len(opts.Vocabulary) > 0 {
		b.vocabulary = newUnitSplitter(codes, opts.Vocabulary, opts.Separator)
	}
	for _, pattern := range opts.Glossaries {
		g, err := newGlossary(pattern)
		if err != nil {
			return nil, err
		}
		b.glossaries = append(b.glossaries, g)
	}
	if b.dropout > 0 {
		b.random = newMersenneTwister(opts.Seed)
	}
	return b, nil
}

// Line segments the words of a line. Spaces (and a "\r") at its ends stay, runs of spaces between words become one.
func (b *BPE) Line(line string) string {
	end := len(strings.TrimRight(line, lineBlanks))
	words := strings.TrimLeft(line[:end], lineBlanks)
	out := append(b.out[:0], line[:end-len(words)]...)
	first := len(out)
	for b.scan.reset(words); ; {
		from, to, hash, ok := b.scan.next()
		if !ok {
			break
		}
		if len(out) > first {
			out = append(out, ' ')
		}
		out = b.appendWord(out, b.scan.text[from:to], hash)
	}
	out = append(out, line[end:]...)
	b.out = out
	return string(out)
}

// Words segments words into units. Empty words vanish; spaces separate words.
func (b *BPE) Words(words []string) []string {
	units := make([]string, 0, len(words)+len(words)/4)
	for _, word := range words {
		for b.scan.reset(word); ; {
			from, to, hash, ok := b.scan.next()
			if !ok {
				break
			}
			b.out = b.appendWord(b.out[:0], b.scan.text[from:to], hash)
			units = append(units, strings.Split(string(b.out), " ")...)
		}
	}
	return units
}

// appendWord appends the units of a word, each but the last with the separator, and spaces between them.
func (b *BPE) appendWord(out, word []byte, hash uint32) []byte {
	if b.dropout > 0 {
		return b.appendPieces(out, string(word))
	}
	units, free, ok := b.cache.get(word, hash)
	if ok {
		return append(out, units...)
	}
	start := len(out)
	out = b.appendPieces(out, string(word))
	b.cache.put(free, hash, word, out[start:])
	return out
}

// appendPieces is appendWord without the cache.
func (b *BPE) appendPieces(out []byte, word string) []byte {
	if len(b.glossaries) == 0 {
		return b.appendPiece(out, word)
	}
	for i, piece := range isolate(b.glossaries, word) {
		if i > 0 {
			out = b.appendBreak(out)
		}
		if slices.ContainsFunc(b.glossaries, func(g glossary) bool { return g.whole.MatchString(piece) }) {
			out = append(out, piece...)
		} else {
			out = b.appendPiece(out, piece)
		}
	}
	return out
}

// appendBreak ends a unit inside a word.
func (b *BPE) appendBreak(out []byte) []byte {
	out = append(out, b.separator...)
	return append(out, ' ')
}

// appendPiece segments a word, or what a glossary left of one, by the merges.
func (b *BPE) appendPiece(out []byte, piece string) []byte {
	w := &b.word
	if !w.start(b.table, piece) {
		return append(out, piece...)
	}
	if b.random != nil {
		w.mergeWithDropout(b.table, b.dropout, b.random)
	} else {
		w.merge(b.table)
	}
	units := w.units(b.table)
	begin := int32(0)
	for i := range units {
		if i > 0 {
			out = b.appendBreak(out)
		}
		unit := piece[begin:units[i].end]
		begin = units[i].end
		if b.vocabulary == nil {
			out = append(out, unit...)
			continue
		}
		for j, part := range b.vocabulary.split(nil, unit, i == len(units)-1) {
			if j > 0 {
				out = b.appendBreak(out)
			}
			out = append(out, part...)
		}
	}
	return out
}

// UndoBPE joins the units of a line into words again.
func UndoBPE(line, separator string) string {
	words := strings.ReplaceAll(line, separator+" ", "")
	if strings.HasSuffix(line, separator) {
		words = strings.TrimSuffix(words, separator)
	}
	return words
}
