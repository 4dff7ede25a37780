package align

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
)

// Options choose the model. The zero Options are IBM model 1 with five iterations.
type Options struct {
	Diagonal   bool // favour links near the diagonal
	Tension    bool // and learn how much
	Bayes      bool // variational Bayes with a sparse Dirichlet prior on translations, instead of maximum likelihood
	Reverse    bool // condition on the target and explain the source
	Iterations int  // of expectation maximisation, the last of which only aligns; 0 is 5
}

// Recommended are the options that fast_align recommends, in its usual direction.
func Recommended() Options { return Options{Diagonal: true, Tension: true, Bayes: true} }

// fast_align's defaults.
const (
	emptyProb      = 0.08 // of a link to the empty word, with Diagonal
	firstTension   = 4
	lowestTension  = 0.1
	highestTension = 14
	tensionSteps   = 8
	tensionRate    = 20
	concentration  = 0.01 // of the Dirichlet prior
	iterations     = 5
)

// model is one direction: it explains each target word by a source word, or by the empty word.
type model struct {
	Options
	source, target *side
	t              *table
	tension        float64
	words          float64 // of the target, in pairs without an empty side
	lengths        []lengths
}

// lengths counts the pairs of a size.
type lengths struct {
	target, source, pairs int
}

// Align gives the links of each pair, at most one for each explained word, in the order of these words.
func Align(c *Corpus, o Options) [][]Link {
	if o.Iterations == 0 {
		o.Iterations = iterations
	}
	m := &model{Options: o, source: &c.source, target: &c.target, tension: firstTension}
	if o.Reverse {
		m.source, m.target = m.target, m.source
	}
	m.t = newTable(m.source, m.target)
	m.measure()
	for i := range o.Iterations - 1 {
		mean := m.expect()
		// fast_align leaves the tension alone in the first iteration, where all translations are as probable.
		if o.Diagonal && o.Tension && i > 0 && m.words > 0 {
			m.tighten(mean)
		}
		m.t.update(o.Bayes, concentration)
	}
	links := make([][]Link, c.Len())
	m.blocks(func(k int, _ []int, joint []float64) { links[k] = m.best(k, joint) }, nil)
	return links
}

// measure counts the lengths of pairs.
func (m *model) measure() {
	counts := map[lengths]int{}
	for k := range m.target.ends {
		if cells := m.cells(k); cells > 0 {
			n := len(m.source.sentence(k))
			counts[lengths{target: cells / (n + 1), source: n}]++
			m.words += float64(cells / (n + 1))
		}
	}
	for l, pairs := range counts {
		m.lengths = append(m.lengths, lengths{l.target, l.source, pairs})
	}
	slices.SortFunc(m.lengths, func(a, b lengths) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.source, b.source))
	})
}

// cells counts the possible links of a pair, those to the empty word included: 0 where a side is empty.
func (m *model) cells(k int) int {
	n := len(m.source.sentence(k))
	if n == 0 {
		return 0
	}
	return len(m.target.sentence(k)) * (n + 1)
}

// expect adds the expected counts of all links to the table, and returns the mean feature of the links.
func (m *model) expect() float64 {
	features := make([]float64, len(m.target.ends))
	m.blocks(func(k int, _ []int, joint []float64) { features[k] = m.normalise(k, joint) }, m.add)
	sum := 0.0
	for _, f := range features {
		sum += f
	}
	return sum / max(m.words, 1)
}

// blockCells bounds the memory of a block, to 16 bytes each.
const blockCells = 1 << 19

// blocks calls one for each pair, in any order, with the table places of its possible links and their joint
// probabilities, and after, in the order of the text, with what is left there. The links of a pair are in the order of
// target words; for each, the empty word's comes first, then those of the source words.
func (m *model) blocks(one func(k int, at []int, joint []float64), after func(at []int, joint []float64)) {
	var at []int
	var joint []float64
	for begin := 0; begin < len(m.target.ends); {
		first := []int{0} // of each pair's links
		end := begin
		for ; end < len(m.target.ends) && (end == begin || first[end-begin] < blockCells); end++ {
			first = append(first, first[end-begin]+m.cells(end))
		}
		all := first[end-begin]
		at, joint = slices.Grow(at[:0], all)[:all], slices.Grow(joint[:0], all)[:all]
		each(end-begin, 32, none, func(i int, _ struct{}) {
			if from, to := first[i], first[i+1]; from < to {
				m.joint(begin+i, at[from:to], joint[from:to])
				one(begin+i, at[from:to], joint[from:to])
			}
		})
		if after != nil {
			after(at, joint)
		}
		begin = end
	}
}

// joint computes the probability of each link of a pair together with the target word.
func (m *model) joint(k int, at []int, joint []float64) {
	source, target := m.source.sentence(k), m.target.sentence(k)
	n, x := len(source), 0
	prior := 1 / float64(n+1)
	for j, word := range target {
		divisor := 0.0
		empty := prior
		if m.Diagonal {
			divisor = normaliser(j+1, len(target), n, m.tension) / (1 - emptyProb)
			empty = emptyProb
		}
		at[x], joint[x] = int(word), m.t.prob[word]*empty
		x++
		for i, from := range source {
			if m.Diagonal {
				prior = math.Exp(feature(j+1, i+1, len(target), n)*m.tension) / divisor
			}
			place := m.t.find(int(from)+1, word)
			at[x], joint[x] = place, m.t.prob[place]*prior
			x++
		}
	}
}

// normalise turns joint probabilities into those of links given the target word, and returns the sum of their features.
// As in fast_align the feature counts target places from 0, unlike the model.
func (m *model) normalise(k int, joint []float64) (sum float64) {
	n := len(m.source.sentence(k))
	words := len(joint) / (n + 1)
	for j := range words {
		row := joint[j*(n+1) : (j+1)*(n+1)]
		total := 0.0
		for _, p := range row {
			total += p
		}
		if total == 0 { // every translation has vanished, which only maximum likelihood can do
			total = 1
		}
		for i := range row {
			row[i] /= total
			if i > 0 {
				sum += feature(j, i, words, n) * row[i]
			}
		}
	}
	return sum
}

// add adds expected counts to the table. Each goroutine has its own places, so that every sum is in the order of the
// text.
func (m *model) add(at []int, posterior []float64) {
	shares := 1 << (bits.Len(uint(runtime.GOMAXPROCS(0))) - 1)
	each(shares, 1, none, func(share int, _ struct{}) {
		for x, place := range at {
			if place>>6&(shares-1) == share {
				m.t.count[place] += posterior[x]
			}
		}
	})
}

// tighten moves the tension up the likelihood, given the mean feature of the links.
func (m *model) tighten(mean float64) {
	slopes := make([]float64, len(m.lengths))
	for range tensionSteps {
		each(len(slopes), 8, none, func(k int, _ struct{}) {
			l := m.lengths[k]
			sum := 0.0
			for i := 1; i <= l.target; i++ {
				sum += slope(i, l.target, l.source, m.tension)
			}
			slopes[k] = sum * float64(l.pairs)
		})
		sum := 0.0
		for _, s := range slopes {
			sum += s
		}
		m.tension += tensionRate * (mean - sum/m.words)
		m.tension = min(max(m.tension, lowestTension), highestTension)
	}
}

// best are the most probable links of a pair. On a tie the empty word wins, then the earliest.
func (m *model) best(k int, joint []float64) []Link {
	n := len(m.source.sentence(k))
	links := make([]Link, 0, len(joint)/(n+1))
	for j := range len(joint) / (n + 1) {
		row := joint[j*(n+1) : (j+1)*(n+1)]
		best := 0
		for i, p := range row {
			if p > row[best] {
				best = i
			}
		}
		switch {
		case best == 0:
		case m.Reverse:
			links = append(links, Link{int32(j), int32(best - 1)})
		default:
			links = append(links, Link{int32(best - 1), int32(j)})
		}
	}
	return links
}
