package spm

import "container/heap"

// symbol is a part of the text in the course of merging, in a list that is linked both ways.
type symbol struct {
	begin, end int // empty where it went into its left neighbour
	prev, next int // -1 at the ends
	fixed      bool
}

// merge is a pair of neighbours that together are a piece.
type merge struct {
	left, right int
	score       float32
	size        int
}

// agenda yields the merge with the highest score, the leftmost of equals.
type agenda []merge

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].score > a[j].score || a[i].score == a[j].score && a[i].left < a[j].left
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(merge)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

// merging is the state of encodeBPE.
type merging struct {
	*Model
	text    string
	symbols []symbol
	agenda  agenda
	made    map[string]int // unused pieces: the length of the left part that each was made of
}

// encodeBPE merges neighbours from characters on, always those whose piece scores highest (Sennrich et al. 2016).
func (m *Model) encodeBPE(text string) []span {
	g := merging{Model: m, text: text, made: map[string]int{}}
	for at := 0; at < len(text); {
		length := m.symbols.longest(text[at:])
		fixed := length > 0
		if !fixed {
			length = characterLength(text[at:])
		}
		i := len(g.symbols)
		g.symbols = append(g.symbols, symbol{at, at + length, i - 1, i + 1, fixed})
		at += length
	}
	if len(g.symbols) == 0 {
		return nil
	}
	g.symbols[len(g.symbols)-1].next = -1
	for i := 1; i < len(g.symbols); i++ {
		g.propose(i-1, i)
	}
	for len(g.agenda) > 0 {
		top := heap.Pop(&g.agenda).(merge)
		left, right := &g.symbols[top.left], &g.symbols[top.right]
		if left.begin == left.end || right.begin == right.end || right.end-left.begin != top.size {
			continue
		}
		left.end, left.next = right.end, right.next
		if right.next >= 0 {
			g.symbols[right.next].prev = top.left
		}
		right.begin = right.end
		g.propose(left.prev, top.left)
		g.propose(top.left, left.next)
	}
	var spans []span
	for i := 0; i >= 0; i = g.symbols[i].next {
		spans = g.resolve(spans, g.symbols[i].begin, g.symbols[i].end)
	}
	return spans
}

// propose adds the merge of two neighbours where that is a piece.
func (g *merging) propose(left, right int) {
	if left < 0 || right < 0 || g.symbols[left].fixed || g.symbols[right].fixed {
		return
	}
	text := g.text[g.symbols[left].begin:g.symbols[right].end]
	id, ok := g.ids[text]
	if !ok {
		return
	}
	heap.Push(&g.agenda, merge{left, right, g.pieces[id].score, len(text)})
	if g.pieces[id].kind == unused {
		g.made[text] = g.symbols[left].end - g.symbols[left].begin
	}
}

// resolve appends a symbol, an unused piece as the parts that it was made of.
func (g *merging) resolve(spans []span, begin, end int) []span {
	text := g.text[begin:end]
	id := int32(g.ID(text))
	if g.pieces[id].kind == unused {
		if left, ok := g.made[text]; ok {
			return g.resolve(g.resolve(spans, begin, begin+left), begin+left, end)
		}
	}
	return append(spans, span{end, id})
}
