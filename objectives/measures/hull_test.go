package measures

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"github.com/aperture-ml/aperture/torch"
)

// parted solves by linear programming whether the origin lies in the hull of points: the least sum of the components'
// sizes that a mixture of them can have, min |P^T l|_1 with l >= 0 and sum l = 1. Writing P^T l = q - p with p, q >= 0
// makes it one of standard form, which begins at the first point.
func parted(t *testing.T, points []float64, d int) float64 {
	t.Helper()
	n := len(points) / d
	a, costs, b, basis := mat.NewDense(d+1, n+2*d, nil), make([]float64, n+2*d), make([]float64, d+1), []int{0}
	for i := range n {
		a.Set(d, i, 1)
		for j := range d {
			a.Set(j, i, points[i*d+j])
		}
	}
	b[d] = 1
	for j := range d {
		a.Set(j, n+j, 1)
		a.Set(j, n+d+j, -1)
		costs[n+j], costs[n+d+j] = 1, 1
		if points[j] > 0 {
			basis = append(basis, n+d+j)
		} else {
			basis = append(basis, n+j)
		}
	}
	least, _, err := lp.Simplex(costs, a, b, 1e-10, basis)
	if err != nil {
		t.Fatal(err)
	}
	return least
}

func normal(seed uint64, n, d int, mean float64) []float64 {
	random := rand.New(rand.NewPCG(seed, 7))
	points := make([]float64, n*d)
	for i := range points {
		points[i] = random.NormFloat64()
		if i%d == 0 {
			points[i] += mean
		}
	}
	return points
}

// TestHullAgainstLinearProgram: both say the same of where the origin is, inside and outside, for few points and many.
func TestHullAgainstLinearProgram(t *testing.T) {
	inside, outside := 0, 0
	for seed := range uint64(40) {
		for _, size := range [][2]int{{3, 2}, {7, 3}, {20, 5}, {31, 16}, {5, 9}, {60, 17}} {
			n, d := size[0], size[1]
			points := normal(seed, n, d, float64(seed%4)/2)
			h, least := NearestInHull(points, d), parted(t, points, d)
			if h.Contains(1) {
				inside++
			} else {
				outside++
			}
			// The size of a vector lies between its length and sqrt(d) times that.
			if h.Contains(1) != (least < 1e-7) || least < h.AtLeast-1e-9 ||
				least > math.Sqrt(float64(d))*h.Distance+1e-7 {
				t.Errorf("%d points of %d numbers: distance %v to %v, and the program finds %v", n, d, h.AtLeast,
					h.Distance, least)
			}
			if h.Distance-h.AtLeast > 1e-6 {
				t.Errorf("%d points of %d numbers: the distance is from %v to %v", n, d, h.AtLeast, h.Distance)
			}
		}
	}
	if inside < 40 || outside < 40 {
		t.Errorf("%d inside and %d outside: the test is one-sided", inside, outside)
	}
}

// TestHullOfKnownShapes: the middle of a simplex is the nearest, also far from the origin and with points that add
// nothing; the corners of a cross contain the origin, those of half of it have it on their edge.
func TestHullOfKnownShapes(t *testing.T) {
	for _, d := range []int{1, 2, 9, 64} {
		simplex, cross := make([]float64, d*d), make([]float64, 2*d*d)
		for i := range d {
			simplex[i*d+i], cross[2*i*d+i], cross[(2*i+1)*d+i] = 3, 1, -2
		}
		near(t, "simplex", []float64{NearestInHull(simplex, d).Distance}, []float64{3 / math.Sqrt(float64(d))}, 1e-9)
		twice := append(append([]float64{}, simplex...), simplex...)
		for i := range twice[:d] { // a point beyond the simplex
			twice[i] += 5
		}
		near(t, "twice", []float64{NearestInHull(twice, d).Distance}, []float64{3 / math.Sqrt(float64(d))}, 1e-9)
		if h := NearestInHull(cross, d); !h.Contains(1) || h.AtLeast > 1e-9 {
			t.Errorf("a cross of %d dimensions is %v from its middle", d, h.Distance)
		}
	}
	if h := NearestInHull([]float64{0, 0, 1, 1}, 2); h.Distance != 0 || h.Points != 1 {
		t.Errorf("the origin itself: %+v", h)
	}
	if h := NearestInHull(make([]float64, 6), 3); h.Distance != 0 || !h.Contains(1) {
		t.Errorf("zeros: %+v", h)
	}
	if h := NearestInHull([]float64{1, 1, -1, 1, 0, 5}, 2); math.Abs(h.Distance-1) > 1e-12 ||
		math.Abs(h.AtLeast-1) > 1e-12 || h.Points != 2 {
		t.Errorf("an edge: %+v", h)
	}
}

// TestHullOfManyStates: of a cloud around the origin, 4 D points contain it and D/2 do not (Wendel 1962), and a cone
// never does.
func TestHullOfManyStates(t *testing.T) {
	const d = 100
	for n, want := range map[int]bool{d / 2: false, 4 * d: true} {
		if h := NearestInHull(normal(1, n, d, 0), d); h.Contains(1) != want || h.Distance-h.AtLeast > 1e-6 {
			t.Errorf("%d points: %v to %v", n, h.AtLeast, h.Distance)
		}
	}
	cone := normal(2, 6*d, d, 5)
	h := NearestInHull(cone, d)
	if h.AtLeast < 0.5 || h.Distance-h.AtLeast > 1e-8 {
		t.Errorf("a cone: %v to %v", h.AtLeast, h.Distance)
	}
	for i := range 6 * d {
		if product := floats.Dot(h.Nearest, cone[i*d:(i+1)*d]); product < h.AtLeast*h.Distance*(1-1e-9) {
			t.Fatalf("point %d lies behind the plane", i)
		}
	}
}

// TestMargins: a radius is that of the hull of all others, less than the nearest distance, and 0 for a word among
// others.
func TestMargins(t *testing.T) {
	torch.Test(t, func() {
		const n, d = 301, 5
		points := normal(3, n, d, 0.5)
		copy(points[7*d:8*d], points[200*d:201*d]) // twins are not recognisable
		clear(points[11*d : 12*d])
		recognisable := 0
		for _, m := range Margins(torch.FromFloat64s(points, torch.CPU, n, d), 1000, 1000) {
			var others []float64
			for j := range int64(n) {
				if j != m.Row && j != 11 {
					for k := range int64(d) {
						others = append(others, points[m.Row*d+k]-points[j*d+k])
					}
				}
			}
			want := NearestInHull(others, d)
			if want.Contains(1) {
				want.Distance = 0
			} else {
				recognisable++
			}
			if math.Abs(m.Radius-want.Distance) > 1e-7 || m.Radius > m.Nearest || m.Row == 11 {
				t.Errorf("word %d has the radius %v, want %v, and the nearest row at %v", m.Row, m.Radius,
					want.Distance, m.Nearest)
			}
			if (m.Row == 7 || m.Row == 200) && (m.Radius != 0 || m.Nearest != 0) {
				t.Errorf("a twin: %+v", m)
			}
		}
		if recognisable < 10 || recognisable > n-10 {
			t.Errorf("%d of %d words are recognisable: the test is one-sided", recognisable, n)
		}
		if few := Margins(torch.FromFloat64s(points, torch.CPU, n, d), 3, 50); len(few) != 3 ||
			few[1].Row == few[0].Row {
			t.Errorf("of three words: %+v", few)
		}
		if one := Margins(torch.Full(1, torch.Float32, torch.CPU, 1, 3), 5, 5); len(one) != 0 {
			t.Errorf("one row: %+v", one)
		}
	})
}

// TestPoints: what a narrow cone, a cloud and a matrix of zeros have.
func TestPoints(t *testing.T) {
	torch.Test(t, func() {
		cloud := torch.NewStream(1, "rows").Normal(0, 1, torch.Float32, torch.CPU, 400, 12)
		a, b := MeasurePoints(cloud), MeasurePoints(cloud.AddScalar(3))
		if a.PositiveCosines > 0.55 || b.PositiveCosines != 1 || math.Abs(a.IsoScore-b.IsoScore) > 1e-5 ||
			!(b.MedianNearest < a.MedianNearest) || !(a.Components.Mean < 0.2) || !(b.Components.Mean > 0.9) {
			t.Errorf("a cloud has %+v, a cone %+v", a, b)
		}
		near(t, "area", []float64{sum(a.Nearest.Values) * a.Nearest.Step}, []float64{1}, 1e-12)
		if a.Recognisable < 0.9 || !(a.MedianRadius > 0) || a.MedianRadius > a.MedianNearest {
			t.Errorf("of a cloud %v are recognisable, with the radius %v", a.Recognisable, a.MedianRadius)
		}
		zero := MeasurePoints(torch.Zeros(torch.Float32, torch.CPU, 4, 3))
		if !math.IsNaN(zero.PositiveCosines+zero.IsoScore) || !math.IsNaN(zero.MedianNearest+zero.MedianRadius) ||
			zero.Nearest.Values != nil || !math.IsNaN(zero.Recognisable) {
			t.Errorf("zeros have %+v", zero)
		}
	})
}
