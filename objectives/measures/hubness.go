package measures

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Hubness says how unevenly rows occur among the nearest neighbours of others (Radovanovic, Nanopoulos and Ivanovic
// 2010): N_k(i) counts the rows that have row i among their k nearest by cosine. Vectors that decoding by nearest
// neighbours chooses too often are hubs.
type Hubness struct {
	Skewness float64 // third standardised moment of N_k; 0 is even, hubs make it large; NaN where all N_k are equal
	Largest  int     // the largest N_k
	Hub      int64   // the row that has it
	K        int     // neighbours that count
	Rows     int     // rows that were compared: not zero, and a sample where there are more
}

// NearestRows is k of the usual N_k: 10 neighbours.
const NearestRows = 10

// MeasureHubness compares at most limit rows of w [V,D], spread evenly over the vocabulary, each with each, by k
// neighbours, or by all others where there are fewer. It keeps some hundred rows of cosines at a time.
func MeasureHubness(w torch.Tensor, k, limit int) Hubness {
	h := Hubness{Skewness: math.NaN(), Hub: -1}
	torch.ScopedNoGrad(func() {
		rows := someRows(w, limit)
		unit := unitRows(w, rows)
		h.Rows = len(rows)
		if h.K = min(k, h.Rows-1); h.K < 1 {
			h.K = 0
			return
		}
		counts := occurrences(unit, h.K)
		h.Skewness = skewness(counts)
		for i, n := range counts {
			if int(n) > h.Largest {
				h.Largest, h.Hub = int(n), rows[i]
			}
		}
	})
	return h
}

// someRows are at most limit rows of w, at equal distances, without those that are zero.
func someRows(w torch.Tensor, limit int) (rows []int64) {
	for i, norm := range RowNorms(w) {
		if norm > 0 {
			rows = append(rows, int64(i))
		}
	}
	if len(rows) > limit {
		all := rows
		rows = make([]int64, limit)
		for i := range rows {
			rows[i] = all[i*len(all)/limit]
		}
	}
	return rows
}

// rowsOf are some rows of w in float64 on the CPU.
func rowsOf(w torch.Tensor, rows []int64) torch.Tensor {
	return w.IndexSelect(0, torch.FromInt64s(rows, w.Device(), int64(len(rows)))).To(torch.Float64, torch.CPU)
}

// unitRows are some rows of w scaled to length one in float64, whose range the squares of float32s do not leave, and
// then in float32, in which products of them are fast. Rows of zeros stay so.
func unitRows(w torch.Tensor, rows []int64) torch.Tensor {
	x := rowsOf(w, rows)
	return x.Div(x.Norm(1, true).ClampMin(math.SmallestNonzeroFloat64)).To(torch.Float32, torch.CPU)
}

// occurrences counts, for each row of unit [N,D], the rows that have it among their k nearest.
func occurrences(unit torch.Tensor, k int) []float64 {
	const queries = 256 // 10 MB of cosines with 10,000 rows
	n := unit.Size(0)
	counts := make([]float64, n)
	columns := unit.Transpose(0, 1)
	for start := int64(0); start < n; start += queries {
		scope := torch.OpenScope()
		size := min(queries, n-start)
		_, nearest := unit.Narrow(0, start, size).MatMul(columns).TopK(k+1, 1)
		places := nearest.Int64s()
		for q := range size {
			// A row is its own nearest, but need not come first among equal ones.
			left := k
			for _, i := range places[int(q)*(k+1) : int(q+1)*(k+1)] {
				if i != start+q && left > 0 {
					counts[i]++
					left--
				}
			}
		}
		scope.Close()
	}
	return counts
}

func skewness(xs []float64) float64 {
	mean, second, third := 0.0, 0.0, 0.0
	for _, x := range xs {
		mean += x
	}
	mean /= float64(len(xs)) // of equal counts it is the count itself
	for _, x := range xs {
		d := x - mean
		second += d * d / float64(len(xs))
		third += d * d * d / float64(len(xs))
	}
	if second == 0 {
		return math.NaN()
	}
	return third / math.Pow(second, 1.5)
}
