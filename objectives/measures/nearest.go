package measures

import (
	"github.com/aperture-ml/aperture/torch"
)

// NearestDistances are the Euclidean distances of rows of w [V,D] to their nearest other row (Wang, Gong and Liu 2019,
// figure 1a), for at most limit rows, spread evenly over the vocabulary, each compared with all of the others that are
// not zero. Rows of zeros have none. It keeps some hundred rows of products at a time, and a copy of the
// matrix; of one with more than 2^28 numbers it compares with rows at equal distances that come to that number, so that
// distances are upper bounds.
func NearestDistances(w torch.Tensor, limit int) (distances []float64) {
	torch.ScopedNoGrad(func() {
		const most = 1 << 28
		rows := someRows(w, int(most/max(1, w.Size(1))))
		if len(rows) < 2 {
			return
		}
		x_ND := rowsOf(w, rows)
		columns_DN, squares_N := x_ND.Transpose(0, 1), x_ND.Square().SumDim(1, false)
		const queries = 128
		asked := min(limit, len(rows))
		for start := 0; start < asked; start += queries {
			step := torch.OpenScope()
			places := make([]int64, min(queries, asked-start))
			for i := range places {
				places[i] = int64((start + i) * len(rows) / asked)
			}
			q_QD := x_ND.IndexSelect(0, torch.FromInt64s(places, torch.CPU, int64(len(places))))
			// |q - x|^2 = |q|^2 - (2 q . x - |x|^2): the nearest have the largest bracket. A row itself is among them.
			brackets_QN := q_QD.MatMul(columns_DN).MulScalar(2).Sub(squares_N)
			_, nearest := brackets_QN.TopK(2, 1)
			found := nearest.Int64s()
			for i, place := range places {
				other := found[2*i]
				if other == place {
					other = found[2*i+1]
				}
				found[i] = other // from here on one for each row
			}
			x_QD := x_ND.IndexSelect(0, torch.FromInt64s(found[:len(places)], torch.CPU, int64(len(places))))
			distances = append(distances, q_QD.Sub(x_QD).Norm(1, false).Float64s()...)
			step.Close()
		}
	})
	return distances
}
