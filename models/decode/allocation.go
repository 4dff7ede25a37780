package decode

import (
	"cmp"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// continuation is a word after an open hypothesis.
type continuation struct {
	score, logProb float64
	row, id        int32
	bank           int
}

func better(a, b continuation) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row), cmp.Compare(a.id, b.id))
}

// constrained selects for a batch where a sentence has a constraint: the best words of every hypothesis, and those that
// its constraint asks for. choose gives the log-probabilities of both.
func (b *beams) constrained(selection torch.BeamTopK, choose func(torch.BeamTopK) torch.Candidates) torch.Candidates {
	group, count := len(b.rows)/len(b.sentences), selection.Count
	rules := make([]torch.EndRule, len(b.rows))
	var allowed [][]int32
	selection.Wanted = make([][]int32, len(b.rows))
	for i, r := range b.rows {
		rules[i] = selection.Rules[i/group]
		if selection.Allowed != nil {
			allowed = append(allowed, selection.Allowed[i/group])
		}
		if c := b.sentences[i/group].constraint; c != nil && rules[i] != torch.EndForced && r.logProb > math.Inf(-1) {
			selection.Wanted[i] = c.advancing(r.progress, b.step, b.last(r))
		}
	}
	selection.Rules, selection.Allowed = rules, allowed
	each := choose(selection)
	wanted := each.Wanted
	out := torch.Candidates{}
	for i, s := range b.sentences {
		var free, asked []continuation
		for r := i * group; r < (i+1)*group; r++ {
			for at := r * count; at < (r+1)*count && each.Rows[at] >= 0; at++ {
				free = append(free, continuation{each.Scores[at], each.LogProbs[at], int32(r), each.IDs[at], 0})
			}
			for k, id := range selection.Wanted[r] {
				if score := b.rows[r].logProb + wanted[k]; score > math.Inf(-1) { // neither that nor NaN
					asked = append(asked, continuation{score, wanted[k], int32(r), id, 0})
				}
			}
			wanted = wanted[len(selection.Wanted[r]):]
		}
		if s.constraint != nil {
			free = b.allocate(b.admissible(s, free, asked))
		} else {
			slices.SortFunc(free, better)
		}
		for j := range count {
			x := continuation{math.Inf(-1), math.Inf(-1), -1, -1, 0}
			if j < len(free) {
				x = free[j]
			}
			out.Scores, out.LogProbs = append(out.Scores, x.score), append(out.LogProbs, x.logProb)
			out.Rows, out.IDs = append(out.Rows, x.row), append(out.IDs, x.id)
		}
	}
	return out
}

// admissible are the continuations after which the constraint can still be met within the largest length, with their
// banks. free are the best of each hypothesis in their order, asked those that its constraint asks for.
func (b *beams) admissible(s *sentence, free, asked []continuation) (out []continuation) {
	c := s.constraint
	if b.step < len(c.prefix) {
		return asked
	}
	add := func(x continuation) {
		p, last := b.rows[x.row].progress, b.last(b.rows[x.row])
		if x.id == tokenize.EOS {
			if p.needed == 0 {
				x.bank = c.bank(p)
				out = append(out, x)
			}
			return
		}
		next := c.after(p, last, x.id)
		if b.step+1+c.rest(next, x.id) <= s.longest {
			x.bank = c.bank(next)
			out = append(out, x)
		}
	}
	for _, x := range asked {
		add(x)
	}
	for _, x := range free {
		known := slices.ContainsFunc(asked, func(a continuation) bool { return a.row == x.row && a.id == x.id })
		if !known {
			add(x)
		}
	}
	return out
}

// allocate chooses the hypotheses of the next step, at most `beam` in falling order, and before them those that end. It
// is the allocation of Hu et al. (2019), "Improved lexically constrained decoding for translation and monolingual
// rewriting": continuations form banks by how much of the constraint they have met, and are taken in stripes, the best
// of each bank first, from the fullest bank down; then the second best of each, and so on. The fullest bank always
// advances, and the others look for better places. A step sorts beam * (2 beam + phrases) continuations for a sentence.
func (b *beams) allocate(all []continuation) []continuation {
	slices.SortFunc(all, better)
	rank := map[int]int{} // by bank
	type striped struct {
		continuation
		stripe int
	}
	ordered := make([]striped, len(all))
	var ending, open []continuation
	for i, x := range all {
		ordered[i] = striped{x, rank[x.bank]}
		if x.id != tokenize.EOS { // an end leaves its place to the next
			rank[x.bank]++
		}
	}
	slices.SortStableFunc(ordered, func(a, b striped) int {
		return cmp.Or(cmp.Compare(a.stripe, b.stripe), cmp.Compare(b.bank, a.bank))
	})
	for _, x := range ordered {
		switch {
		case len(open) == b.options.Beam:
		case x.id == tokenize.EOS:
			ending = append(ending, x.continuation)
		default:
			open = append(open, x.continuation)
		}
	}
	slices.SortFunc(open, better)
	return append(ending[:min(len(ending), b.options.Beam)], open...)
}

// last is the last word of an open hypothesis, the end of sentence at the start.
func (b *beams) last(r row) int32 {
	if r.node < 0 {
		return tokenize.EOS
	}
	return b.nodes[r.node].id
}
