package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/objectives/measures"
	"github.com/aperture-ml/aperture/torch"
)

// picture is what charts show of an output matrix.
type picture struct {
	Plain, Centred projection

	// Of words by falling frequency, in groups of like rank: the mean rank, and means over the group.
	Ranks, Norms, Cosines []float64
}

// projection is where some words lie in the plane of the two leading directions.
type projection struct {
	X, Y   []float64
	Class  []int      // of frequency: 0 for the ranks up to 10, 1 up to 100, and so on
	Shares [2]float64 // of the sum of squares along each axis
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

func project(w torch.Tensor, order []int) (p projection) {
	found := measures.Measure(w).Project(w)
	p.Shares = found.Shares
	first := 0
	for class, last := 0, 10; first < len(order); class, last = class+1, 10*last {
		members := order[first:min(last, len(order))]
		dots := min(dotsPerClass, len(members))
		for k := range dots {
			row := members[k*len(members)/dots]
			p.X, p.Y, p.Class = append(p.X, short(found.X[row])), append(p.Y, short(found.Y[row])), append(p.Class, class)
		}
		first += len(members)
	}
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
