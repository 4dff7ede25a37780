package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// naive finds distances and cosines row by row.
func naive(rows [][]float64) (distances, cosines []float64) {
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	for i, a := range rows {
		nearest, cosine := math.Inf(1), 0.0
		for j, b := range rows {
			if i == j {
				continue
			}
			if lengths := math.Sqrt(dot(a, a) * dot(b, b)); lengths > 0 {
				cosine += dot(a, b) / lengths / float64(len(rows)-1)
			}
			if dot(b, b) > 0 {
				nearest = min(nearest, math.Sqrt(dot(a, a)+dot(b, b)-2*dot(a, b)))
			}
		}
		if cosines = append(cosines, cosine); dot(a, a) > 0 {
			distances = append(distances, nearest)
		}
	}
	return distances, cosines
}

// TestRowsAgainstEachOther: nearest distances and mean cosines are those of a search row by row, also with equal rows
// and a row of zeros, and of more rows than are compared at a time.
func TestRowsAgainstEachOther(t *testing.T) {
	torch.Test(t, func() {
		drawn := torch.NewStream(1, "rows").Normal(0.3, 1, torch.Float64, torch.CPU, 301, 7).Float64s()
		var rows [][]float64
		for i := range 301 {
			rows = append(rows, drawn[7*i:7*i+7])
		}
		copy(rows[5], rows[200])
		clear(rows[100])
		w := torch.FromFloat64s(drawn, torch.CPU, 301, 7)
		distances, cosines := naive(rows)
		for name, x := range map[string][2][]float64{"distance": {NearestDistances(w, 1000), distances},
			"cosine": {RowCosines(w), cosines}} {
			if len(x[0]) != len(x[1]) {
				t.Fatalf("%d %ss, want %d", len(x[0]), name, len(x[1]))
			}
			for i := range x[0] {
				if math.Abs(x[0][i]-x[1][i]) > 1e-6 {
					t.Errorf("%s %d is %v, want %v", name, i, x[0][i], x[1][i])
				}
			}
		}
		if some := NearestDistances(w, 3); len(some) != 3 || math.Abs(some[0]-distances[0]) > 1e-6 ||
			math.Abs(some[1]-distances[100]) > 1e-6 {
			t.Errorf("of three rows: %v", some)
		}
		if one := w.Narrow(0, 0, 1); len(NearestDistances(one, 5)) != 0 || !math.IsNaN(RowCosines(one)[0]) {
			t.Error("one row has a neighbour")
		}
	})
}
