package align

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// slow is the aligner as its formulas stand, on words and maps of maps, every sum term by term.
type slow struct {
	o              Options
	source, target [][]string
	t              map[string]map[string]float64 // nil is flat
	tension        float64
}

// empty is no word of a text, since it holds a space.
const empty = "the empty word"

// learnt is the aligner after all iterations but the last.
func learnt(source, target [][]string, o Options) *slow {
	s := &slow{o: o, source: source, target: target, tension: 4}
	if o.Reverse {
		s.source, s.target = target, source
	}
	if o.Iterations == 0 {
		s.o.Iterations = 5
	}
	for i := 1; i < s.o.Iterations; i++ {
		s.iterate(i > 1)
	}
	return s
}

func (s *slow) words(k int) (f, e []string) {
	if f, e = s.target[k], s.source[k]; len(f) == 0 || len(e) == 0 {
		return nil, nil
	}
	return f, append([]string{empty}, e...)
}

func (s *slow) probability(e, f string) float64 {
	if s.t == nil {
		return 1e-9
	}
	return s.t[e][f]
}

// delta is exp(-tension |i/n - j/m|), for target place j and source place i, both from 1.
func delta(tension float64, i, j, m, n int) float64 {
	return math.Exp(-math.Abs(float64(i)/float64(n)-float64(j)/float64(m)) * tension)
}

// deltas is the sum of delta over source places up to last; with moments each times its -|i/n - j/m|. A
// last of 0 stands for infinity.
func deltas(tension float64, j, m, n, last int, moments bool) (sum float64) {
	for i := 1; last == 0 || i <= last; i++ {
		term := delta(tension, i, j, m, n)
		if last == 0 && i*m > j*n && term < 1e-18 {
			break
		}
		if moments {
			term *= -math.Abs(float64(i)/float64(n) - float64(j)/float64(m))
		}
		sum += term
	}
	return sum
}

// joint is p(f_j, a_j = i | e), with i = 0 for the empty word.
func (s *slow) joint(f, e []string, j int) []float64 {
	m, n := len(f), len(e)-1
	p := make([]float64, n+1)
	for i := range p {
		prior := 1 / float64(n+1)
		switch {
		case s.o.Diagonal && i == 0:
			prior = 0.08
		case s.o.Diagonal:
			prior = (1 - 0.08) * delta(s.tension, i, j+1, m, n) / deltas(s.tension, j+1, m, n, n, false)
		}
		p[i] = s.probability(e[i], f[j]) * prior
	}
	return p
}

func (s *slow) iterate(tighten bool) {
	counts := map[string]map[string]float64{}
	feature, total := 0.0, 0.0
	for k := range s.target {
		f, e := s.words(k)
		for j := range f {
			p := s.joint(f, e, j)
			sum := 0.0
			for _, x := range p {
				sum += x
			}
			for i, x := range p {
				if counts[e[i]] == nil {
					counts[e[i]] = map[string]float64{}
				}
				counts[e[i]][f[j]] += x / sum
				if i > 0 { // a place in the target from 0, as fast_align has it
					feature -= math.Abs(float64(i)/float64(len(e)-1)-float64(j)/float64(len(f))) * x / sum
				}
			}
			total++
		}
	}
	if s.o.Diagonal && s.o.Tension && tighten {
		for range 8 {
			s.tension += 20 * (feature/total - s.model()/total)
			s.tension = math.Min(math.Max(s.tension, 0.1), 14)
		}
	}
	for _, row := range counts {
		sum, alpha := 0.0, 0.0
		if s.o.Bayes {
			alpha = 0.01
		}
		for _, c := range row {
			sum += c + alpha
		}
		for f, c := range row {
			if row[f] = c / sum; s.o.Bayes {
				row[f] = math.Exp(mathext.Digamma(c+alpha) - mathext.Digamma(sum))
			}
		}
	}
	s.t = counts
}

// model is the sum of the model's features, with fast_align's divisor: m and n change places in it, and source places
// then go on for ever where the target place is beyond the source's length.
func (s *slow) model() (sum float64) {
	for k := range s.target {
		f, e := s.words(k)
		m, n := len(f), len(e)-1
		for j := 1; j <= m; j++ {
			last := m
			if j > n {
				last = 0
			}
			sum += deltas(s.tension, j, m, n, n, true) / deltas(s.tension, j, n, m, last, false)
		}
	}
	return sum
}

// check says what is wrong with the links of pair k: none may be less probable than another of the same word, and one
// to the empty word stands where there is none. Words that explain another equally well, such as two that occur in one
// pair only, differ by rounding, and either will do.
func (s *slow) check(k int, links []Link) string {
	f, e := s.words(k)
	chosen := make([]int, len(f))
	last := int32(-1)
	for _, l := range links {
		if s.o.Reverse {
			l = Link{l.Target, l.Source}
		}
		if l.Target <= last || int(l.Target) >= len(f) || int(l.Source) >= len(e)-1 {
			return "the links are out of order or beyond the pair"
		}
		chosen[l.Target], last = int(l.Source)+1, l.Target
	}
	for j := range f {
		p := s.joint(f, e, j)
		best, at := 0.0, 0
		for i := range p {
			if p[i] > best*(1+1e-9) {
				best, at = p[i], i
			}
		}
		if p[chosen[j]] < best*(1-1e-9) {
			return fmt.Sprintf("word %d has the link %d with %v, and by the formulas %d with %v", j, chosen[j]-1,
				p[chosen[j]], at-1, best)
		}
	}
	return ""
}
