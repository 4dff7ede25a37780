package measures

import (
	"math"
	"slices"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// bruteOccurrences counts N_k by sorting every row's cosines in Go.
func bruteOccurrences(rows [][]float64, k int) []float64 {
	cosine := func(a, b []float64) float64 {
		product, x, y := 0.0, 0.0, 0.0
		for i := range a {
			product, x, y = product+a[i]*b[i], x+a[i]*a[i], y+b[i]*b[i]
		}
		return product / math.Sqrt(x*y)
	}
	counts := make([]float64, len(rows))
	for i := range rows {
		var others []int
		for j := range rows {
			if j != i {
				others = append(others, j)
			}
		}
		slices.SortFunc(others, func(a, b int) int {
			if cosine(rows[i], rows[a]) > cosine(rows[i], rows[b]) {
				return -1
			}
			return 1
		})
		for _, j := range others[:k] {
			counts[j]++
		}
	}
	return counts
}

func TestHubnessEqualsBruteForce(t *testing.T) {
	for _, size := range [][2]int64{{31, 4}, {300, 7}, {9, 2}} { // 300 rows take two chunks of queries
		torch.Test(t, func() {
			w := torch.NewStream(3, "matrix").Normal(0.3, 1, torch.Float64, torch.CPU, size[0], size[1])
			values := w.Float64s()
			var rows [][]float64
			for i := range int(size[0]) {
				rows = append(rows, values[i*int(size[1]):(i+1)*int(size[1])])
			}
			want := bruteOccurrences(rows, 5)
			unit := unitRows(w, someRows(w, 1000))
			near(t, "N_5", occurrences(unit, 5), want, 0)
			h := MeasureHubness(w, 5, 1000)
			near(t, "skewness", []float64{h.Skewness}, []float64{skewness(want)}, 1e-12)
			if float64(h.Largest) != slices.Max(want) || want[h.Hub] != slices.Max(want) || h.K != 5 ||
				h.Rows != int(size[0]) {
				t.Errorf("hubness is %+v, the largest count %v", h, slices.Max(want))
			}
		})
	}
}

// TestHubOfASphere: the middle of a cap is near to all its points, and only there.
func TestHubOfASphere(t *testing.T) {
	torch.Test(t, func() {
		const n, d = 400, 40
		s := torch.NewStream(5, "matrix")
		even := s.Normal(0, 1, torch.Float32, torch.CPU, n, d)
		middle := torch.Full(3, torch.Float32, torch.CPU, 1, d)
		narrow := torch.Cat([]torch.Tensor{even.Add(middle), middle}, 0)
		a, b := MeasureHubness(even, NearestRows, 10000), MeasureHubness(narrow, NearestRows, 10000)
		if b.Hub != n || b.Largest < n*9/10 {
			t.Errorf("the middle is near to %d of %d, the hub is row %d", b.Largest, n, b.Hub)
		}
		if !(b.Skewness > 5*a.Skewness) {
			t.Errorf("the skewness is %v with a hub and %v without", b.Skewness, a.Skewness)
		}
	})
}

// TestHubnessAtTheEdges: zero rows are nobody's neighbours, equal rows count each other, few rows have few neighbours.
func TestHubnessAtTheEdges(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(7, "matrix")
		w := s.Normal(0, 1, torch.Float32, torch.CPU, 20, 4)
		padded := torch.Cat([]torch.Tensor{torch.Zeros(torch.Float32, torch.CPU, 3, 4), w}, 0)
		a, b := MeasureHubness(w, 4, 100), MeasureHubness(padded, 4, 100)
		if a.Skewness != b.Skewness || b.Hub != a.Hub+3 || b.Rows != 20 {
			t.Errorf("with rows of zeros %+v, without %+v", b, a)
		}
		if h := MeasureHubness(torch.Full(1, torch.Float32, torch.CPU, 30, 4), 5, 100); h.Largest < 5 {
			t.Errorf("equal rows give %+v", h)
		}
		if h := MeasureHubness(w.Narrow(0, 0, 2), 10, 100); h.K != 1 || h.Largest != 1 || !math.IsNaN(h.Skewness) {
			t.Errorf("two rows give %+v", h)
		}
		for _, few := range []torch.Tensor{w.Narrow(0, 0, 1), torch.Zeros(torch.Float32, torch.CPU, 4, 3)} {
			if h := MeasureHubness(few, 10, 100); h.K != 0 || !math.IsNaN(h.Skewness) || h.Hub != -1 {
				t.Errorf("%v rows give %+v", few.Shape(), h)
			}
		}
		if h := MeasureHubness(w, 4, 9); h.Rows != 9 {
			t.Errorf("a sample of 9 has %+v", h)
		}
	})
}

// TestSkewness has its number from scipy.stats.skew.
func TestSkewness(t *testing.T) {
	near(t, "skewness", []float64{skewness([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5})}, []float64{0.5698319531322332},
		1e-12)
}
