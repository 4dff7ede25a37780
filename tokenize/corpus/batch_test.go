package corpus

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aperture-ml/aperture/tokenize"
)

func TestBatchLayout(t *testing.T) {
	pairs := List{
		{Source: []int32{10}, Target: []int32{20, 21, 22}, Line: 5},
		{Source: []int32{11, 12, 13}, Target: []int32{23}, Line: 9},
		{Source: []int32{14}, Target: []int32{}, Line: 2},
	}
	got := newBatch(pairs, []int32{0, 1, 2})
	want := &Batch{
		Source: []int64{
			11, 12, 13, 2,
			10, 2, 1, 1,
			14, 2, 1, 1,
		},
		Prev: []int64{
			2, 23, 1, 1,
			2, 20, 21, 22,
			2, 1, 1, 1,
		},
		Target: []int64{
			23, 2, 1, 1,
			20, 21, 22, 2,
			2, 1, 1, 1,
		},
		SourceLengths: []int{4, 2, 2},
		TargetLengths: []int{2, 4, 1},
		Rows:          3, S: 4, T: 4, Tokens: 7,
		Lines: []int{9, 5, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if pads, positions := got.Padding(); pads != 4+5 || positions != 24 {
		t.Errorf("%d of %d positions are padding, want 9 of 24", pads, positions)
	}
}

func TestEvaluationBatches(t *testing.T) {
	lengths := []int{3, 0, 12, 3, 7, 30, 1}
	var pairs List
	for i, n := range lengths {
		pairs = append(pairs, pairOf(i+1, n, n/2))
	}
	batches := EvaluationBatches(pairs, 16, 3)
	order := []int{}
	for _, b := range batches {
		order = append(order, b.Lines...)
		if b.Rows > 3 || b.Rows > 1 && b.Rows*max(b.S, b.T) > 16 {
			t.Errorf("batch of %d rows, %d by %d, breaks the limits", b.Rows, b.S, b.T)
		}
	}
	// Longest first, with line 6 over the limit by itself.
	if diff := cmp.Diff([]int{6, 3, 5, 4, 1, 7, 2}, order); diff != "" {
		t.Error(diff)
	}
	if alone := batches[0]; alone.Rows != 1 || alone.S != 31 {
		t.Errorf("the first batch has %d rows of %d", alone.Rows, alone.S)
	}
}

func TestEvaluationWithoutTargets(t *testing.T) {
	pairs := List{{Source: []int32{7, 8}, Line: 1}}
	b := EvaluationBatches(pairs, 100, 0)[0]
	if diff := cmp.Diff([]int64{tokenize.EOS}, b.Prev); diff != "" || b.T != 1 {
		t.Errorf("the decoder starts with %v", b.Prev)
	}
}
