package bytebpe

import "container/heap"

// Encode gives the ids of a text, which may have several lines.
func (t *Tokenizer) Encode(text string) []int32 {
	var ids []int32
	for rest := []byte(text); len(rest) > 0; {
		n := firstWord(rest)
		ids = t.appendWord(ids, string(rest[:n]))
		rest = rest[n:]
	}
	return ids
}

// Encoder is Tokenizer.Encode with a memory of words: quicker for much text, and for one goroutine.
type Encoder struct {
	tokenizer *Tokenizer
	known     map[string][]int32
}

// Encoder makes one.
func (t *Tokenizer) Encoder() *Encoder { return &Encoder{t, map[string][]int32{}} }

// An Encoder remembers this number of words, of at most this length: longer ones hardly come again.
const rememberedWords, rememberedLength = 1 << 20, 64

// Append appends the ids of a text.
func (e *Encoder) Append(ids []int32, text []byte) []int32 {
	for len(text) > 0 {
		n := firstWord(text)
		units, known := e.known[string(text[:n])]
		if !known {
			word := string(text[:n])
			units = e.tokenizer.appendWord(nil, word)
			if n <= rememberedLength && len(e.known) < rememberedWords {
				e.known[word] = units
			}
		}
		ids = append(ids, units...)
		text = text[n:]
	}
	return ids
}

// symbol is a unit in the course of merging a word, in a list that is linked both ways.
type symbol struct {
	id         int32 // -1 where it went into its left neighbour
	prev, next int32 // -1 at the ends
}

// candidate is a pair that has a merge: the symbol on the left, and what both were when it was found.
type candidate struct {
	merge
	at    int32
	left  int32
	right int32
}

// queue yields the merge of the lowest rank, the leftmost of equals.
type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].rank < q[j].rank || q[i].rank == q[j].rank && q[i].at < q[j].at
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// appendWord merges the bytes of a word.
func (t *Tokenizer) appendWord(ids []int32, word string) []int32 {
	symbols := make([]symbol, len(word))
	for i := range symbols {
		symbols[i] = symbol{t.bytes[word[i]], int32(i - 1), int32(i + 1)}
	}
	symbols[len(symbols)-1].next = -1
	var waiting queue
	propose := func(at int32) {
		if at < 0 || symbols[at].next < 0 {
			return
		}
		left, right := symbols[at].id, symbols[symbols[at].next].id
		if m, ok := t.merges[[2]int32{left, right}]; ok {
			waiting = append(waiting, candidate{m, at, left, right})
		}
	}
	for i := range symbols {
		propose(int32(i))
	}
	heap.Init(&waiting)
	for len(waiting) > 0 {
		c := heap.Pop(&waiting).(candidate)
		left := &symbols[c.at]
		if left.id != c.left || left.next < 0 || symbols[left.next].id != c.right {
			continue
		}
		right := &symbols[left.next]
		left.id, left.next, right.id = c.id, right.next, -1
		if left.next >= 0 {
			symbols[left.next].prev = c.at
		}
		for _, at := range []int32{left.prev, c.at} {
			before := len(waiting)
			if propose(at); len(waiting) > before {
				heap.Fix(&waiting, before)
			}
		}
	}
	for i := int32(0); i >= 0; i = symbols[i].next {
		ids = append(ids, symbols[i].id)
	}
	return ids
}
