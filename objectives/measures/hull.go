package measures

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Hull is where the convex hull of points comes nearest to the origin.
//
// Gao et al. (2019) show that the vector of a word that training never sees as a target, all else being fixed, runs
// away from all hidden states without end if there is a direction in which all of them have a negative component
// (theorem 1, a sufficient condition), and that there is one if, and only if, the origin is not in their convex hull
// (theorem 2). -Nearest is then the direction that is most negative for the state where it is least so.
type Hull struct {
	Distance float64 // of the origin from the hull, from above: that of Nearest, which is in the hull
	// the same from below: a plane at that distance parts the origin from all points; 0 where none was found
	AtLeast float64
	Nearest []float64 // the point of the hull that is nearest to the origin
	Points  int       // that Nearest is a mixture of
}

// NearestInHull finds the point nearest to the origin of the convex hull of points [n*width], row by row. It is the
// algorithm of Wolfe (1976), which keeps a few independent points, goes to the nearest point of their plane, drops
// those on whose far side that lies, and takes in the point that is farthest back. Its two bounds hold whatever
// rounding did.
//
// A linear program decides the same question, but gonum's factorises its whole basis at each step: 512 points of 128
// numbers took it 6 s, where this takes 0.6 s for 1,024 points of 256. It is the reference of the tests.
func NearestInHull(points []float64, width int) Hull {
	n := len(points) / max(width, 1)
	if n == 0 {
		return Hull{Distance: math.NaN()}
	}
	m := &mixture{points: points, width: width}
	scale, first := 0.0, 0
	for i := range n {
		p := m.point(i)
		squares := floats.Dot(p, p)
		scale = max(scale, squares)
		if q := m.point(first); squares < floats.Dot(q, q) {
			first = i
		}
	}
	if scale == 0 {
		return Hull{Nearest: make([]float64, width), Points: 1}
	}
	m.constant = scale
	m.add(first)
	m.weights[0] = 1
	m.move()
	back, last := m.farthestBack()
	for range 20*(n+width) + 100 {
		if floats.Dot(m.x, m.x)-back <= 1e-12*scale || !m.add(last) {
			break
		}
		m.settle()
		m.move()
		back, last = m.farthestBack()
	}
	distance := floats.Norm(m.x, 2)
	h := Hull{Distance: distance, Nearest: m.x, Points: len(m.rows)}
	if distance > 0 {
		h.AtLeast = max(0, back/distance)
	}
	return h
}

// Contains reports whether the origin lies in the hull, as far as numbers of that scale can tell.
func (h Hull) Contains(scale float64) bool { return h.Distance <= 1e-6*scale }

// mixture is a point of the hull as a mixture of few points. The triangle is the upper one R, by columns, of R^T R =
// Q^T Q, where the columns of Q are those points with one more component, the root of constant, which is the same in
// all of them.
type mixture struct {
	points   []float64
	width    int
	constant float64

	rows     []int
	weights  []float64 // positive, and 1 in sum
	triangle [][]float64
	x        []float64
}

func (m *mixture) point(i int) []float64 { return m.points[i*m.width : (i+1)*m.width] }

// farthestBack is the least product of a point with x, and whose it is.
func (m *mixture) farthestBack() (back float64, at int) {
	back = math.Inf(1)
	for i := range len(m.points) / m.width {
		if product := floats.Dot(m.x, m.point(i)); product < back {
			back, at = product, i
		}
	}
	return back, at
}

// add takes in a point with the weight 0. It is false for one that is there, or that lies in the plane of those that
// are.
func (m *mixture) add(i int) bool {
	p := m.point(i)
	column := make([]float64, len(m.rows), len(m.rows)+1)
	for k, row := range m.rows {
		if row == i {
			return false
		}
		column[k] = (floats.Dot(m.point(row), p) +
			m.constant - floats.Dot(column[:k], m.triangle[k][:k])) / m.triangle[k][k]
	}
	squares := floats.Dot(p, p) + m.constant
	left := squares - floats.Dot(column, column)
	if left <= 1e-13*squares {
		return false
	}
	m.rows, m.weights, m.triangle = append(m.rows, i), append(m.weights, 0),
		append(m.triangle, append(column, math.Sqrt(left)))
	return true
}

// settle moves the weights to the nearest point of the plane of the points, or, where that is outside of their hull, as
// far as they go, drops the points that it has left, and tries again.
func (m *mixture) settle() {
	const none = 1e-12
	for {
		target := m.planar()
		step, leaving := 1.0, -1
		for k, t := range target {
			if t <= none {
				if share := m.weights[k] / max(m.weights[k]-t, math.SmallestNonzeroFloat64); leaving < 0 ||
					share < step {
					step, leaving = share, k
				}
			}
		}
		for k, t := range target {
			m.weights[k] += min(step, 1) * (t - m.weights[k])
		}
		if leaving < 0 || len(m.rows) == 1 {
			return
		}
		m.weights[leaving] = 0
		for k := len(m.rows) - 1; k >= 0; k-- {
			if m.weights[k] <= none && len(m.rows) > 1 {
				m.remove(k)
			}
		}
	}
}

// planar are the weights of the point of the plane that is nearest to the origin: R^T R u = 1, over their sum.
func (m *mixture) planar() []float64 {
	u := make([]float64, len(m.rows))
	for k := range u {
		u[k] = (1 - floats.Dot(u[:k], m.triangle[k][:k])) / m.triangle[k][k]
	}
	for k := len(u) - 1; k >= 0; k-- {
		u[k] /= m.triangle[k][k]
		floats.AddScaled(u[:k], -u[k], m.triangle[k][:k])
	}
	floats.Scale(1/floats.Sum(u), u)
	return u
}

// remove drops the k-th point; rotations make the triangle one again.
func (m *mixture) remove(k int) {
	m.rows = append(m.rows[:k], m.rows[k+1:]...)
	m.weights = append(m.weights[:k], m.weights[k+1:]...)
	m.triangle = append(m.triangle[:k], m.triangle[k+1:]...)
	for i := k; i < len(m.triangle); i++ {
		length := math.Hypot(m.triangle[i][i], m.triangle[i][i+1])
		cos, sin := m.triangle[i][i]/length, m.triangle[i][i+1]/length
		for _, column := range m.triangle[i:] {
			a, b := column[i], column[i+1]
			column[i], column[i+1] = cos*a+sin*b, cos*b-sin*a
		}
		m.triangle[i] = m.triangle[i][:i+1]
	}
}

// move computes x from the weights.
func (m *mixture) move() {
	m.x = make([]float64, m.width)
	floats.Scale(1/floats.Sum(m.weights), m.weights)
	for k, row := range m.rows {
		floats.AddScaled(m.x, m.weights[k], m.point(row))
	}
}
