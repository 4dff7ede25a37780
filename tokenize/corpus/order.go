package corpus

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
)

// limits on the size of a batch.
type budget struct {
	tokens    int // rows times the largest size
	sentences int // 0: no limit
	multiple  int // rows are a multiple of it, or fewer
}

// byLength sorts the indices of all pairs by source length, then target length, stably. Pairs of equal lengths are a
// group, found once, so that a sort is one pass. It takes 4 bytes a pair.
type byLength struct {
	groups []int32 // of each pair, numbered in the order of lengths
	starts []int32 // of each group in the sorted order, and the end of the last
	sizes  []int   // what a pair of each group costs in a batch
}

func newByLength(pairs Pairs) *byLength {
	type lengths struct{ source, target int }
	ids := map[lengths]int32{} // in the order in which they are met
	var met []lengths
	var counts []int32
	s := &byLength{groups: make([]int32, pairs.Len())}
	for i := range s.groups {
		var l lengths
		l.source, l.target = pairs.Lengths(i)
		id, known := ids[l]
		if !known {
			id = int32(len(met))
			ids[l] = id
			met, counts = append(met, l), append(counts, 0)
		}
		counts[id]++
		s.groups[i] = id
	}
	order := all(len(met))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(met[a].source, met[b].source), cmp.Compare(met[a].target, met[b].target))
	})
	renamed := make([]int32, len(met))
	first := int32(0)
	for group, id := range order {
		renamed[id] = int32(group)
		s.starts = append(s.starts, first)
		s.sizes = append(s.sizes, max(met[id].source, met[id].target)+1)
		first += counts[id]
	}
	s.starts = append(s.starts, first)
	for i, id := range s.groups {
		s.groups[i] = renamed[id]
	}
	return s
}

func (s *byLength) sort(order []int32) []int32 {
	sorted, next := make([]int32, len(order)), slices.Clone(s.starts)
	for _, i := range order {
		group := s.groups[i]
		sorted[next[group]] = i
		next[group]++
	}
	return sorted
}

// cut returns where each batch ends in any sorted order: pairs of equal lengths cost the same.
func (s *byLength) cut(b budget) []int {
	group := 0
	return b.cut(len(s.groups), func(k int) int {
		for k >= int(s.starts[group+1]) {
			group++
		}
		return s.sizes[group]
	})
}

// all are the indices of the given number of pairs.
func all(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

// cut divides n sizes into batches and returns where each ends. It keeps a complete part, whose rows are a multiple or
// fewer than one, and a tail that waits to become complete. When an item breaks a limit, the complete part is a batch
// and the tail begins the next one, or is a batch too if it has no room for the item.
func (b budget) cut(n int, sizeOf func(int) int) []int {
	var ends []int
	begin, complete := 0, 0 // the open batch starts at begin and is complete up to complete
	partMax, tailMax := 0, 0
	breaks := func(rows, largest int) bool {
		return b.sentences > 0 && rows > b.sentences || rows*largest > b.tokens
	}
	for i := range n {
		size := sizeOf(i)
		if breaks(i+1-begin, max(partMax, tailMax, size)) {
			if complete > begin {
				ends = append(ends, complete)
				begin, partMax = complete, 0
			}
			if i > begin && breaks(i+1-begin, max(tailMax, size)) {
				ends = append(ends, i)
				begin, tailMax = i, 0
			}
			// What is left opens the next batch as it is, a multiple or not.
			complete, partMax, tailMax = i+1, max(tailMax, size), 0
			continue
		}
		tailMax = max(tailMax, size)
		if rows := i + 1 - begin; rows < b.multiple || rows%b.multiple == 0 {
			complete, partMax, tailMax = i+1, max(partMax, tailMax), 0
		}
	}
	if complete > begin {
		ends = append(ends, complete)
	}
	if n > complete {
		ends = append(ends, n)
	}
	return ends
}

// split cuts indices into batches, given where each ends.
func split(order []int32, ends []int) [][]int32 {
	batches, begin := make([][]int32, len(ends)), 0
	for k, end := range ends {
		batches[k] = order[begin:end]
		begin = end
	}
	return batches
}

// epochs are those of pairs: the batches of each follow from the seed and its number alone.
type epochs struct {
	*byLength
	ends []int // of the batches, in every epoch
	seed uint64
}

func newEpochs(pairs Pairs, b budget, seed uint64) epochs {
	lengths := newByLength(pairs)
	return epochs{lengths, lengths.cut(b), seed}
}

// batches lists those of an epoch in training order, as indices of pairs.
func (e epochs) batches(epoch int) [][]int32 {
	order := all(len(e.groups))
	shuffleStream(e.seed, "ties", epoch).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	batches := split(e.sort(order), e.ends)
	shuffleStream(e.seed, "batches", epoch).Shuffle(len(batches), func(i, j int) {
		batches[i], batches[j] = batches[j], batches[i]
	})
	return batches
}

// shuffleStream gives the random stream of one purpose in one epoch, independent of every other.
func shuffleStream(seed uint64, purpose string, epoch int) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "aperture shuffle %d %s %d", seed, purpose, epoch))))
}

// EvaluationBatches cuts all pairs into batches of similar length, longest first, so that a shortage of memory shows at
// once. Lines restores the order. A pair beyond maxTokens gets a batch of its own; maxSentences 0 is no limit.
func EvaluationBatches(pairs Pairs, maxTokens, maxSentences int) []*Batch {
	lengths := newByLength(pairs)
	cuts := split(lengths.sort(all(pairs.Len())), lengths.cut(budget{maxTokens, maxSentences, 1}))
	slices.Reverse(cuts)
	batches := make([]*Batch, len(cuts))
	for k, members := range cuts {
		batches[k] = newBatch(pairs, members)
	}
	return batches
}
