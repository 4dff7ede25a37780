package objectives

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// penaltyEqualsPyTorch holds a penalty of hidden states to a case of testdata/gen_states.py: its value and its
// gradient, in float64 and float32. change are settings of the method; prepare, which may be nil, changes the piece.
func penaltyEqualsPyTorch(t *testing.T, name, method string, prepare func(StatePenalty, map[string]torch.Tensor),
	change ...any) {
	t.Helper()
	for dtype, limit := range map[torch.DType]float64{torch.Float64: 1e-12, torch.Float32: 2e-5} {
		t.Run(fmt.Sprint(name, "/", dtype), func(t *testing.T) {
			torch.Test(t, func() {
				g, _, err := torch.ReadSafetensors("testdata/states.safetensors", device)
				if err != nil {
					t.Fatal(err)
				}
				s := unsmoothed()
				s.Set(append([]any{"method", method}, change...)...)
				p := config(47, 9, 1)
				p.DType = dtype
				o := layer(t, s, p)
				defer release(o, p)
				piece := o.method.States[0]
				if prepare != nil {
					prepare(piece, g)
				}
				states := torch.States{Hidden: leaf(g["hidden"], dtype), Column: g["column"].Int64s(), Columns: 4}
				value := penaltyOfStates(piece, states, 0.5)
				value.Backward()
				value = value.MulScalar(2)
				near(t, "value", value.Float64s(), g[name+"/value"].Float64s(), limit)
				near(t, "gradient", states.Hidden.Grad().MulScalar(2).Float64s(), g[name+"/gradient"].Float64s(), limit)
			})
		})
	}
}

// TestBlocks: columns in any order; sentences of one state are none, long ones are cut.
func TestBlocks(t *testing.T) {
	torch.Test(t, func() {
		n := 2*blockLength + 5
		s := torch.States{Hidden: torch.Zeros(torch.Float64, device, int64(n), 1), Columns: 4}
		for i := range n {
			column := int64(3) // of the rest
			switch i {
			case 0:
				column = 1 // one state
			case 2, 4:
				column = 0
			}
			s.Column = append(s.Column, column)
		}
		b := blocksOf(s, torch.Float64)
		if got, want := fmt.Sprint(b.lengths), fmt.Sprint([]int{2, blockLength, blockLength, 2}); got != want {
			t.Fatalf("blocks of %s states, want %s", got, want)
		}
		rows, real := b.rows_BT.Int64s(), b.real_BT.Float64s()
		if !slices.Equal(rows[:2], []int64{2, 4}) || real[0] != 1 || real[1] != 1 || real[2] != 0 ||
			rows[blockLength] != 1 || rows[3*blockLength+1] != int64(n-1) {
			t.Errorf("the rows are %v", rows)
		}
		if got := b.pairs().Sum().Item(); got != 2*2+2*blockLength*(blockLength-1) {
			t.Errorf("%v pairs", got)
		}
		if none := blocksOf(torch.States{Hidden: s.Hidden}, torch.Float64); none.lengths != nil {
			t.Error("rows without columns make blocks")
		}
	})
}
