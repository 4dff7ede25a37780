package objectives

import (
	"fmt"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestUnlikelihoodEqualsPyTorch(t *testing.T) { equalsPyTorch(t, "unlikelihood") }

// TestUnlikelihoodCountsWordsOnce: and neither padding nor the words of other columns.
func TestUnlikelihoodCountsWordsOnce(t *testing.T) {
	torch.Test(t, func() {
		states := torch.States{Hidden: torch.Zeros(torch.Float64, device, 7, 1), Column: []int64{0, 1, 0, 1, 0, 0, 0},
			Columns: 2}
		targets := torch.FromInt64s([]int64{5, 6, 5, 7, 1, 8, 9}, torch.CPU, 7)
		got := fmt.Sprint(wordsBefore(states, targets, 1).Int64s())
		if want := "[5 5 6 6 5 5 6 7 5 1 5 8 5 8]"; got != want {
			t.Errorf("words before are %s, want %s", got, want)
		}
	})
}
