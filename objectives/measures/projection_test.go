package measures

import (
	"testing"

	"github.com/aperture-ml/aperture/torch"
)

// TestProjection: rows made of two orthonormal directions come back as their coordinates, and the rest of a matrix is
// left out.
func TestProjection(t *testing.T) {
	torch.Test(t, func() {
		s := torch.NewStream(1, "matrix")
		basis := orthonormal(s.Normal(0, 1, torch.Float64, torch.CPU, 5, 3)).Transpose(0, 1)
		// Columns at right angles, with squares 36, 16 and 4.
		coordinates := torch.FromFloat64s([]float64{3, 2, 1, 3, -2, -1, 3, 2, -1, 3, -2, 1}, torch.CPU, 4, 3)
		p := project(coordinates.MatMul(basis))
		near(t, "x", p.X, []float64{3, 3, 3, 3}, 1e-12)
		if p.Y[0] < 0 { // its sum is zero: either sign will do
			for i := range p.Y {
				p.Y[i] = -p.Y[i]
			}
		}
		near(t, "y", p.Y, []float64{2, -2, 2, -2}, 1e-12)
		near(t, "shares", p.Shares[:], []float64{36.0 / 56, 16.0 / 56}, 1e-12)
		turned := project(coordinates.MatMul(basis).Neg())
		near(t, "x of -W", turned.X, p.X, 1e-12)
		line := project(torch.FromFloat64s([]float64{1, 2, 4}, torch.CPU, 3, 1))
		near(t, "one column", append(line.X, line.Y...), []float64{1, 2, 4, 0, 0, 0}, 1e-12)
		zero := project(torch.Zeros(torch.Float32, torch.CPU, 2, 3))
		near(t, "zeros", append(zero.X, zero.Shares[:]...), []float64{0, 0, 0, 0}, 0)
	})
}

func project(w torch.Tensor) Projection { return Measure(w).Project(w) }
