package measures

import (
	"math"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// Points are measures of the rows of a matrix [V,D] as a cloud of points, which papers on degenerate word vectors draw
// and reason about; Measures has the others. Lengths are over the root mean square of the rows' lengths, so that
// matrices of different scale compare. What a matrix does not have is NaN, or an empty list.
type Points struct {
	PositiveCosines float64 // see PositiveCosines
	Components      Components
	IsoScore        float64 // see Components.IsoScore
	Nearest         Density // of the distance of rows to their nearest
	MedianNearest   float64

	// Of some words, see Margin.
	Margins      []Margin
	MedianRadius float64 // of their radii, see Margin
	Recognisable float64 // share of those whose radius is above 0
}

// How many rows stand for a large vocabulary.
const (
	positiveRows = 3000
	nearestRows  = 2000
	marginWords  = 30
	marginRows   = 10000
)

// MeasurePoints measures w on the CPU. Its components live in the innermost scope.
func MeasurePoints(w torch.Tensor) (p Points) {
	p.PositiveCosines = PositiveCosines(w, positiveRows)
	p.Components = PrincipalComponents(w)
	p.IsoScore = p.Components.IsoScore()
	squares := 0.0
	for _, norm := range RowNorms(w) {
		squares += norm * norm / float64(w.Size(0))
	}
	unit := math.Max(math.Sqrt(squares), math.SmallestNonzeroFloat64)
	distances := NearestDistances(w, nearestRows)
	for i := range distances {
		distances[i] /= unit
	}
	p.Nearest, p.MedianNearest = density(distances), Median(distances)
	// The time for a word grows faster than the width.
	p.Margins = Margins(w, max(3, min(marginWords, marginWords*512/max(1, int(w.Size(1))))), marginRows)
	var radii []float64
	p.Recognisable = math.NaN()
	for i, m := range p.Margins {
		radii = append(radii, m.Radius/unit)
		if i == 0 {
			p.Recognisable = 0
		}
		if m.Radius > 0 {
			p.Recognisable += 1 / float64(len(p.Margins))
		}
	}
	p.MedianRadius = Median(radii)
	return p
}

// Density is a histogram of area 1 over bins of equal width that begin at 0; what lies beyond the last bin is in it.
type Density struct {
	Step   float64
	Values []float64 // nil where there was nothing to count
}

// The bins of a density of distances, up to twice the root mean square of lengths.
const (
	densityBins  = 60
	densityLimit = 2.0
)

func density(xs []float64) Density {
	d := Density{Step: densityLimit / densityBins}
	if len(xs) == 0 {
		return d
	}
	d.Values = make([]float64, densityBins)
	for _, x := range xs {
		d.Values[min(densityBins-1, int(x/d.Step))] += 1 / float64(len(xs)) / d.Step
	}
	return d
}

// Median is the middle of values, the mean of the two in the middle where their number is even, NaN of none or with one.
// No kind of gonum's quantiles is it.
func Median(xs []float64) float64 {
	n := len(xs)
	if n == 0 || slices.ContainsFunc(xs, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}
