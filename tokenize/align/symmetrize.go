package align

import (
	"cmp"
	"slices"
)

// GrowDiagFinalAnd joins the links of both directions (Koehn, Och and Marcu 2003; Koehn et al. 2005): it begins with
// those in both, adds neighbours of links, diagonal ones too, that align a word without a link, and last the links of
// forward, then backward, between two words without one. The result, sorted by source, then target word, is that of
// atools -c grow-diag-final-and, which visits candidates in the same order.
func GrowDiagFinalAnd(forward, backward []Link) []Link {
	forward, backward = sorted(forward), sorted(backward)
	g := growth{linked: map[Link]bool{}, source: map[int32]bool{}, target: map[int32]bool{}}
	var candidates []Link
	for _, l := range forward {
		if _, both := slices.BinarySearchFunc(backward, l, order); both {
			g.link(l)
		}
	}
	for _, l := range sorted(append(slices.Clone(forward), backward...)) {
		if !g.linked[l] {
			candidates = append(candidates, l)
		}
	}
	for grown := true; grown; {
		grown = false
		candidates = slices.DeleteFunc(candidates, func(l Link) bool {
			if g.source[l.Source] && g.target[l.Target] || !g.near(l) {
				return false
			}
			g.link(l)
			grown = true
			return true
		})
	}
	for _, side := range [][]Link{forward, backward} {
		for _, l := range side {
			if !g.source[l.Source] && !g.target[l.Target] {
				g.link(l)
			}
		}
	}
	return sorted(g.links)
}

// growth are the links that were taken, and the words that they align.
type growth struct {
	links          []Link
	linked         map[Link]bool
	source, target map[int32]bool
}

func (g *growth) link(l Link) {
	g.links = append(g.links, l)
	g.linked[l], g.source[l.Source], g.target[l.Target] = true, true, true
}

// near reports whether one of the eight neighbours is a link.
func (g *growth) near(l Link) bool {
	for i := l.Source - 1; i <= l.Source+1; i++ {
		for j := l.Target - 1; j <= l.Target+1; j++ {
			if g.linked[Link{i, j}] {
				return true
			}
		}
	}
	return false
}

func order(a, b Link) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
}

// sorted are links in order, each once.
func sorted(links []Link) []Link {
	links = slices.Clone(links)
	slices.SortFunc(links, order)
	return slices.Compact(links)
}
