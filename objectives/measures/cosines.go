package measures

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// The histogram of cosines: bins of equal width over [-1, 1], made from all
// pairs of at most cosineRows rows, spread evenly over the vocabulary.
const (
	cosineBins = 100
	cosineRows = 2000
)

// CosineHistogram counts the cosines between pairs of rows of w [V,D] in 100 bins of equal width over [-1, 1]. Of a
// large vocabulary, 2,000 rows at equal distances stand for all; rows of zeros are left out.
func CosineHistogram(w torch.Tensor) []float64 {
	counts := make([]float64, cosineBins)
	torch.ScopedNoGrad(func() {
		unit := unitRows(w, someRows(w, cosineRows))
		cosines, n := unit.MatMul(unit.Transpose(0, 1)).Float32s(), int(unit.Size(0))
		for i := range n {
			for j := range i {
				bin := int(math.Floor((float64(cosines[i*n+j]) + 1) / 2 * cosineBins))
				counts[min(max(bin, 0), cosineBins-1)]++
			}
		}
	})
	return counts
}

// RowCosines are the mean cosines of each row of w [V,D] with all other rows, in float64: how far into the cone that
// the rows share a row lies. A row of zeros has the cosine 0, with itself left out as with others. With fewer than two
// rows they are NaN.
func RowCosines(w torch.Tensor) (cosines []float64) {
	torch.ScopedNoGrad(func() {
		_, unit, _ := sums(w)
		others := float64(w.Size(0) - 1)
		direction := unit.Reshape(-1, 1)
		eachChunk(w, func(x torch.Tensor) {
			rows := x.Div(x.Norm(1, true).ClampMin(math.SmallestNonzeroFloat32))
			with, self := rows.MatMul(direction).Float64s(), rows.Square().SumDim(1, false).Float64s()
			for i := range with {
				cosine := math.NaN()
				if others > 0 {
					cosine = (with[i] - self[i]) / others
				}
				cosines = append(cosines, cosine)
			}
		})
	})
	return cosines
}
