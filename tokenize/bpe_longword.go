package tokenize

import "slices"

// longWord merges words of very many symbols (encoded data) in n log n steps, where a scan for each merge takes n^2.
// Symbols form a linked list; a heap gives the pairs by rank, then position.
type longWord struct {
	next, previous []int32 // neighbours of a symbol, -1 at the ends
	gone           []bool
	pairs          heap[rankedPair]
	pending        []int32 // symbols made by the merge that is going on
}

type rankedPair struct {
	rank        int32
	left, right int32 // positions
	a, b        int32 // symbols that stood there when the pair was found
}

func (l *longWord) merge(t *mergeTable, w *wordMerger) {
	n := len(w.symbols)
	l.next, l.previous = slices.Grow(l.next[:0], n)[:n], slices.Grow(l.previous[:0], n)[:n]
	l.gone = slices.Grow(l.gone[:0], n)[:n]
	l.pairs.before, l.pairs.items = rankedPair.before, l.pairs.items[:0]
	clear(l.gone)
	for i := range l.next {
		l.next[i], l.previous[i] = int32(i+1), int32(i-1)
	}
	l.next[n-1] = -1
	for i := int32(0); int(i) < n-1; i++ {
		l.find(t, w, i)
	}
	for len(l.pairs.items) > 0 {
		// All occurrences of the best pair are joined before any pair that this makes, even one of lower rank.
		rank := l.pairs.items[0].rank
		l.pending = l.pending[:0]
		for len(l.pairs.items) > 0 && l.pairs.items[0].rank == rank {
			p := l.pairs.pop()
			if l.gone[p.left] || l.next[p.left] != p.right ||
				w.symbols[p.left].id != p.a || w.symbols[p.right].id != p.b {
				continue
			}
			w.symbols[p.left].id, w.symbols[p.left].end = t.joined[rank], w.symbols[p.right].end
			l.gone[p.right] = true
			after := l.next[p.right]
			l.next[p.left] = after
			if after >= 0 {
				l.previous[after] = p.left
			}
			l.pending = append(l.pending, p.left)
		}
		for _, at := range l.pending {
			if before := l.previous[at]; before >= 0 {
				l.find(t, w, before)
			}
			l.find(t, w, at)
		}
	}
	out := 0
	for at := int32(0); at >= 0; at = l.next[at] {
		w.symbols[out] = w.symbols[at]
		out++
	}
	w.symbols = w.symbols[:out]
}

// find queues the pair that starts at a position, if a merge joins it. Of a pair found twice the second comes up stale.
func (l *longWord) find(t *mergeTable, w *wordMerger, left int32) {
	right := l.next[left]
	if right < 0 {
		return
	}
	a, b := w.symbols[left].id, w.symbols[right].id
	if rank := t.rank(a, b); rank != noRank {
		l.pairs.push(rankedPair{rank, left, right, a, b})
	}
}

func (p rankedPair) before(q rankedPair) bool {
	return p.rank < q.rank || p.rank == q.rank && p.left < q.left
}
