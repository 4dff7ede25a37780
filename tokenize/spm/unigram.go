package spm

// unknownPenalty is how much an unknown character scores below the rarest piece.
const unknownPenalty = 10

// encodeUnigram finds the most probable segmentation (Kudo 2018, section 3.2) by Viterbi's algorithm over bytes. Sums
// are rounded where the library rounds them, since ties are decided there.
func (m *Model) encodeUnigram(text string) []span {
	type node struct {
		score float32
		begin int32
		id    int32
	}
	best := make([]node, len(text)+1)
	for i := range best {
		best[i].begin = -1
	}
	unknownScore := m.minScore - unknownPenalty
	for begin := 0; begin < len(text); {
		length := characterLength(text[begin:])
		sofar := best[begin].score
		whole := false // a piece is just this character
		for at, end := int32(0), begin; m.trie != nil && end < len(text); {
			if at = m.trie.next(at, text[end]); at < 0 {
				break
			}
			end++
			id := m.trie.ends[at]
			if id < 0 {
				continue
			}
			score := m.pieces[id].score // sums are float32 as the library's are, which decides between equal ones
			if m.pieces[id].kind == userDefined {
				score = float32(float32(end-begin)*m.maxScore) - 0.1
			}
			sum := score + sofar
			if to := &best[end]; to.begin < 0 || sum > to.score {
				*to = node{sum, int32(begin), id}
			}
			whole = whole || end-begin == length
		}
		if !whole {
			sum := unknownScore + sofar
			if to := &best[begin+length]; to.begin < 0 || sum > to.score {
				*to = node{sum, int32(begin), m.unknown}
			}
		}
		begin += length
	}
	count := 0
	for end := len(text); end > 0; end = int(best[end].begin) {
		count++
	}
	spans := make([]span, count)
	for end := len(text); end > 0; end = int(best[end].begin) {
		count--
		spans[count] = span{end, best[end].id}
	}
	return spans
}
