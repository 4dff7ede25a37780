package tokenize

import (
	"math"
	"strings"
	"unicode/utf8"
)

// noRank is the rank of a pair that no merge joins; noSymbol stands for text that no merge mentions.
const (
	noRank   = math.MaxInt32
	noSymbol = -1
)

// mergeTable finds the merge of two symbols, which are small numbers, equal for equal texts.
type mergeTable struct {
	oldStyle bool // version 0.1: the end of a word is a symbol of its own
	end      int32
	symbols  int            // how many there are
	internal symbolsOfRunes // characters inside a word
	final    symbolsOfRunes // characters that end one

	slots  []uint64 // open addressing, a power of two, at most half full
	mask   uint64
	joined []int32 // by rank
}

// A slot packs a pair and its rank: 21 bits for each symbol, 22 for the rank plus one, so that 0 is a free slot.
const (
	rankBits  = 22
	maxMerges = 1 << 19 // a merge brings three symbols at most
)

func packPair(left, right int32) uint64 {
	return uint64(uint32(left))<<21 | uint64(uint32(right))
}

// symbolsOfRunes has a table for the characters of most alphabets.
type symbolsOfRunes struct {
	low  [0x600]int32
	high map[rune]int32
}

func (s *symbolsOfRunes) init() {
	s.high = make(map[rune]int32)
	for i := range s.low {
		s.low[i] = noSymbol
	}
}

// add takes up a symbol if it is a single character.
func (s *symbolsOfRunes) add(text string, id int32) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case size == 0 || size != len(text):
	case int(r) < len(s.low):
		s.low[r] = id
	default:
		s.high[r] = id
	}
}

func (s *symbolsOfRunes) of(r rune) int32 {
	if int(r) < len(s.low) {
		return s.low[r]
	}
	if id, ok := s.high[r]; ok {
		return id
	}
	return noSymbol
}

func newMergeTable(codes *Codes) *mergeTable {
	t := &mergeTable{oldStyle: codes.Version == "0.1", joined: make([]int32, len(codes.Merges))}
	size := 16
	for size < 2*len(codes.Merges) {
		size *= 2
	}
	t.slots, t.mask = make([]uint64, size), uint64(size-1)
	t.internal.init()
	t.final.init()
	ids := make(map[string]int32, 2*len(codes.Merges))
	symbol := func(text string) int32 {
		id, ok := ids[text]
		if !ok {
			id = int32(len(ids))
			ids[text] = id
			t.internal.add(text, id)
			if character, ok := strings.CutSuffix(text, endOfWord); ok {
				t.final.add(character, id)
			}
		}
		return id
	}
	for rank, m := range codes.Merges {
		key := packPair(symbol(m.Left), symbol(m.Right))
		t.joined[rank] = symbol(m.Left + m.Right)
		at := hashPair(key) & t.mask
		for t.slots[at] != 0 && t.slots[at]>>rankBits != key {
			at = (at + 1) & t.mask
		}
		if t.slots[at] == 0 { // of a merge listed twice the first counts
			t.slots[at] = key<<rankBits | uint64(rank+1)
		}
	}
	t.end = symbol(endOfWord)
	t.symbols = len(ids)
	return t
}

func hashPair(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	return key ^ key>>32
}

func (t *mergeTable) rank(left, right int32) int32 {
	if left < 0 || right < 0 {
		return noRank
	}
	key := packPair(left, right)
	for at := hashPair(key) & t.mask; ; at = (at + 1) & t.mask {
		slot := t.slots[at]
		if slot == 0 {
			return noRank
		}
		if slot>>rankBits == key {
			return int32(slot&(1<<rankBits-1)) - 1
		}
	}
}

// mergeSymbol is a symbol of a word: the text up to end from where the symbol before it ends.
type mergeSymbol struct {
	id   int32
	end  int32
	rank int32 // of the pair that begins here, noRank for the last symbol
}

// wordMerger merges the symbols of one word.
type wordMerger struct {
	symbols []mergeSymbol
	long    longWord
}

// start takes a word apart into characters; false for a word of one, which stays what it is.
func (w *wordMerger) start(t *mergeTable, word string) bool {
	symbols := w.symbols[:0]
	last := 0
	for at, r := range word {
		if at > 0 {
			symbols[len(symbols)-1].end = int32(at)
		}
		symbols = append(symbols, mergeSymbol{id: t.internal.of(r), rank: noRank})
		last = at
	}
	w.symbols = symbols
	if last == 0 {
		return false
	}
	symbols[len(symbols)-1].end = int32(len(word))
	if t.oldStyle {
		w.symbols = append(symbols, mergeSymbol{t.end, int32(len(word)), noRank})
	} else {
		r, _ := utf8.DecodeRuneInString(word[last:])
		symbols[len(symbols)-1].id = t.final.of(r)
	}
	return true
}

// units are the symbols that are left, without an end of word that no merge took up.
func (w *wordMerger) units(t *mergeTable) []mergeSymbol {
	n := len(w.symbols)
	if t.oldStyle && n > 1 && w.symbols[n-1].end == w.symbols[n-2].end {
		n--
	}
	return w.symbols[:n]
}

// shortWord is up to how many symbols a scan for the best pair beats a heap.
const shortWord = 96

// merge joins, while there is one, all occurrences of the pair of lowest rank, left to right without overlap.
func (w *wordMerger) merge(t *mergeTable) {
	if len(w.symbols) > shortWord {
		w.long.merge(t, w)
		return
	}
	for i := 1; i < len(w.symbols); i++ {
		w.symbols[i-1].rank = t.rank(w.symbols[i-1].id, w.symbols[i].id)
	}
	for {
		first := uint64(noRank) << 32 // rank and position of the best pair
		for i := range w.symbols {
			first = min(first, uint64(w.symbols[i].rank)<<32|uint64(i))
		}
		best := int32(first >> 32)
		if best == noRank {
			return
		}
		if w.mergeAt(t, best, int(uint32(first))) < best {
			// The pairs around would come first now, but the other occurrences of the best pair still have their turn.
			for i := 0; i < len(w.symbols); i++ {
				if w.symbols[i].rank == best {
					w.mergeAt(t, best, i)
				}
			}
		}
	}
}

// mergeAt joins the pair at a position, and returns the lower rank of the new pairs around it.
func (w *wordMerger) mergeAt(t *mergeTable, rank int32, at int) int32 {
	symbols := w.symbols
	joined := mergeSymbol{t.joined[rank], symbols[at+1].end, noRank}
	symbols = append(symbols[:at+1], symbols[at+2:]...)
	if at+1 < len(symbols) {
		joined.rank = t.rank(joined.id, symbols[at+1].id)
	}
	symbols[at] = joined
	w.symbols = symbols
	if at == 0 {
		return joined.rank
	}
	before := t.rank(symbols[at-1].id, joined.id)
	symbols[at-1].rank = before
	return min(before, joined.rank)
}

// mergeWithDropout draws a number for every pair of neighbours, also without a merge, and passes over the pair in this
// round unless the number exceeds p: draw for draw as subword-nmt.
func (w *wordMerger) mergeWithDropout(t *mergeTable, p float64, random *mersenneTwister) {
	for len(w.symbols) > 1 {
		symbols, last := w.symbols, len(w.symbols)-1
		best := int32(noRank)
		for i := range symbols[:last] {
			rank := int32(noRank)
			if random.float64() > p {
				rank = t.rank(symbols[i].id, symbols[i+1].id)
			}
			symbols[i].rank = rank
			best = min(best, rank)
		}
		if best == noRank {
			return
		}
		symbols[last].rank = noRank
		out := 0
		for i := 0; i <= last; i, out = i+1, out+1 {
			symbols[out] = symbols[i]
			if symbols[i].rank == best {
				i++
				symbols[out].id, symbols[out].end = t.joined[best], symbols[i].end
			}
		}
		w.symbols = symbols[:out]
	}
}
