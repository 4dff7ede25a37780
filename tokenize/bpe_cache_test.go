package tokenize

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func scanWords(s *wordScanner, line string) (words []string, hashes []uint32) {
	s.reset(line)
	for {
		begin, end, hash, ok := s.next()
		if !ok {
			return words, hashes
		}
		words = append(words, string(s.text[begin:end]))
		hashes = append(hashes, hash)
	}
}

func TestWordScanner(t *testing.T) {
	var s wordScanner
	var parts []string
	for n := 1; n < 40; n++ { // around every border of eight bytes
		parts = append(parts, strings.Repeat("x", n), strings.Repeat("ü!\x00\x21\xa0", n))
	}
	for _, space := range []string{" ", "   ", "         "} {
		words, hashes := scanWords(&s, space+strings.Join(parts, space)+space)
		if strings.Join(words, "|") != strings.Join(parts, "|") {
			t.Fatalf("words %q", words)
		}
		for i, word := range parts {
			_, alone := scanWords(&s, word)
			if len(alone) != 1 || alone[0] != hashes[i] {
				t.Errorf("the hash of %q depends on what stands around it", word)
			}
		}
	}
	if words, _ := scanWords(&s, ""); words != nil {
		t.Errorf("words %q of nothing", words)
	}
}

func TestUnitCache(t *testing.T) {
	c := newUnitCache(1 << 30)
	var s wordScanner
	known := func(word string) (string, bool) {
		s.reset(word)
		begin, end, hash, _ := s.next()
		units, free, ok := c.get(s.text[begin:end], hash)
		if !ok {
			c.put(free, hash, s.text[begin:end], []byte("of "+word))
		}
		return string(units), ok
	}
	const n = 30_000 // more than the first slots
	for round := range 2 {
		for i := range n {
			word := fmt.Sprint("word", i)
			units, ok := known(word)
			if ok != (round == 1) || ok && units != "of "+word {
				t.Fatalf("round %d: %q has units %q, %v", round, word, units, ok)
			}
		}
	}
	long := strings.Repeat("x", 1<<16)
	for range 2 {
		if _, ok := known(long); ok {
			t.Error("a word too long for a slot was remembered")
		}
	}
	if units, ok := known("word7"); !ok || units != "of word7" {
		t.Errorf("after that word7 has units %q, %v", units, ok)
	}
}

// TestUnitCacheIsBounded: a cache that meets a million words keeps to its bytes, whether they are short or long.
func TestUnitCacheIsBounded(t *testing.T) {
	const remember = 3 << 20
	for _, length := range []int{4, 60} {
		c := newUnitCache(remember)
		most := 0
		for i := range 1_000_000 {
			word := fmt.Appendf(nil, "%0*x", length, i)
			hash := uint32(i) * 2654435761
			if _, free, ok := c.get(word, hash); !ok {
				c.put(free, hash, word, []byte("u"))
			}
			most = max(most, len(c.text)+len(c.slots)*int(unsafe.Sizeof(cacheSlot{})))
		}
		if most > remember*5/4 || most < remember/3 {
			t.Errorf("words of %d bytes take %d bytes, want at most about %d", length, most, remember)
		}
	}
}
