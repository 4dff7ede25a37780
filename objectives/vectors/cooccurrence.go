package vectors

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
)

// counted are weighted co-occurrences in rows: row i has the entries at[i] to at[i+1], their
// columns rising. Weights are whole numbers, so that their sums do not depend on an order.
type counted struct {
	at      []int
	columns []int32
	weights []int64
	totals  []float64 // of each row
}

// count weighs pairs of symbols that stand within a window by window+1-distance.
func count(sentences [][]int32, v, window int) (*counted, error) {
	pairs := map[uint64]int64{} // the smaller symbol in the upper half
	var line []int32
	for number, sentence := range sentences {
		line = append(append(line[:0], sentence...), tokenize.EOS)
		for i, a := range line {
			if a < 0 || int(a) >= v {
				return nil, fmt.Errorf("sentence %d holds symbol %d, which a vocabulary of %d has not", number+1, a, v)
			}
			for d := 1; d <= window && d <= i; d++ {
				b := line[i-d]
				pairs[uint64(min(a, b))<<32|uint64(max(a, b))] += int64(window + 1 - d)
			}
		}
	}
	keys := slices.Sorted(maps.Keys(pairs))
	c := &counted{at: make([]int, v+1), totals: make([]float64, v)}
	each := func(f func(row, column int32, weight int64)) {
		for _, key := range keys {
			a, b := int32(key>>32), int32(uint32(key))
			f(a, b, pairs[key])
			if a != b {
				f(b, a, pairs[key])
			}
		}
	}
	each(func(row, _ int32, _ int64) { c.at[row+1]++ })
	for i := range v {
		c.at[i+1] += c.at[i]
	}
	c.columns, c.weights = make([]int32, c.at[v]), make([]int64, c.at[v])
	next := slices.Clone(c.at[:v])
	// columns rise: those below the row come as the upper half of earlier keys
	each(func(row, column int32, weight int64) {
		if row == column {
			weight *= 2 // each of the two sees the other
		}
		c.columns[next[row]], c.weights[next[row]] = column, weight
		c.totals[row] += float64(weight)
		next[row]++
	})
	return c, nil
}

// sparse is a matrix [V,V] in rows, with the values of its transpose beside its own: entry k
// of row i and column j has the value forward[k] at (i,j) and backward[k] at (j,i).
type sparse struct {
	at                []int
	columns           []int32
	forward, backward []float32
}

// information is the positive pointwise mutual information of counts.
func information(c *counted) *sparse {
	v := len(c.totals)
	smoothed, sum := make([]float64, v), 0.0
	for i, n := range c.totals {
		smoothed[i] = math.Pow(n, contextPower)
		sum += smoothed[i]
	}
	m := &sparse{at: make([]int, v+1)}
	for i := range v {
		for k := c.at[i]; k < c.at[i+1]; k++ {
			j := c.columns[k]
			n := float64(c.weights[k])
			forward := max(0, math.Log(n*sum/(c.totals[i]*smoothed[j])))
			backward := max(0, math.Log(n*sum/(c.totals[j]*smoothed[i])))
			if forward == 0 && backward == 0 {
				continue
			}
			m.columns = append(m.columns, j)
			m.forward, m.backward = append(m.forward, float32(forward)), append(m.backward, float32(backward))
		}
		m.at[i+1] = len(m.columns)
	}
	return m
}

func (m *sparse) size() int    { return len(m.at) - 1 }
func (m *sparse) entries() int { return len(m.columns) }

// occupied counts the rows that hold anything: the rank is no larger.
func (m *sparse) occupied() int {
	n := 0
	for i := range m.size() {
		if m.at[i+1] > m.at[i] {
			n++
		}
	}
	return n
}
