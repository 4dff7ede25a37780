package tokenize

import (
	"math"
	"unicode/utf8"
)

// noRank is the rank of a pair that no merge joins; noSymbol stands for text
// that no merge mentions.
const (
	noRank   = math.MaxInt32
	noSymbol = -1
)

// mergeTable finds the merge of two symbols. Symbols are small numbers; equal
// texts have equal numbers, however they were merged.
type mergeTable struct {
	oldStyle bool // version 0.1: the end of a word is a symbol of its own
	end      int32
	internal symbolsOfRunes // characters inside a word
	final    symbolsOfRunes // characters that end one

	slots  []pairSlot // open addressing, a power of two, at most half full
	mask   uint64
	joined []int32 // by rank
}

type pairSlot struct {
	key  uint64
	rank int32 // noRank where the slot is empty
}

// symbolsOfRunes has a table for the characters of most alphabets.
type symbolsOfRunes struct {
	low  [0x600]int32
	high map[rune]int32
}

func newSymbolsOfRunes(ids map[string]int32, suffix string) symbolsOfRunes {
	s := symbolsOfRunes{high: make(map[rune]int32)}
	for i := range s.low {
		s.low[i] = noSymbol
	}
	for text, id := range ids {
		if len(text) <= len(suffix) || text[len(text)-len(suffix):] != suffix {
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		if size != len(text)-len(suffix) {
			continue
		}
		if int(r) < len(s.low) {
			s.low[r] = id
		} else {
			s.high[r] = id
		}
	}
	return s
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
	t.slots, t.mask = make([]pairSlot, size), uint64(size-1)
	for i := range t.slots {
		t.slots[i].rank = noRank
	}
	ids := make(map[string]int32, 2*len(codes.Merges))
	symbol := func(text string) int32 {
		id, ok := ids[text]
		if !ok {
			id = int32(len(ids))
			ids[text] = id
		}
		return id
	}
	for rank, m := range codes.Merges {
		key := pairKey(symbol(m.Left), symbol(m.Right))
		t.joined[rank] = symbol(m.Left + m.Right)
		at := hashPair(key) & t.mask
		for t.slots[at].rank != noRank && t.slots[at].key != key {
			at = (at + 1) & t.mask
		}
		if t.slots[at].rank == noRank { // of a merge listed twice the first counts
			t.slots[at] = pairSlot{key, int32(rank)}
		}
	}
	t.end = symbol(endOfWord)
	t.internal = newSymbolsOfRunes(ids, "")
	t.final = newSymbolsOfRunes(ids, endOfWord)
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
	key := pairKey(left, right)
	for at := hashPair(key) & t.mask; ; at = (at + 1) & t.mask {
		slot := &t.slots[at]
		if slot.rank == noRank || slot.key == key {
			return slot.rank
		}
	}
}

// wordMerger merges the symbols of one word. Symbol i is the text from
// starts[i-1] (or 0) to ends[i], and ranks[i] is the rank of the pair (i, i+1).
type wordMerger struct {
	symbols []int32
	ends    []int32
	ranks   []int32
	usable  []int32 // scratch of dropout
	long    longWord
}

// start takes a word apart into characters; false for a word of one, which stays
// what it is.
func (w *wordMerger) start(t *mergeTable, word string) bool {
	w.symbols, w.ends = w.symbols[:0], w.ends[:0]
	last := 0
	for at, r := range word {
		if at > 0 {
			w.ends = append(w.ends, int32(at))
		}
		w.symbols = append(w.symbols, t.internal.of(r))
		last = at
	}
	if last == 0 {
		return false
	}
	w.ends = append(w.ends, int32(len(word)))
	if t.oldStyle {
		w.symbols = append(w.symbols, t.end)
		w.ends = append(w.ends, int32(len(word)))
	} else {
		r, _ := utf8.DecodeRuneInString(word[last:])
		w.symbols[len(w.symbols)-1] = t.final.of(r)
	}
	return true
}

// units are the ends of the symbols that are left, without an end of word that
// no merge took up.
func (w *wordMerger) units(t *mergeTable) []int32 {
	n := len(w.ends)
	if t.oldStyle && n > 1 && w.ends[n-1] == w.ends[n-2] {
		n--
	}
	return w.ends[:n]
}

// shortWord is up to how many symbols a scan for the best pair beats a heap.
const shortWord = 96

// merge joins, as long as there is one, all occurrences of the pair of lowest
// rank, left to right and without overlap.
func (w *wordMerger) merge(t *mergeTable) {
	if len(w.symbols) > shortWord {
		w.long.merge(t, w)
		return
	}
	w.rankAll(t)
	for len(w.ranks) > 0 {
		best, at := int32(noRank), 0
		for i, rank := range w.ranks {
			if rank < best {
				best, at = rank, i
			}
		}
		if best == noRank {
			return
		}
		w.mergeRank(t, best, at)
	}
}

func (w *wordMerger) rankAll(t *mergeTable) {
	w.ranks = w.ranks[:0]
	for i := 1; i < len(w.symbols); i++ {
		w.ranks = append(w.ranks, t.rank(w.symbols[i-1], w.symbols[i]))
	}
}

// mergeRank joins all pairs of one rank, of which the first is at position at,
// and looks up the ranks around them.
func (w *wordMerger) mergeRank(t *mergeTable, rank int32, at int) {
	symbols, ends, ranks := w.symbols, w.ends, w.ranks
	joined := t.joined[rank]
	n, out := len(symbols), at
	before := false // whether symbol out-1 was just joined
	for i := at; i < n; out++ {
		fresh := i+1 < n && ranks[i] == rank
		kept := int32(noRank)
		if i > 0 {
			kept = ranks[i-1]
		}
		if fresh {
			symbols[out], ends[out] = joined, ends[i+1]
			i += 2
		} else {
			symbols[out], ends[out] = symbols[i], ends[i]
			i++
		}
		if out > 0 {
			if fresh || before {
				kept = t.rank(symbols[out-1], symbols[out])
			}
			ranks[out-1] = kept
		}
		before = fresh
	}
	w.symbols, w.ends, w.ranks = symbols[:out], ends[:out], ranks[:out-1]
}

// mergeWithDropout draws a number for every pair of neighbours, whether or not a
// merge joins it, and passes the pair over in this round unless the number
// exceeds p: draw for draw what subword-nmt does.
func (w *wordMerger) mergeWithDropout(t *mergeTable, p float64, random *mersenneTwister) {
	for len(w.symbols) > 1 {
		best := int32(noRank)
		w.usable = w.usable[:0]
		for i := 1; i < len(w.symbols); i++ {
			rank := int32(noRank)
			if random.float64() > p {
				rank = t.rank(w.symbols[i-1], w.symbols[i])
			}
			w.usable = append(w.usable, rank)
			best = min(best, rank)
		}
		if best == noRank {
			return
		}
		out := 0
		for i := 0; i < len(w.symbols); out++ {
			if i < len(w.usable) && w.usable[i] == best {
				w.symbols[out], w.ends[out] = t.joined[best], w.ends[i+1]
				i += 2
			} else {
				w.symbols[out], w.ends[out] = w.symbols[i], w.ends[i]
				i++
			}
		}
		w.symbols, w.ends = w.symbols[:out], w.ends[:out]
	}
}
