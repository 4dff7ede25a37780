package spm

import "slices"

// trie finds all words of a set that begin a text. Its edges stand in one hash table with open addressing.
type trie struct {
	keys   []uint64 // the node that an edge leaves, times 256, plus its byte, plus one; 0 is free
	values []int32  // the node that it reaches
	edges  int
	ends   []int32 // for each node the word that ends there, -1 without one
}

func newTrie() *trie {
	return &trie{keys: make([]uint64, 64), values: make([]int32, 64), ends: []int32{-1}}
}

// slot is the place of an edge, or the free one for it.
func (t *trie) slot(node int32, b byte) int {
	key := uint64(node)<<8 + uint64(b) + 1
	mask := len(t.keys) - 1
	i := int(key*0x9E3779B97F4A7C15>>32) & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

// next is the node behind an edge, -1 where there is none.
func (t *trie) next(node int32, b byte) int32 {
	if i := t.slot(node, b); t.keys[i] != 0 {
		return t.values[i]
	}
	return -1
}

// add adds a word that is not there yet.
func (t *trie) add(word string, id int32) {
	node := int32(0)
	for i := range len(word) {
		s := t.slot(node, word[i])
		if t.keys[s] == 0 {
			t.keys[s], t.values[s] = uint64(node)<<8+uint64(word[i])+1, int32(len(t.ends))
			t.ends = append(t.ends, -1)
			t.edges++
			node = t.values[s]
			t.grow()
			continue
		}
		node = t.values[s]
	}
	t.ends[node] = id
}

// grow doubles a table that is half full.
func (t *trie) grow() {
	if t.edges < len(t.keys)/2 {
		return
	}
	keys, values := t.keys, t.values
	t.keys, t.values = make([]uint64, 2*len(keys)), slices.Repeat([]int32{0}, 2*len(keys))
	for i, key := range keys {
		if key != 0 {
			s := t.slot(int32((key-1)>>8), byte(key-1))
			t.keys[s], t.values[s] = key, values[i]
		}
	}
}

// longest is the length of the longest word that begins a text, 0 without one. A nil trie has no words.
func (t *trie) longest(text string) int {
	if t == nil {
		return 0
	}
	node, length := int32(0), 0
	for i := range len(text) {
		if node = t.next(node, text[i]); node < 0 {
			break
		}
		if t.ends[node] >= 0 {
			length = i + 1
		}
	}
	return length
}
