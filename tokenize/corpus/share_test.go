package corpus

import (
	"slices"
	"testing"
)

// Every piece is dealt once, in order, and no hand is heavier than another by more than a piece.
func TestDeal(t *testing.T) {
	costs := []int{7, 3, 3, 9, 1, 1, 4, 4, 4, 2}
	for _, size := range []int{0, 1, 2, 3, 4, 12} {
		hands := Share{Size: size}.Deal(costs)
		var all []int
		least, most := 1<<30, 0
		for r, hand := range hands {
			sum := 0
			for _, i := range hand {
				sum += costs[i]
			}
			least, most = min(least, sum), max(most, sum)
			all = append(all, hand...)
			if !slices.IsSorted(hand) || !slices.Equal(hand, Share{r, size}.Mine(costs)) {
				t.Errorf("hand %d of %d is %v", r, size, hand)
			}
		}
		slices.Sort(all)
		if len(all) != len(costs) || len(slices.Compact(all)) != len(costs) || most-least > slices.Max(costs) {
			t.Errorf("%d hands: %v", size, hands)
		}
	}
}

// What the processes load of an update is, together, what one loads.
func TestLoadersShareUpdates(t *testing.T) {
	pairs := List{}
	for i := range 40 {
		pairs = append(pairs, Pair{Source: make([]int32, 1+i%7), Target: make([]int32, 1+i%5), Line: i})
	}
	open := func(s Share) *Loader {
		l, err := NewLoader(pairs, Options{BatchSettings: BatchSettings{MaxTokens: 24}, Accumulate: 3, Seed: 4,
			Share: s}, Position{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	one, first, second := open(Share{}), open(Share{0, 2}), open(Share{1, 2})
	for range 2 * one.UpdatesPerEpoch() {
		whole, _ := one.Next()
		lines := make([][]int, len(whole.Batches))
		for _, l := range []*Loader{first, second} {
			part, _ := l.Next()
			if part.Tokens != whole.Tokens || part.Sentences != whole.Sentences || part.All != len(whole.Batches) ||
				part.Position != whole.Position {
				t.Fatalf("%+v is no part of %+v", part, whole)
			}
			for k, b := range part.Batches {
				lines[part.Places[k]] = b.Lines
			}
		}
		for k, b := range whole.Batches {
			if !slices.Equal(b.Lines, lines[k]) {
				t.Fatalf("batch %d has lines %v, and %v where it is shared out", k, b.Lines, lines[k])
			}
		}
	}
}
