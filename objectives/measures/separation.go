package measures

import (
	"cmp"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// RareSeparation says how far rare words lie from frequent ones: the distance between the mean rows of the rarest and
// of the most frequent fifth of the words, over the root mean square of the distances of words to the mean of their
// fifth. It is near 0 where frequency does not show in the vectors, 1 where the two groups are as far apart as they are
// wide; several papers report that vectors of rare words gather in a region of their own (Gong et al. 2018, Gao et al.
// 2019). counts [V] are how often words occur, NaN or 0 for rows of no word. It is NaN with fewer than ten words.
func RareSeparation(w torch.Tensor, counts []float64) (separation float64) {
	rare, frequent := fifths(counts)
	if len(rare) < 2 {
		return math.NaN()
	}
	torch.ScopedNoGrad(func() {
		group := func(rows []int64) (mean_D torch.Tensor, spread float64) {
			x_ND := rowsOf(w, rows)
			mean_D = x_ND.MeanDim(0, false)
			return mean_D, x_ND.Sub(mean_D).Square().SumDim(1, false).Mean().Item()
		}
		a_D, a := group(rare)
		b_D, b := group(frequent)
		separation = a_D.Sub(b_D).Norm(0, false).Item() / math.Sqrt((a+b)/2)
	})
	return separation
}

// fifths are the rows of the rarest and of the most frequent fifth of the words.
func fifths(counts []float64) (rare, frequent []int64) {
	var rows []int64
	for i, n := range counts {
		if n > 0 {
			rows = append(rows, int64(i))
		}
	}
	slices.SortStableFunc(rows, func(a, b int64) int { return cmp.Compare(counts[a], counts[b]) })
	n := len(rows) / 5
	return rows[:n], rows[len(rows)-n:]
}
