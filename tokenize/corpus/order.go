package corpus

import (
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

// size is what a pair costs in a batch.
func size(p Pair) int { return max(len(p.Source), len(p.Target)) + 1 }

// byLength sorts the indices of pairs by source length, then target length,
// keeping the given order of equals. Counting sort: linear, and stable.
func byLength(pairs []Pair, order []int) []int {
	order = countingSort(order, func(i int) int { return len(pairs[i].Target) })
	return countingSort(order, func(i int) int { return len(pairs[i].Source) })
}

func countingSort(order []int, key func(int) int) []int {
	longest := 0
	for _, i := range order {
		longest = max(longest, key(i))
	}
	start := make([]int, longest+2)
	for _, i := range order {
		start[key(i)+1]++
	}
	for k := range longest + 1 {
		start[k+1] += start[k]
	}
	sorted := make([]int, len(order))
	for _, i := range order {
		sorted[start[key(i)]] = i
		start[key(i)]++
	}
	return sorted
}

// cut divides a sequence of sizes into batches and returns where each ends. It
// keeps a complete part, whose rows are a multiple or fewer than one, and a tail
// that waits to become complete. When the next item breaks a limit, the complete
// part is a batch and the tail begins the next one, or, where even the tail has
// no room for the item, is a batch too.
func (b budget) cut(sizes []int) []int {
	var ends []int
	begin, complete := 0, 0 // the open batch is sizes[begin:], complete up to complete
	partMax, tailMax := 0, 0
	breaks := func(rows, largest int) bool {
		return b.sentences > 0 && rows > b.sentences || rows*largest > b.tokens
	}
	for i, size := range sizes {
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
	if len(sizes) > complete {
		ends = append(ends, len(sizes))
	}
	return ends
}

// split cuts indices in the given order into batches.
func (b budget) split(pairs []Pair, order []int) [][]int {
	sizes := make([]int, len(order))
	for k, i := range order {
		sizes[k] = size(pairs[i])
	}
	ends := b.cut(sizes)
	batches, begin := make([][]int, len(ends)), 0
	for k, end := range ends {
		batches[k] = order[begin:end]
		begin = end
	}
	return batches
}

// epochBatches lists the batches of an epoch in training order, as indices of
// pairs. It depends on its arguments alone.
func (b budget) epochBatches(pairs []Pair, seed uint64, epoch int) [][]int {
	order := shuffleStream(seed, "ties", epoch).Perm(len(pairs))
	batches := b.split(pairs, byLength(pairs, order))
	shuffleStream(seed, "batches", epoch).Shuffle(len(batches), func(i, j int) {
		batches[i], batches[j] = batches[j], batches[i]
	})
	return batches
}

// shuffleStream gives the random stream of one purpose in one epoch, independent
// of every other.
func shuffleStream(seed uint64, purpose string, epoch int) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "aperture shuffle %d %s %d", seed, purpose, epoch))))
}

// EvaluationBatches cuts all pairs into batches of similar length, longest
// first, so that a shortage of memory shows at once. Lines restores the order.
// A pair that costs more than maxTokens gets a batch of its own. maxSentences 0
// means no limit.
func EvaluationBatches(pairs []Pair, maxTokens, maxSentences int) []*Batch {
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	cuts := budget{maxTokens, maxSentences, 1}.split(pairs, byLength(pairs, order))
	slices.Reverse(cuts)
	batches := make([]*Batch, len(cuts))
	for k, members := range cuts {
		batches[k] = newBatch(pairs, members)
	}
	return batches
}
