package measures

import (
	"cmp"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/torch"
)

// Letters of shapes: N rows that are compared, Q of them that are asked about, D columns.

// Margin says how clearly a word stands out from all others. D. Wang, Gong and Liu (2019, definition 3.2) call a word i
// e-recognisable where some vector h, which need not be the state of any text, scores it above each other word by more
// than e |h|:
//
//	w_i . h - e |h| > w_j . h   for all j != i
//
// The radius is the least upper bound of such e, which is the distance of w_i from the convex hull of the other rows;
// the h that goes with it points from the hull's nearest point to w_i. Theorem 3.3 has each such e less than the
// distance of w_i from its nearest row, so the radius is no larger than that.
type Margin struct {
	Row     int64
	Radius  float64 // see above; 0 where no h scores the word above all others
	Nearest float64 // distance to the nearest other row
	Length  float64 // of w_i
}

// Margins are those of words words of w [V,D], among at most limit rows, both at equal distances over the vocabulary.
// Rows of zeros are none of them. With fewer than limit rows that are not zero, radii are exact, else
// they are upper bounds: other rows may stand nearer.
func Margins(w torch.Tensor, words, limit int) (all []Margin) {
	torch.ScopedNoGrad(func() {
		rows := someRows(w, limit)
		if len(rows) < 2 {
			return
		}
		x_ND := rowsOf(w, rows)
		words = min(words, len(rows))
		for i := range words {
			step := torch.OpenScope()
			place := int64(i * len(rows) / words)
			m := marginOf(x_ND, place)
			m.Row = rows[place]
			all = append(all, m)
			step.Close()
		}
	})
	return all
}

// marginOf finds the radius of one row among the others. Few of them bound the hull on its side: it begins with the
// nearest, and takes in those that turn out to lie in front of the plane that was found, until none does.
func marginOf(x_ND torch.Tensor, place int64) Margin {
	n, d := int(x_ND.Size(0)), x_ND.Size(1)
	w_D := x_ND.Narrow(0, place, 1)
	from_ND := w_D.Sub(x_ND) // w_i - w_j, whose nearest point to the origin is asked for
	lengths := from_ND.Norm(1, false).Float64s()
	lengths[place] = math.Inf(1)
	m := Margin{Nearest: slices.Min(lengths), Length: w_D.Norm(1, false).Item()}
	in, order := make([]bool, n), make([]int, n)
	in[place] = true
	for i := range order {
		order[i] = i
	}
	var chosen []int64
	take := func(most int, key []float64, below float64) (taken bool) {
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
		for _, i := range order {
			if !(key[i] < below) || most == 0 {
				return taken
			}
			if !in[i] {
				in[i], taken = true, true
				chosen, most = append(chosen, int64(i)), most-1
			}
		}
		return taken
	}
	const more = 64
	for take(2*more, lengths, math.Inf(1)); ; {
		points := from_ND.IndexSelect(0, torch.FromInt64s(chosen, torch.CPU, int64(len(chosen)))).Float64s()
		hull := NearestInHull(points, int(d))
		if m.Radius = hull.Distance; hull.Contains(m.Length) {
			m.Radius = 0
			return m
		}
		products := from_ND.MatMul(torch.FromFloat64s(hull.Nearest, torch.CPU, d, 1)).Float64s()
		if !take(more, products, hull.Distance*hull.Distance*(1-1e-9)) {
			return m
		}
	}
}
