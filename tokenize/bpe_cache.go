package tokenize

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// wordScanner finds the words of a line, and their hashes on the way: both eight bytes at a time.
type wordScanner struct {
	text []byte // the line, and eight spaces so that a read never runs over
	at   int
	end  int
}

const eightSpaces = "        "

func (s *wordScanner) reset(line string) {
	s.text = append(append(s.text[:0], line...), eightSpaces...)
	s.at, s.end = 0, len(line)
}

// next returns where the next word stands; false behind the last.
func (s *wordScanner) next() (begin, end int, hash uint32, ok bool) {
	at := s.at
	for at < s.end && s.text[at] == ' ' {
		at++
	}
	if at >= s.end {
		return 0, 0, 0, false
	}
	begin = at
	state := uint64(0)
	for {
		chunk := binary.LittleEndian.Uint64(s.text[at:])
		if spaces := zeroBytes(chunk ^ 0x2020202020202020); spaces != 0 {
			low := bits.TrailingZeros64(spaces) &^ 7 // bits before the space
			state = mixHash(state, chunk&(1<<low-1))
			s.at = at + low/8
			return begin, s.at, uint32(state), true
		}
		state = mixHash(state, chunk)
		at += 8
	}
}

// zeroBytes has the high bit set in the lowest byte of x that is zero, and nothing below it.
func zeroBytes(x uint64) uint64 {
	return (x - 0x0101010101010101) &^ x & 0x8080808080808080
}

func mixHash(state, chunk uint64) uint64 {
	high, low := bits.Mul64(state^chunk^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low
}

// unitCache remembers the units of words. Words and units lie in one block of text: millions cost the garbage collector
// nothing, and a hit touches little memory.
type unitCache struct {
	slots []cacheSlot // open addressing, a power of two, at most half full
	used  int
	text  []byte
	size  int // bytes of text, but at least wordSize for each word
	limit int // of size
}

type cacheSlot struct {
	hash        uint32
	at          uint32 // where the word begins in text; its units follow
	word, units uint16 // lengths; a word is never empty, so 0 marks a free slot
}

// wordSize is half of what a word's slots take at most: four slots of 12 bytes, after the table has grown.
const wordSize = 24

// newUnitCache makes a cache that takes about remember bytes, at most two thirds of them for slots. A full cache is
// emptied: what is frequent comes back soon.
func newUnitCache(remember int) unitCache {
	return unitCache{slots: make([]cacheSlot, 1<<14), limit: remember / 3}
}

// get returns the units of a word, or else the slot that put should fill.
func (c *unitCache) get(word []byte, hash uint32) (units []byte, free int, ok bool) {
	mask := len(c.slots) - 1
	slot := int(hash) & mask
	for ; c.slots[slot].word != 0; slot = (slot + 1) & mask {
		s := &c.slots[slot]
		if s.hash == hash && int(s.word) == len(word) {
			end := s.at + uint32(s.word)
			if string(c.text[s.at:end]) == string(word) {
				return c.text[end : end+uint32(s.units)], 0, true
			}
		}
	}
	return nil, slot, false
}

// put remembers a word in the slot that get found for it, before any other put.
func (c *unitCache) put(free int, hash uint32, word, units []byte) {
	if max(len(word), len(units)) > math.MaxUint16 {
		return
	}
	if c.size > c.limit {
		clear(c.slots)
		c.used, c.size, c.text = 0, 0, c.text[:0]
		return
	}
	c.size += max(wordSize, len(word)+len(units))
	c.slots[free] = cacheSlot{hash, uint32(len(c.text)), uint16(len(word)), uint16(len(units))}
	c.text = append(append(c.text, word...), units...)
	if c.used++; 2*c.used > len(c.slots) {
		c.grow()
	}
}

func (c *unitCache) grow() {
	old := c.slots
	c.slots = make([]cacheSlot, 2*len(old))
	mask := len(c.slots) - 1
	for _, s := range old {
		if s.word == 0 {
			continue
		}
		slot := int(s.hash) & mask
		for c.slots[slot].word != 0 {
			slot = (slot + 1) & mask
		}
		c.slots[slot] = s
	}
}
