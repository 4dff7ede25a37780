package measures

import (
	"fmt"
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()}, {[]float64{3}, 3}, {[]float64{2, 1}, 1.5}, {[]float64{9, 0, 4}, 4}, {[]float64{7, 1, 2, 4}, 3},
		{[]float64{1, math.NaN()}, math.NaN()}, {[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		if got := Median(c.values); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestRanksOfNaN(t *testing.T) {
	nan := math.NaN()
	near(t, "ranks", Ranks([]float64{2, nan, 1, nan, 2}), []float64{3.5, 0.5, 2, 0.5, 3.5}, 0)
}

// TestEqualRowsVaryNowhere has rows that are all equal, of whose mean rounding leaves something else than themselves.
func TestEqualRowsVaryNowhere(t *testing.T) {
	for rows := int64(2); rows < 300; rows = rows*3/2 + 1 {
		torch.Test(t, func() {
			row := torch.NewStream(uint64(rows), "row").Normal(100, 1, torch.Float32, torch.CPU, 1, 5)
			w := row.IndexSelect(0, torch.FromInt64s(make([]int64, rows), torch.CPU, rows))
			c := PrincipalComponents(w)
			if whole, parts := Measure(w).IsoScore, c.IsoScore(); !math.IsNaN(whole) || !math.IsNaN(parts) || c.Shares() != nil {
				t.Errorf("%d equal rows have the IsoScores %v and %v and the shares %v", rows, whole, parts, c.Shares())
			}
		})
	}
	// The least variance of float32s far from the origin is still one.
	torch.Test(t, func() {
		w := torch.FromFloat32s([]float32{1, 1, 1 + 1.0/(1<<23), 1, 1, 1 + 1.0/(1<<23), 1, 1}, torch.CPU, 4, 2)
		if c := PrincipalComponents(w); !(c.IsoScore() > 0.3) {
			t.Errorf("rows of smallest variance have the IsoScore %v", c.IsoScore())
		}
	})
}

// TestAllAsNeighbours has so few rows that each is among the neighbours of all others.
func TestAllAsNeighbours(t *testing.T) {
	for rows := int64(2); rows <= NearestRows+1; rows++ {
		torch.Test(t, func() {
			w := torch.NewStream(1, "rows").Normal(0, 1, torch.Float32, torch.CPU, rows, 4)
			if h := MeasureHubness(w, NearestRows, 100); !math.IsNaN(h.Skewness) || h.Largest != int(rows-1) {
				t.Errorf("of %d rows: %+v", rows, h)
			}
		})
	}
}

// TestScaleOfRows has rows whose squares float32 does not hold: what does not depend on their scale stays as it is.
func TestScaleOfRows(t *testing.T) {
	torch.Test(t, func() {
		w := torch.NewStream(1, "rows").Normal(0.2, 1, torch.Float32, torch.CPU, 60, 4)
		measure := func(scale float64) string {
			x := w.MulScalar(scale)
			distances, p := NearestDistances(x, 10), MeasurePoints(x)
			return fmt.Sprintf("%v\n%+v\n%.5g\n%.5g %.5g %.5g", CosineHistogram(x), MeasureHubness(x, 5, 50), distances[3]/scale,
				p.PositiveCosines, p.MedianNearest, p.MedianRadius)
		}
		want := measure(1)
		for _, scale := range []float64{1e30, 1e-30} {
			if got := measure(scale); got != want {
				t.Errorf("scaled by %g rows give\n%s\nwant\n%s", scale, got, want)
			}
		}
	})
}
