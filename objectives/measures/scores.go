package measures

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: N states, V words.

// Scores are measures of the log-probabilities of all words at some hidden states.
type Scores struct {
	// LogitRange is the mean over states of the largest log-probability less the smallest, which is that of a softmax's
	// scores: what methods against runaway scores keep small (Stollenwerk et al. 2026).
	LogitRange float64
	// Rank is the numerical rank of the matrix of log-probabilities, of all states and at most 10,000 words at equal
	// distances. That of a softmax over scores of D dimensions is at most D + 1, D + 2 with a bias, whatever the text
	// (the softmax bottleneck, Yang et al. 2018). RankLimit is what the matrix could have.
	Rank, RankLimit int
}

const rankWords = 10000

// RankStates is how many states show whether a matrix of D columns limits the rank of log-probabilities.
func RankStates(d int) int { return d + d/4 + 16 }

// MeasureScores measures log-probabilities [N,V] in float32 or float64.
func MeasureScores(logP_NV torch.Tensor) (s Scores) {
	n := logP_NV.Size(0)
	s.LogitRange = math.NaN()
	if n == 0 {
		return s
	}
	torch.ScopedNoGrad(func() {
		largest_N, smallest_N := logP_NV.MaxDim(1, false), logP_NV.Neg().MaxDim(1, false)
		s.LogitRange = largest_N.Add(smallest_N).To(torch.Float64, torch.CPU).Mean().Item()
		some := atEqualDistances(logP_NV.Transpose(0, 1), rankWords)
		s.RankLimit = int(min(n, some.Size(0)))
		s.Rank = numericalRank(some)
	})
	return s
}

// atEqualDistances are at most limit rows of a matrix.
func atEqualDistances(x torch.Tensor, limit int64) torch.Tensor {
	n := x.Size(0)
	if n <= limit {
		return x
	}
	rows := make([]int64, limit)
	for i := range rows {
		rows[i] = int64(i) * n / limit
	}
	return x.IndexSelect(0, torch.FromInt64s(rows, x.Device(), limit))
}

// numericalRank is how many singular values of a matrix [V,N] are above those that rounding its numbers makes: a matrix
// of independent errors of size e has none above e (sqrt N + sqrt V) but by chance. The numbers are products of many
// others, whose roundings add up; roundings is the factor for them.
func numericalRank(x_VN torch.Tensor) (rank int) {
	epsilon := math.Pow(2, -23)
	if x_VN.DType() == torch.Float64 {
		epsilon = math.Pow(2, -52)
	}
	v, n := float64(x_VN.Size(0)), float64(x_VN.Size(1))
	largest := x_VN.Abs().MaxDim(1, false).MaxDim(0, false).To(torch.Float64, torch.CPU).Item()
	limit := roundings * epsilon * largest * (math.Sqrt(n) + math.Sqrt(v))
	for _, value := range singularValues(x_VN).Float64s() {
		if value > limit {
			rank++
		}
	}
	return rank
}

const roundings = 4.0
