package measures

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Letters of shapes: C rows of a chunk, D columns, K components.

// Components are the principal components of the rows of a matrix: the directions along which the rows, less their
// mean, vary most.
type Components struct {
	Variances []float64 // along each, falling; divisor V
	// length of the mean row over the root mean square of the rows' lengths: 1 where all rows are equal
	Mean float64

	MeanNorm float64 // length of the mean row

	mean_D  torch.Tensor
	axes_DD torch.Tensor // columns, in the order of Variances
}

// PrincipalComponents finds those of w [V,D] in float64, some thousand rows at a time. They live as long as the
// innermost scope.
func PrincipalComponents(w torch.Tensor) (c Components) {
	torch.NoGrad(func() {
		v, d := w.Size(0), w.Size(1)
		rows := max(1, float64(v))
		c.mean_D = torch.Zeros(torch.Float64, torch.CPU, d)
		covariance_DD := torch.Zeros(torch.Float64, torch.CPU, d, d)
		squares := 0.0
		eachChunk(w, func(x_CD torch.Tensor) {
			c.mean_D.Assign(c.mean_D.Add(x_CD.SumDim(0, false).MulScalar(1 / rows)))
			squares += x_CD.Square().Sum().Item() / rows
		})
		// A second pass: the mean of a narrow cone is far longer than what varies around it, and its square would drown
		// that.
		eachChunk(w, func(x_CD torch.Tensor) {
			centred := x_CD.Sub(c.mean_D)
			covariance_DD.Assign(covariance_DD.Add(centred.Transpose(0, 1).MatMul(centred).MulScalar(1 / rows)))
		})
		values, axes := covariance_DD.Eigh()
		rising := values.Float64s()
		var order []int64
		for i := range rising {
			order = append(order, d-1-int64(i))
			// rounding makes some that are 0 negative
			c.Variances = append(c.Variances, max(0, rising[len(rising)-1-i]))
		}
		if sum(c.Variances) < 1e-28*squares { // what rounding the mean leaves of rows that are all equal
			clear(c.Variances)
		}
		c.axes_DD = axes.IndexSelect(1, torch.FromInt64s(order, torch.CPU, d))
		c.MeanNorm = c.mean_D.Norm(0, false).Item()
		c.Mean = c.MeanNorm / math.Sqrt(squares)
	})
	return c
}

// Shares are the parts of the whole variance along each component; nil where nothing varies.
func (c Components) Shares() (shares []float64) {
	total := sum(c.Variances)
	if !(total > 0) {
		return nil
	}
	for _, v := range c.Variances {
		shares = append(shares, v/total)
	}
	return shares
}

// Needed is how many of the first components hold a share of the variance, 0 where nothing varies.
func (c Components) Needed(share float64) int {
	held := 0.0
	for i, s := range c.Shares() {
		if held += s; held >= share*(1-1e-12) {
			return i + 1
		}
	}
	return 0
}

// Scores are the coordinates of the rows of w, whose components these are, along the first k: by component, then by
// row. The direction of a component is arbitrary; here most of the squares lie on its positive side.
func (c Components) Scores(w torch.Tensor, k int) [][]float64 {
	all := make([][]float64, min(k, len(c.Variances)))
	torch.ScopedNoGrad(func() {
		axes_DK := c.axes_DD.Narrow(1, 0, int64(len(all)))
		eachChunk(w, func(x_CD torch.Tensor) {
			values := x_CD.Sub(c.mean_D).MatMul(axes_DK).Float64s()
			for i := range values {
				all[i%len(all)] = append(all[i%len(all)], values[i])
			}
		})
	})
	for _, scores := range all {
		skew := 0.0
		for _, x := range scores {
			skew += x * math.Abs(x)
		}
		if skew < 0 {
			for i := range scores {
				scores[i] = -scores[i]
			}
		}
	}
	return all
}

// IsoScore says how evenly rows use the dimensions of their space (Rudman, Gillman, Rayne and Eickhoff 2022): 1 where
// the variance is the same in all directions, 0 where all of it lies along one. In the paper's steps, with n the
// dimensions and l the variances along the principal components, which are the diagonal of the covariance of the
// rotated rows:
//
//	a = sqrt(n) l / |l|,   defect = |a - 1| / sqrt(2 (n - sqrt n))
//	k = (n - defect^2 (n - sqrt n))^2 / n,   IsoScore = (k - 1) / (n - 1)
//
// As |a|^2 = n, k is (sum l)^2 / sum l^2, the number of dimensions that are used; where k of n dimensions are used
// evenly the score is (k-1)/(n-1). Programs that are in circulation take rows for the eigenvectors that stand in
// columns: their "rotated" rows have a covariance that is no diagonal one, and too high a score. IsoScore is NaN where
// nothing varies, or n is 1.
func (c Components) IsoScore() float64 {
	n, squares := float64(len(c.Variances)), 0.0
	for _, v := range c.Variances {
		squares += v * v
	}
	return isoScore(sum(c.Variances), squares, n)
}

// isoScore is that of n variances with a sum and a sum of squares, or of a covariance matrix with that trace and sum of
// squares.
func isoScore(total, squares, n float64) float64 {
	if n < 2 || !(squares > 0) {
		return math.NaN()
	}
	used := total / squares * total
	return (used - 1) / (n - 1)
}

// PositiveCosines is the share of pairs of rows of w [V,D] whose cosine is above 0: a half where rows point everywhere,
// 1 where all share a narrow cone. Gao et al. (2019, section 3.2) find almost all cosines of a trained Transformer
// positive. At most limit rows at equal distances stand for all; rows of zeros are left out. It is NaN with fewer than
// two rows.
func PositiveCosines(w torch.Tensor, limit int) float64 {
	positive, n := 0.0, 0.0
	torch.ScopedNoGrad(func() {
		unit_ND := unitRows(w, someRows(w, limit))
		n = float64(unit_ND.Size(0))
		columns_DN := unit_ND.Transpose(0, 1)
		zero := torch.Zeros(torch.Float32, torch.CPU, 1, 1)
		const queries = 256
		for start := int64(0); start < unit_ND.Size(0); start += queries {
			step := torch.OpenScope()
			cosines_QN := unit_ND.Narrow(0, start, min(queries, unit_ND.Size(0)-start)).MatMul(columns_DN)
			positive += zero.Less(cosines_QN).To(torch.Float64, torch.CPU).Sum().Item()
			step.Close()
		}
	})
	if n < 2 {
		return math.NaN()
	}
	return (positive - n) / (n * (n - 1)) // each row has a positive cosine with itself
}
