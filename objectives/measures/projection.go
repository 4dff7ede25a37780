package measures

import "github.com/aperture-ml/aperture/torch"

// Projection is where the rows of a matrix lie in the plane of its two leading right singular vectors.
type Projection struct {
	X, Y   []float64  // by row
	Shares [2]float64 // of the sum of squares, that lie along each axis
}

// Project projects w [V,D], whose measures m are, without centring it, so that the origin is the zero vector and rows
// in a cone lie to one side of it (Gao et al. 2019 draw word vectors so; Wang et al. 2020 draw principal components).
// The first axis points to where most rows are. A matrix of one column has Y = 0.
func (m Measures) Project(w torch.Tensor) (p Projection) {
	torch.ScopedNoGrad(func() {
		for axis, to := range []*[]float64{&p.X, &p.Y} {
			if axis >= len(m.leading) {
				*to = make([]float64, w.Size(0))
				continue
			}
			direction := torch.FromFloat64s(m.leading[axis], torch.CPU, w.Size(1), 1)
			eachChunk(w, func(x torch.Tensor) { *to = append(*to, x.MatMul(direction).Float64s()...) })
			if m.Frobenius > 0 && axis < len(m.SingularValues) {
				share := m.SingularValues[axis] / m.Frobenius
				p.Shares[axis] = share * share
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
