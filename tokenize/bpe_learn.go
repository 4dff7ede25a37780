package tokenize

import (
	"fmt"
	"unicode/utf8"
)

// LearnOptions say how many merges to learn.
type LearnOptions struct {
	Merges       int  // merges asked for
	MinFrequency int  // stop before a pair that is rarer; 0 means 2
	TotalSymbols bool // Merges is a budget from which the characters are taken off first
}

// LearnReport tells what learning met.
type LearnReport struct {
	InternalCharacters int  // different characters inside words
	FinalCharacters    int  // different characters at the end of words
	Stopped            bool // no pair was frequent enough for another merge
}

// Learn learns byte-pair encoding (Sennrich et al., 2016): again and again the most frequent pair of neighbouring
// symbols becomes one symbol; of equally frequent pairs the greatest by code points, first symbol first. Counts are
// exact.
func Learn(words *WordCounts, opts LearnOptions) (*Codes, LearnReport, error) {
	if opts.MinFrequency == 0 {
		opts.MinFrequency = 2
	}
	if opts.MinFrequency < 0 {
		return nil, LearnReport{}, fmt.Errorf("the least frequency of a merge should be 1 or more, not %d",
			opts.MinFrequency)
	}
	if opts.Merges < 0 {
		return nil, LearnReport{}, fmt.Errorf("the number of merges should not be negative, and is %d", opts.Merges)
	}
	l := newLearner(words, opts.MinFrequency, endOfWord)
	report := l.report
	n := opts.Merges
	if opts.TotalSymbols {
		n -= report.InternalCharacters + report.FinalCharacters
	}
	l.countPairs()
	codes := &Codes{Version: "0.2"}
	for len(codes.Merges) < n {
		best, ok := l.mostFrequent()
		if !ok {
			report.Stopped = true
			break
		}
		pair := &l.pairs[best]
		codes.Merges = append(codes.Merges, Merge{l.symbols[pair.left], l.symbols[pair.right]})
		l.merge(best)
	}
	return codes, report, nil
}

// LearnUnits learns byte-pair encoding as Hugging Face's trainer does: symbols are the characters of an alphabet, which
// has those of all words, in its order, and those that merges make behind them, until they are size in all or no pair
// is seen minimum times; of equally frequent pairs the first is merged, by the number of its left symbol, then of its
// right one. A merge whose symbol an earlier merge has made adds none.
func LearnUnits(words *WordCounts, alphabet []string, size, minimum int) []Merge {
	l := newLearner(&WordCounts{}, minimum, "")
	for _, letter := range alphabet {
		l.symbol(letter)
	}
	l.first = func(p, q *learnPair) bool {
		return p.left < q.left || p.left == q.left && p.right < q.right
	}
	l.add(words, "")
	l.countPairs()
	var merges []Merge
	for len(l.symbols) < size {
		best, ok := l.mostFrequent()
		if !ok {
			break
		}
		merges = append(merges, Merge{l.symbols[l.pairs[best].left], l.symbols[l.pairs[best].right]})
		l.merge(best)
	}
	return merges
}

// learner holds words as symbols, and every pair with its words. Symbols of equal text are equal, however merged.
type learner struct {
	symbols []string
	ids     map[string]int32

	words [][]int32 // symbols of each word
	freqs []int

	pairs   []learnPair
	pairIDs map[uint64]int32
	queue   heap[queuedPair]
	raised  []int32 // pairs whose count rose in the current merge
	minimum int
	first   func(p, q *learnPair) bool // of equally frequent pairs
	report  LearnReport
}

type learnPair struct {
	left, right int32
	raised      bool
	count       int
	queued      int     // count of its valid entry in the queue, -1 without one
	words       []int32 // words it was ever seen in; some may have lost it
}

// newLearner holds words whose last character is another symbol than elsewhere, by the mark that ends words.
func newLearner(counts *WordCounts, minimum int, mark string) *learner {
	l := &learner{ids: make(map[string]int32), pairIDs: make(map[uint64]int32), minimum: minimum}
	l.first, l.queue.before = l.greatest, l.before
	l.add(counts, mark)
	return l
}

// add takes the words up.
func (l *learner) add(counts *WordCounts, endMark string) {
	l.words, l.freqs = make([][]int32, 0, len(counts.words)), counts.counts
	length := 0
	for _, word := range counts.words {
		length += utf8.RuneCountInString(word)
	}
	symbols := make([]int32, 0, length)
	internal, final := make(map[rune]int32), make(map[rune]int32)
	for _, word := range counts.words {
		start := len(symbols)
		for at, r := range word {
			kind, mark := internal, ""
			if at+utf8.RuneLen(r) == len(word) {
				kind, mark = final, endMark
			}
			id, ok := kind[r]
			if !ok {
				id = l.symbol(string(r) + mark)
				kind[r] = id
			}
			symbols = append(symbols, id)
		}
		l.words = append(l.words, symbols[start:])
	}
	l.report = LearnReport{InternalCharacters: len(internal), FinalCharacters: len(final)}
}

func (l *learner) symbol(text string) int32 {
	id, ok := l.ids[text]
	if !ok {
		id = int32(len(l.symbols))
		l.symbols = append(l.symbols, text)
		l.ids[text] = id
	}
	return id
}

// pair finds the pair of two symbols, made with count 0 when it is new.
func (l *learner) pair(left, right int32) int32 {
	key := pairKey(left, right)
	id, ok := l.pairIDs[key]
	if !ok {
		id = int32(len(l.pairs))
		l.pairs = append(l.pairs, learnPair{left: left, right: right, queued: -1})
		l.pairIDs[key] = id
	}
	return id
}

func pairKey(left, right int32) uint64 {
	return uint64(uint32(left))<<32 | uint64(uint32(right))
}

func (l *learner) countPairs() {
	for w, word := range l.words {
		for i := 1; i < len(word); i++ {
			l.raise(word[i-1], word[i], int32(w))
		}
	}
	l.queueRaised()
}

// raise counts one more occurrence of a pair in word w.
func (l *learner) raise(left, right, w int32) {
	id := l.pair(left, right)
	p := &l.pairs[id]
	p.count += l.freqs[w]
	if n := len(p.words); n == 0 || p.words[n-1] != w {
		p.words = append(p.words, w)
	}
	if !p.raised {
		p.raised = true
		l.raised = append(l.raised, id)
	}
}

// lower takes one occurrence away. The queue's entry stays as an upper bound until the pair comes up.
func (l *learner) lower(left, right, w int32) {
	l.pairs[l.pair(left, right)].count -= l.freqs[w]
}

func (l *learner) queueRaised() {
	for _, id := range l.raised {
		l.pairs[id].raised = false
		l.enqueue(id)
	}
	l.raised = l.raised[:0]
}

func (l *learner) enqueue(id int32) {
	p := &l.pairs[id]
	if p.count < l.minimum {
		p.queued = -1
		return
	}
	p.queued = p.count
	l.queue.push(queuedPair{count: p.count, pair: id})
}

// mostFrequent takes the best pair off the queue; false when none is left that reaches the minimum.
func (l *learner) mostFrequent() (int32, bool) {
	for len(l.queue.items) > 0 {
		top := l.queue.pop()
		p := &l.pairs[top.pair]
		switch {
		case top.count != p.queued: // a newer entry took its place
		case top.count != p.count:
			l.enqueue(top.pair)
		default:
			return top.pair, true
		}
	}
	return 0, false
}

// merge joins all occurrences of a pair, left to right without overlap, and updates the counts around them.
func (l *learner) merge(id int32) {
	left, right, seen := l.pairs[id].left, l.pairs[id].right, l.pairs[id].words
	joined := l.symbol(l.symbols[left] + l.symbols[right])
	for _, w := range seen {
		word := l.words[w]
		at := 0
		for at+1 < len(word) && (word[at] != left || word[at+1] != right) {
			at++
		}
		if at+1 >= len(word) {
			continue
		}
		// The word is rewritten in place; previous is the symbol before i in the old word, which may be overwritten.
		out := word[:at]
		var previous int32
		if at > 0 {
			previous = word[at-1]
		}
		fresh := false
		for i := at; i < len(word); {
			if i+1 < len(word) && word[i] == left && word[i+1] == right {
				if i > 0 {
					l.lower(previous, left, w)
					l.raise(out[len(out)-1], joined, w)
				}
				out = append(out, joined)
				previous, fresh = right, true
				i += 2
				continue
			}
			symbol := word[i]
			if fresh {
				l.lower(previous, symbol, w)
				l.raise(joined, symbol, w)
			}
			out = append(out, symbol)
			previous, fresh = symbol, false
			i++
		}
		l.words[w] = out
	}
	l.pairs[id].count, l.pairs[id].queued, l.pairs[id].words = 0, -1, nil
	l.queueRaised()
}

// queuedPair is a pair with the count that it had when it was queued.
type queuedPair struct {
	count int
	pair  int32
}

// before orders the queue: the more frequent pair first.
func (l *learner) before(a, b queuedPair) bool {
	if a.count != b.count {
		return a.count > b.count
	}
	return l.first(&l.pairs[a.pair], &l.pairs[b.pair])
}

// greatest tells which of two pairs is the greater one. UTF-8 bytes sort as code points do.
func (l *learner) greatest(p, q *learnPair) bool {
	if p.left != q.left {
		return l.symbols[p.left] > l.symbols[q.left]
	}
	return l.symbols[p.right] > l.symbols[q.right]
}
