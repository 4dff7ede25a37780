package report

import "math"

// Histogram counts values in bins of equal width, and keeps the sums that TensorBoard asks for.
type Histogram struct {
	Low, High       float64 // edges of the first and the last bin
	Counts          []float64
	Min, Max        float64 // of the values
	Sum, SumSquares float64 // of the values
	Num             float64 // how many there are
}

// NewHistogram counts finite values in bins from low to high; those outside fall into the nearest bin, so that none is lost.
// It panics on less than one bin or an empty range, which no data can cause.
func NewHistogram(values []float64, low, high float64, bins int) Histogram {
	if bins < 1 || !(low < high) {
		panic("report: a histogram needs bins over a range")
	}
	h := Histogram{Low: low, High: high, Counts: make([]float64, bins), Min: math.Inf(1), Max: math.Inf(-1)}
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		bin := int(math.Floor((x - low) / (high - low) * float64(bins)))
		h.Counts[min(max(bin, 0), bins-1)]++
		h.Min, h.Max = min(h.Min, x), max(h.Max, x)
		h.Sum += x
		h.SumSquares += x * x
		h.Num++
	}
	return h
}

// HistogramOfCounts is a histogram of which only the counts are known; its sums take each value for its bin's middle.
func HistogramOfCounts(counts []float64, low, high float64) Histogram {
	h := Histogram{Low: low, High: high, Counts: counts, Min: low, Max: high}
	for i, count := range counts {
		middle := (h.Edge(i) + h.Edge(i+1)) / 2
		h.Sum += count * middle
		h.SumSquares += count * middle * middle
		h.Num += count
	}
	return h
}

// Edge returns the lower edge of bin i, and the upper edge of the last bin for i = len(Counts).
func (h *Histogram) Edge(i int) float64 {
	return h.Low + (h.High-h.Low)*float64(i)/float64(len(h.Counts))
}
