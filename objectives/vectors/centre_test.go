package vectors

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/tokenize"
)

// TestCentre: the mean of the unit vectors of words goes, from <unk> and the file's </s> too, and not from a constant
// </s>.
func TestCentre(t *testing.T) {
	v := words("a", "b", "c")
	for _, end := range []string{"", "</s> 0 2\n"} {
		table, err := open(t, "x.vec", "a 2 0\nb 0 3\nc 0.6 0.8\nd -1 -1\n"+end, v)
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(table.Rows)
		if err := table.Centre(v); err != nil {
			t.Fatal(err)
		}
		mean := []float64{1.6 / 3, 1.8 / 3} // of (1,0), (0,1) and (0.6,0.8)
		for id := int32(tokenize.EOS); id < 7; id++ {
			x, y := float64(before[2*id])-mean[0], float64(before[2*id+1])-mean[1]
			if id == tokenize.EOS && end == "" {
				x, y = 1, -1
			}
			row(t, table, id, x/math.Hypot(x, y), y/math.Hypot(x, y))
		}
		row(t, table, tokenize.BOS, 0, 0)
		row(t, table, tokenize.Pad, 0, 0)
	}
	alone, err := open(t, "x.vec", "a 2 1\nb 2 1\nc 4 2\n", v)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Centre(v); err == nil ||
		!strings.Contains(err.Error(), `objective.vectors_centre = true leaves "a" without`) {
		t.Errorf("the error is %v", err)
	}
}
