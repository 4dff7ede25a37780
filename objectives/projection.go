package objectives

import "github.com/aperture-ml/aperture/torch"

// Projection is where the rows of a matrix lie in the plane of its two leading
// right singular vectors.
type Projection struct {
	X, Y   []float64  // by row
	Shares [2]float64 // of the sum of squares, that lie along each axis
}

// Project projects w [V,D] without centring it, so that the origin is the zero
// vector and rows in a cone lie to one side of it (Gao et al. 2019 draw word
// vectors so). The first axis points to where most rows are. A matrix of one
// column has Y = 0.
func Project(w torch.Tensor) (p Projection) {
	scope := torch.OpenScope()
	defer scope.Close()
	torch.NoGrad(func() {
		gram, _, _ := sums(w)
		values, vectors := gram.Eigh() // rising
		d := vectors.Size(1)
		energy := values.Sum().Item()
		for axis, to := range []*[]float64{&p.X, &p.Y} {
			column := d - 1 - int64(axis)
			if column < 0 {
				*to = make([]float64, w.Size(0))
				return
			}
			direction := vectors.Narrow(1, column, 1)
			eachChunk(w, func(x torch.Tensor) { *to = append(*to, x.MatMul(direction).Float64s()...) })
			if energy > 0 {
				p.Shares[axis] = values.Narrow(0, column, 1).Item() / energy
			}
			if sum(*to) < 0 {
				for i := range *to {
					(*to)[i] = -(*to)[i]
				}
			}
		}
	})
	return p
}

func sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}
