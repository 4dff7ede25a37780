package tokenize

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Encoder turns tokenised lines into ids: BPE.Words and Vocabulary.Encode in one. It has a cache: not safe for
// concurrent use.
type Encoder struct {
	bpe        *BPE // nil where words are not split
	vocabulary *Vocabulary

	// inner and last are ids, plus one, of units by symbol, within a word and at its end; 0 is not looked up yet. They
	// are nil if a unit is not always one symbol: with glossaries, dropout, a vocabulary of units, and old codes.
	inner, last []int32

	cache unitCache // the ids of words, four bytes each
	scan  wordScanner
	raw   []byte
}

// NewEncoder makes one whose cache of words takes about remember bytes. A nil BPE leaves words whole.
func NewEncoder(b *BPE, v *Vocabulary, remember int) *Encoder {
	e := &Encoder{bpe: b, vocabulary: v, cache: newUnitCache(remember)}
	if b != nil && b.vocabulary == nil && len(b.glossaries) == 0 && b.dropout == 0 && !b.table.oldStyle {
		e.inner, e.last = make([]int32, b.table.symbols), make([]int32, b.table.symbols)
	}
	return e
}

// Append appends the ids of a line whose words are separated by spaces. It adds no end of sentence.
func (e *Encoder) Append(ids []int32, line string) []int32 {
	e.scan.reset(line)
	for {
		from, to, hash, ok := e.scan.next()
		if !ok {
			return ids
		}
		word := e.scan.text[from:to]
		known, free, ok := e.cache.get(word, hash)
		if !ok {
			known = e.encode(word)
			if e.bpe == nil || e.bpe.dropout == 0 { // else each occurrence is split anew
				e.cache.put(free, hash, word, known)
			}
		}
		for ; len(known) > 0; known = known[4:] {
			ids = append(ids, int32(binary.NativeEndian.Uint32(known)))
		}
	}
}

// encode gives the ids of a word as bytes, until the next call.
func (e *Encoder) encode(word []byte) []byte {
	e.raw = e.raw[:0]
	if e.inner != nil && e.encodeSymbols(unsafe.String(unsafe.SliceData(word), len(word))) {
		return e.raw
	}
	units := word
	if e.bpe != nil {
		e.bpe.out = e.bpe.appendPieces(e.bpe.out[:0], string(word))
		units = e.bpe.out
	}
	for len(units) > 0 {
		end := slices.Index(units, ' ')
		if end < 0 {
			end = len(units)
		}
		e.raw = binary.NativeEndian.AppendUint32(e.raw,
			uint32(e.vocabulary.wordID(unsafe.String(unsafe.SliceData(units), end))))
		units = units[min(end+1, len(units)):]
	}
	return e.raw
}

// encodeSymbols is encode without the text of units, which costs more than merging; false for a word of one character.
func (e *Encoder) encodeSymbols(word string) bool {
	w := &e.bpe.word
	if !w.start(e.bpe.table, word) {
		return false
	}
	w.merge(e.bpe.table)
	begin, end := int32(0), len(w.symbols)-1
	for i, unit := range w.symbols {
		known := e.inner
		if i == end {
			known = e.last
		}
		var id int32
		switch {
		case unit.id == noSymbol: // a character that no merge has
			id = e.unitID(word[begin:unit.end], i == end)
		case known[unit.id] == 0:
			id = e.unitID(word[begin:unit.end], i == end)
			known[unit.id] = id + 1
		default:
			id = known[unit.id] - 1
		}
		e.raw = binary.NativeEndian.AppendUint32(e.raw, uint32(id))
		begin = unit.end
	}
	return true
}

// unitID looks a unit up.
func (e *Encoder) unitID(unit string, last bool) int32 {
	if !last {
		unit += e.bpe.separator
	}
	return e.vocabulary.wordID(unit)
}
