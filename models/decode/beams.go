package decode

import (
	"fmt"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// beams is the state of a batch: the open hypotheses, those of a sentence side by
// side and equally many for each, and what is finished.
type beams struct {
	options   Options
	step      int // words of each open hypothesis
	sentences []*sentence
	rows      []row
	nodes     []node
	bound     bool       // some sentence has a constraint
	short     *shortHead // what the sentences choose words by, nil for the whole vocabulary
}

// sentence is a source that is being translated.
type sentence struct {
	place    int // among the sources
	words    int // without end of sentence
	longest  int // words of a translation
	finished []ending
	// constraint is what its translations must hold, nil for nothing.
	constraint *constraint
	allowed    []int32 // the places of its words in beams.short, rising
	rising     bool    // some log-probability was positive: a density, which may raise a score
}

// row is an open hypothesis.
type row struct {
	node    int32 // its last word, -1 at the start
	next    seen  // the source words that its next word attends to
	logProb float64
	progress
}

// node is a word of a hypothesis, with the one before.
type node struct {
	before  int32
	id      int32
	seen    seen
	logProb float64
}

// seen are the two source words with most attention; second is -1 where there is one word.
type seen struct{ best, second int32 }

// ending is a finished hypothesis: its last word, and its end of sentence.
type ending struct {
	node           int32
	score, logProb float64
	last           float64 // of the end of sentence
}

func newBeams(sources [][]int32, places []int, o Options, positions int, constraints Constraints) *beams {
	b := &beams{options: o}
	for _, i := range places {
		s := &sentence{place: i, words: len(sources[i]), longest: o.longest(len(sources[i]), positions)}
		first := row{node: -1}
		if s.constraint = constraints.of(i); s.constraint != nil {
			b.bound, first.progress = true, s.constraint.start
		}
		b.sentences, b.rows = append(b.sentences, s), append(b.rows, first)
	}
	return b
}

// words are the last words of the open hypotheses.
func (b *beams) words() []int64 {
	words := make([]int64, len(b.rows))
	for i, r := range b.rows {
		words[i] = int64(b.last(r))
	}
	return words
}

// candidates selects the continuations of this step.
func (s *Searcher) candidates(b *beams, hidden torch.Tensor) torch.Candidates {
	selection := torch.BeamTopK{
		Count: 2 * s.options.Beam, Pad: tokenize.Pad, End: tokenize.EOS,
		Scores: make([]float64, len(b.rows)), Rules: make([]torch.EndRule, len(b.sentences)), Banned: b.banned(),
	}
	for i, r := range b.rows {
		selection.Scores[i] = r.logProb
	}
	for i, sentence := range b.sentences {
		switch {
		case b.step >= sentence.longest:
			selection.Rules[i] = torch.EndForced
		case b.step < s.options.MinLength:
			selection.Rules[i] = torch.EndForbidden
		}
	}
	if nearest, ok := s.scorer.(Nearest); ok && b.free(selection) {
		return b.nearest(nearest, hidden)
	}
	choose := func(t torch.BeamTopK) torch.Candidates { return t.FromLogProbs(s.scorer.LogProbs(hidden)) }
	switch {
	case b.short != nil:
		for _, sentence := range b.sentences {
			selection.Allowed = append(selection.Allowed, sentence.allowed)
		}
		choose = func(t torch.BeamTopK) torch.Candidates { return b.short.candidates(t, hidden) }
	case s.head.Defined():
		softmax := s.scorer.(Softmax)
		choose = func(t torch.BeamTopK) torch.Candidates {
			return t.FromHidden(softmax.mapped(hidden), s.head, softmax.Bias)
		}
	}
	var c torch.Candidates
	if b.bound {
		c = b.constrained(selection, choose)
	} else {
		c = choose(selection)
	}
	if s.options.Stop == "transformers" {
		b.endFreely(c)
	}
	return c
}

// endFreely gives the ends of the longest translations probability 1, as the forced end of transformers has.
func (b *beams) endFreely(c torch.Candidates) {
	group, count := len(b.rows)/len(b.sentences), len(c.Rows)/len(b.sentences)
	for i, s := range b.sentences {
		if b.step < s.longest {
			continue
		}
		for j := range count {
			at, r := i*count+j, i*group+j
			c.Rows[at], c.IDs[at], c.Scores[at], c.LogProbs[at] = -1, -1, math.Inf(-1), math.Inf(-1)
			if j < group && b.rows[r].logProb > math.Inf(-1) { // they are in falling order
				c.Rows[at], c.IDs[at], c.Scores[at], c.LogProbs[at] = int32(r), tokenize.EOS, b.rows[r].logProb, 0
			}
		}
	}
}

// free reports whether a step may take any word and needs no second best: in greedy search
// whose first end of sentence is the last.
func (b *beams) free(s torch.BeamTopK) bool {
	allowed := !slices.ContainsFunc(s.Rules, func(r torch.EndRule) bool { return r != torch.EndAllowed })
	return b.options.Beam == 1 && b.options.LengthPenalty == "fairseq" && s.Banned == nil && allowed && !b.bound
}

// nearest makes a greedy step's candidates of the nearest words.
func (b *beams) nearest(scorer Nearest, hidden torch.Tensor) torch.Candidates {
	var c torch.Candidates
	values, found := scorer.Nearest(hidden, 1)
	scores, ids := values.Float64s(), found.Int64s()
	for i, r := range b.rows {
		from := int32(i)
		if math.IsNaN(scores[i]) {
			from = -1
		}
		c.Scores, c.LogProbs = append(c.Scores, r.logProb+scores[i], math.Inf(-1)),
			append(c.LogProbs, scores[i], math.Inf(-1))
		c.Rows, c.IDs = append(c.Rows, from, -1), append(c.IDs, int32(ids[i]), 0)
	}
	return c
}

// banned lists the words that may not follow, by hypothesis: the unknown one, and those that would repeat an n-gram.
func (b *beams) banned() [][]int32 {
	n := b.options.NoRepeatNgram
	repeats := n > 0 && b.step >= n
	if !repeats && !b.options.NoUnk {
		return nil
	}
	out := make([][]int32, len(b.rows))
	for i, r := range b.rows {
		if math.IsInf(r.logProb, -1) {
			continue
		}
		if b.options.NoUnk {
			out[i] = append(out[i], tokenize.Unk)
		}
		if !repeats {
			continue
		}
		ids := b.ids(r.node, b.step)
		last := ids[len(ids)-n+1:]
		for j := 0; j+n <= len(ids); j++ {
			if slices.Equal(ids[j:j+n-1], last) {
				out[i] = append(out[i], ids[j+n-1])
			}
		}
	}
	return out
}

// ids are the words up to a node.
func (b *beams) ids(last int32, count int) []int32 {
	ids := make([]int32, count)
	for i := count - 1; i >= 0; i-- {
		ids[i] = b.nodes[last].id
		last = b.nodes[last].before
	}
	return ids
}

// align notes, for the words that come next, what each hypothesis attends to now; attention is [rows, width].
func (b *beams) align(attention []float32, width int) {
	group := len(b.rows) / len(b.sentences)
	for i := range b.rows {
		weights := attention[i*width : i*width+b.sentences[i/group].words]
		best, second := 0, -1
		for j, a := range weights[1:] {
			switch {
			case a > weights[best]:
				best, second = j+1, best
			case second < 0 || a > weights[second]:
				second = j + 1
			}
		}
		b.rows[i].next = seen{int32(best), int32(second)}
	}
}

// unchanged reports whether hypotheses stay as they were.
func unchanged(order, keep []int64, rows int) bool {
	if keep != nil || len(order) != rows {
		return false
	}
	for i, from := range order {
		if from != int64(i) {
			return false
		}
	}
	return true
}

// advance takes a step's candidates: it finishes hypotheses and sentences and makes the others the open ones. order
// names, for each hypothesis that is open now, the one of the last step that it continues; keep names the sentences
// that are left, nil when that is all of them. An empty order ends the batch.
func (b *beams) advance(c torch.Candidates, done func(i int, best []Hypothesis, err error)) (order, keep []int64) {
	o, count := b.options, 2*b.options.Beam
	group := len(b.rows) / len(b.sentences)
	var rows []row
	var left []*sentence
	for i, s := range b.sentences {
		first := len(rows)
		for j := range count {
			at := i*count + j
			if c.Rows[at] < 0 {
				break
			}
			from := b.rows[c.Rows[at]]
			s.rising = s.rising || c.LogProbs[at] > 1e-6
			switch {
			case c.IDs[at] != tokenize.EOS:
				if len(rows)-first == o.Beam {
					continue
				}
				next := row{logProb: c.Scores[at]}
				next.progress = from.progress
				if s.constraint != nil && b.step >= len(s.constraint.prefix) {
					next.progress = s.constraint.after(from.progress, b.last(from), c.IDs[at])
				}
				b.nodes = append(b.nodes, node{from.node, c.IDs[at], from.next, c.LogProbs[at]})
				next.node = int32(len(b.nodes) - 1)
				rows = append(rows, next)
				order = append(order, int64(c.Rows[at]))
			case o.finishes(j, s):
				s.finish(ending{from.node, c.Scores[at] / o.penalty(b.step+1), c.Scores[at], c.LogProbs[at]}, o.Beam)
			}
		}
		if len(rows) > first && !b.complete(s, rows[first].logProb) {
			left, keep = append(left, s), append(keep, int64(i))
			for len(rows)-first < o.Beam { // a vocabulary smaller than the beam
				rows = append(rows, row{node: rows[first].node, logProb: math.Inf(-1)})
				order = append(order, int64(i*group))
			}
			continue
		}
		rows, order = rows[:first], order[:first]
		if len(s.finished) == 0 {
			done(s.place, nil, fmt.Errorf("it has no translation: after %d words no continuation has a probability: the "+
				"weights are not finite, or decode.no_repeat_ngram, decode.no_unk and the short list together leave nothing",
				b.step))
			continue
		}
		done(s.place, b.best(s), nil)
	}
	if len(left) == len(b.sentences) {
		keep = nil
	}
	b.sentences, b.rows = left, rows
	b.step++
	return order, keep
}

// finishes reports whether the end of sentence at rank j of the candidates finishes a hypothesis.
func (o Options) finishes(j int, s *sentence) bool {
	full := len(s.finished) == o.Beam && o.Stop != "transformers"
	return o.LengthPenalty == "gnmt" || j < o.Beam && !full
}

// finish keeps the finished hypotheses sorted, and the best `beam` of them.
func (s *sentence) finish(e ending, beam int) {
	at := len(s.finished)
	for at > 0 && s.finished[at-1].score < e.score {
		at--
	}
	s.finished = slices.Insert(s.finished, at, e)
	s.finished = s.finished[:min(len(s.finished), beam)]
}

// complete reports whether a sentence needs no more steps, given the best of its open hypotheses.
func (b *beams) complete(s *sentence, open float64) bool {
	o := b.options
	if b.step >= s.longest {
		return true
	}
	if o.LengthPenalty == "fairseq" && len(s.finished) == o.Beam {
		// The heuristic of transformers takes the length of now for the one that an open hypothesis will end with.
		return o.Stop != "transformers" || open/o.penalty(b.step+1) <= s.finished[o.Beam-1].score
	}
	if len(s.finished) < o.NBest || s.rising {
		return false
	}
	// Sums of log-probabilities only fall, and the penalty is monotonous in the length:
	// the best that can come is `open` at the next length or at the last one.
	bound := max(open/o.penalty(b.step+2), open/o.penalty(s.longest+1))
	return s.finished[o.NBest-1].score >= bound
}

// best are the translations of a sentence.
func (b *beams) best(s *sentence) []Hypothesis {
	out := make([]Hypothesis, 0, b.options.NBest)
	for _, e := range s.finished[:min(len(s.finished), b.options.NBest)] {
		h := Hypothesis{Score: e.score, LogProb: e.logProb, TokenLogProbs: []float64{e.last}}
		for at := e.node; at >= 0; at = b.nodes[at].before {
			n := b.nodes[at]
			h.IDs = append(h.IDs, n.id)
			h.TokenLogProbs = append(h.TokenLogProbs, n.logProb)
			if b.options.aligned() {
				h.Alignment = append(h.Alignment, int(n.seen.best))
				h.Second = append(h.Second, int(n.seen.second))
			}
		}
		slices.Reverse(h.IDs)
		slices.Reverse(h.TokenLogProbs)
		slices.Reverse(h.Alignment)
		slices.Reverse(h.Second)
		out = append(out, h)
	}
	return out
}
