package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
)

// picture is what charts show of an output matrix.
type picture struct {
	Plain, Centred report.Plane

	// Of words by falling frequency, in groups of like rank: the mean rank, and means over the group.
	Ranks, Norms, Cosines []float64
}

// Limits that keep a page small and a large vocabulary quick.
const (
	dotsPerClass  = 250
	groupsPerStep = 8 // groups of ranks in a factor of ten
)

// pictureOf measures a matrix w [V,D] whose rows occur counts times in training; rows that never do are left out of what is drawn
// by frequency.
func pictureOf(w torch.Tensor, counts []float64) *picture {
	scope := torch.OpenScope()
	defer scope.Close()
	p := &picture{}
	order := byFrequency(counts)
	torch.NoGrad(func() {
		w = w.To(torch.Float64, torch.CPU)
		p.Plain = project(w, order)
		rows := max(1, float64(w.Size(0)))
		p.Centred = project(w.Sub(w.SumDim(0, true).MulScalar(1/rows)), order)
		p.group(order, measures.RowNorms(w), measures.RowCosines(w))
	})
	return p
}

// byFrequency are the rows that occur, the most frequent first.
func byFrequency(counts []float64) (order []int) {
	for i, n := range counts {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	return order
}

func project(w torch.Tensor, order []int) report.Plane {
	found := measures.Measure(w).Project(w)
	p := report.NewPlane(found.X, found.Y, found.Shares, order, dotsPerClass)
	p.X, p.Y = shortAll(p.X), shortAll(p.Y)
	return p
}

// group takes means over words of like frequency rank.
func (p *picture) group(order []int, norms, cosines []float64) {
	for start := 0; start < len(order); {
		end := max(start+1, int(math.Ceil(float64(start+1)*math.Pow(10, 1.0/groupsPerStep)))-1)
		end = min(max(end, start+min(5, start+1)), len(order)) // a handful at least, once there are as many
		rank, norm, cosine := 0.0, 0.0, 0.0
		for k, row := range order[start:end] {
			share := 1 / float64(end-start)
			rank += share * float64(start+k+1)
			norm += share * norms[row]
			cosine += share * cosines[row]
		}
		p.Ranks, p.Norms, p.Cosines = append(p.Ranks, short(rank)), append(p.Norms, short(norm)), append(p.Cosines, short(cosine))
		start = end
	}
}

// short keeps five digits, which a picture cannot show more of.
func short(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}
