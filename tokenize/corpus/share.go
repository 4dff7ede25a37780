package corpus

import (
	"cmp"
	"slices"
)

// Share says which of the given number of processes this one is. The zero Share is the only one.
type Share struct {
	Rank, Size int
}

// Deal divides pieces of work of these costs among the processes, and gives the places of each one's, in order. The
// most expensive goes first, to the process with the least work. All processes find the same division.
func (s Share) Deal(costs []int) [][]int {
	hands := make([][]int, max(1, s.Size))
	order, load := make([]int, len(costs)), make([]int, len(hands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	for _, i := range order {
		least := 0
		for r := range load {
			if load[r] < load[least] {
				least = r
			}
		}
		load[least] += costs[i]
		hands[least] = append(hands[least], i)
	}
	for _, hand := range hands {
		slices.Sort(hand)
	}
	return hands
}

// Mine are the places of this process's pieces of work.
func (s Share) Mine(costs []int) []int { return s.Deal(costs)[s.Rank] }
