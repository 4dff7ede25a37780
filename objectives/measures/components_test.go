package measures

import (
	"math"
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// published is IsoScore by the steps of the paper.
func published(variances []float64) float64 {
	n, squares := float64(len(variances)), 0.0
	for _, v := range variances {
		squares += v * v
	}
	defect := 0.0
	for _, v := range variances {
		x := math.Sqrt(n)*v/math.Sqrt(squares) - 1
		defect += x * x
	}
	defect = math.Sqrt(defect) / math.Sqrt(2*(n-math.Sqrt(n)))
	share := math.Pow(n-defect*defect*(n-math.Sqrt(n)), 2) / (n * n)
	return (n*share - 1) / (n - 1)
}

// corners are points with the covariance diag(squares of sizes), about a mean of its own, turned where asked for.
func corners(sizes []float64, mean float64, turn bool) torch.Tensor {
	d := len(sizes)
	rows := make([]float64, 2*d*d)
	for i, size := range sizes {
		rows[2*i*d+i], rows[(2*i+1)*d+i] = size*math.Sqrt(float64(d)), -size*math.Sqrt(float64(d))
	}
	w := torch.FromFloat64s(rows, torch.CPU, int64(2*d), int64(d))
	if turn {
		w = w.MatMul(orthonormal(torch.NewStream(3, "turn").Normal(0, 1, torch.Float64, torch.CPU, int64(d), int64(d))))
	}
	return w.AddScalar(mean)
}

// TestIsoScore has the closed forms: 1 for one variance in all directions, 0 for a line, (k-1)/(n-1) for k of n
// dimensions; and is that of the published steps, whatever the mean, the scale and the axes are.
func TestIsoScore(t *testing.T) {
	torch.Test(t, func() {
		for _, n := range []int{2, 5, 31} {
			for k := 1; k <= n; k++ {
				sizes := make([]float64, n)
				for i := range k {
					sizes[i] = 1
				}
				want := float64(k-1) / float64(n-1)
				for _, w := range []torch.Tensor{corners(sizes, 0, false), corners(sizes, 7, true),
					corners(sizes, 0.5, true).MulScalar(1e-3)} {
					c := PrincipalComponents(w)
					near(t, "IsoScore", []float64{c.IsoScore()}, []float64{want}, 1e-9)
					if c.Needed(1) != k {
						t.Errorf("%d of %d dimensions hold the variance, not %d", k, n, c.Needed(1))
					}
				}
			}
		}
		uneven := PrincipalComponents(corners([]float64{3, 1, 0.5, 2, 0.1, 0.7, 1}, 2, true))
		near(t, "uneven", []float64{uneven.IsoScore()}, []float64{published(uneven.Variances)}, 1e-9)
		near(t, "variances", uneven.Variances, []float64{9, 4, 1, 1, 0.49, 0.25, 0.01}, 1e-9)
		for _, none := range []torch.Tensor{torch.Full(2, torch.Float32, torch.CPU, 4, 3),
			torch.FromFloat64s([]float64{1, 2, 5}, torch.CPU, 3, 1)} {
			if x := PrincipalComponents(none).IsoScore(); !math.IsNaN(x) {
				t.Errorf("%v has the IsoScore %v", none.Shape(), x)
			}
		}
	})
}

// TestComponents: shares, mean and coordinates of points of which all is known.
func TestComponents(t *testing.T) {
	torch.Test(t, func() {
		// (0,0), (4,0), (0,2), (4,2), moved by (10, -3): variances 4 and 1, mean (12, -2).
		w := torch.FromFloat32s([]float32{10, -3, 14, -3, 10, -1, 14, -1}, torch.CPU, 4, 2)
		c := PrincipalComponents(w)
		near(t, "variances", c.Variances, []float64{4, 1}, 1e-12)
		near(t, "shares", c.Shares(), []float64{0.8, 0.2}, 1e-12)
		near(t, "mean", []float64{c.Mean}, []float64{math.Sqrt(148.0 / 153.0)}, 1e-12)
		if c.Needed(0.8) != 1 || c.Needed(0.81) != 2 {
			t.Errorf("%d and %d components are needed", c.Needed(0.8), c.Needed(0.81))
		}
		scores := c.Scores(w, 5)
		if len(scores) != 2 {
			t.Fatalf("%d components", len(scores))
		}
		for i, want := range [][]float64{{2, 2, 2, 2}, {1, 1, 1, 1}} {
			for k := range scores[i] {
				scores[i][k] = math.Abs(scores[i][k])
			}
			near(t, "scores", scores[i], want, 1e-12)
		}
	})
}

// TestComponentsOfACone: a mean a million times as long as what varies leaves the variances as they are.
func TestComponentsOfACone(t *testing.T) {
	torch.Test(t, func() {
		w := corners([]float64{1, 2, 3}, 0, true)
		a, b := PrincipalComponents(w), PrincipalComponents(w.AddScalar(1e6))
		near(t, "variances", b.Variances, a.Variances, 1e-8)
	})
}

func TestPositiveCosines(t *testing.T) {
	torch.Test(t, func() {
		for want, rows := range map[float64][]float64{
			1:       {1, 0, 1, 1, 2, 0.5},
			0:       {1, 0, -1, 0, 0, 1},         // a right angle is not above 0
			1.0 / 3: {1, 0, 1, 1, -1, 0.5, 0, 0}, // a row of zeros has none
		} {
			w := torch.FromFloat64s(rows, torch.CPU, int64(len(rows)/2), 2)
			near(t, "share", []float64{PositiveCosines(w, 100)}, []float64{want}, 1e-12)
		}
		even := torch.NewStream(1, "rows").Normal(0, 1, torch.Float32, torch.CPU, 700, 9)
		if x := PositiveCosines(even, 500); math.Abs(x-0.5) > 0.01 {
			t.Errorf("of rows that point everywhere %v of the pairs have a positive cosine", x)
		}
		if x := PositiveCosines(even.Narrow(0, 0, 1), 10); !math.IsNaN(x) {
			t.Errorf("of one row: %v", x)
		}
	})
}
