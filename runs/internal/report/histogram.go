package report

// Histogram counts values in bins of equal width, and keeps the sums that TensorBoard asks for.
type Histogram struct {
	Low, High       float64 // edges of the first and the last bin
	Counts          []float64
	Min, Max        float64 // of the values
	Sum, SumSquares float64 // of the values
	Num             float64 // how many there are
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
