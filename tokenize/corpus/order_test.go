package corpus

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/internal/fixtures"
)

// The expected lengths are those of fairseq for the same sizes and limits.
func TestCutAsFairseq(t *testing.T) {
	tests := []struct {
		name   string
		items  int
		size   int
		budget budget
		want   []int
	}{
		{"multiple 8", 20, 10, budget{100, 0, 8}, []int{8, 8, 4}},
		{"multiple 1", 20, 10, budget{100, 0, 1}, []int{10, 10}},
		{"tail becomes a batch", 30, 10, budget{200, 0, 8}, []int{16, 8, 6}},
		{"sentences", 17, 3, budget{1 << 40, 5, 1}, []int{5, 5, 5, 2}},
		{"one over a multiple", 17, 3, budget{1000, 0, 8}, []int{16, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ends := test.budget.cut(test.items, func(int) int { return test.size })
			begin, got := 0, []int{}
			for _, end := range ends {
				got = append(got, end-begin)
				begin = end
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCutKeepsLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 500 {
		sizes := make([]int, 1+rng.IntN(200))
		for i := range sizes {
			sizes[i] = 1 + rng.IntN(40)
		}
		if trial%2 == 0 {
			sort.Ints(sizes)
		}
		b := budget{40 + rng.IntN(300), rng.IntN(12), 1 + rng.IntN(9)}
		begin := 0
		for _, end := range b.cut(len(sizes), func(i int) int { return sizes[i] }) {
			rows := end - begin
			if rows < 1 {
				t.Fatalf("%+v on %v: an empty batch at %d", b, sizes, begin)
			}
			largest := slices.Max(sizes[begin:end])
			if rows*largest > b.tokens || b.sentences > 0 && rows > b.sentences {
				t.Fatalf("%+v on %v: %d rows of %d at %d", b, sizes, rows, largest, begin)
			}
			begin = end
		}
		if begin != len(sizes) {
			t.Fatalf("%+v on %v: the last batch ends at %d", b, sizes, begin)
		}
	}
}

func TestByLengthIsStable(t *testing.T) {
	var pairs List
	for i, lengths := range [][2]int{{3, 1}, {2, 9}, {3, 1}, {2, 4}, {3, 0}, {2, 9}} {
		pairs = append(pairs, pairOf(i, lengths[0], lengths[1]))
	}
	got := newByLength(pairs).sort([]int32{5, 2, 4, 1, 3, 0})
	if diff := cmp.Diff([]int32{3, 5, 1, 4, 2, 0}, got); diff != "" {
		t.Error(diff)
	}
}

// The order is part of what a checkpoint relies on: it must not change.
func TestEpochOrderIsFixed(t *testing.T) {
	pairs := make(List, 12)
	for i := range pairs {
		pairs[i] = pairOf(i, 3+i%2, 4)
	}
	b := budget{15, 0, 1}
	seven, eight := newEpochs(pairs, b, 7), newEpochs(pairs, b, 8)
	got := [][][]int32{seven.batches(0), seven.batches(1), eight.batches(0)}
	want := [][][]int32{
		{{8, 0, 2}, {10, 4, 6}, {5, 11, 3}, {1, 7, 9}},
		{{6, 2, 4}, {8, 10, 0}, {1, 11, 5}, {7, 3, 9}},
		{{2, 8, 6}, {9, 5, 3}, {4, 0, 10}, {7, 1, 11}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// multi30k gives whitespace tokens of the training text as arbitrary ids.
func multi30k(t *testing.T) List {
	t.Helper()
	text, err := ReadParallel(trainIn(filepath.Dir(fixtures.Path(t, "multi30k/train.en"))), "-train")
	if err != nil {
		t.Fatal(err)
	}
	encode := func(line string) []int32 {
		ids := make([]int32, len(strings.Fields(line)))
		for i := range ids {
			ids[i] = 4
		}
		return ids
	}
	return Encode(text.Source.Lines, text.Target.Lines, encode, encode)
}

func TestMulti30kPaddingAndCoverage(t *testing.T) {
	pairs := multi30k(t)
	for _, maxTokens := range []int{1500, 4096} {
		pads, positions, seen := 0, 0, make([]int, len(pairs)+1)
		for _, members := range newEpochs(pairs, budget{maxTokens, 0, 1}, 1).batches(3) {
			b := newBatch(pairs, members)
			if cost := b.Rows * max(b.S, b.T); cost > maxTokens {
				t.Errorf("a batch costs %d of %d", cost, maxTokens)
			}
			p, n := b.Padding()
			pads, positions = pads+p, positions+n
			for _, line := range b.Lines {
				seen[line]++
			}
		}
		for line, times := range seen[1:] {
			if times != 1 {
				t.Fatalf("line %d occurs %d times in an epoch", line+1, times)
			}
		}
		share := 100 * float64(pads) / float64(positions)
		t.Logf("%d tokens a batch: %.2f %% padding", maxTokens, share)
		if share > 10 {
			t.Errorf("%d tokens a batch: %.2f %% padding, more than 10", maxTokens, share)
		}
	}
}
