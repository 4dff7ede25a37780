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
	selection.Wanted = make([][]int32, len(b.rows))
	for i, r := range b.rows {
		rules[i] = selection.Rules[i/group]
		if c := b.sentences[i/group].constraint; c != nil && rules[i] != torch.EndForced {
			selection.Wanted[i] = c.advancing(r.progress, b.step, b.last(r))
		}
	}
	selection.Rules = rules
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
			free = b.allocate(s, b.admissible(s, free, asked))
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
	ends := map[int32]bool{} // the hypotheses that would end, were they not short of a phrase
	for i, x := range free {
		first := i == 0 || free[i-1].row != x.row
		ends[x.row] = ends[x.row] || first && x.id == tokenize.EOS && b.rows[x.row].progress.needed > 0
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
		if !known && !ends[x.row] {
			add(x)
		}
	}
	return out
}

// allocate chooses the hypotheses of the next step, at most `beam`, and before them those that end: dynamic beam
// allocation (Post and Vilar 2018; Hu et al. 2019). ...
func (b *beams) allocate(s *sentence, all []continuation) []continuation {
	slices.SortFunc(all, better)
	banks := map[int][]continuation{}
	var order []int
	for _, x := range all {
		if len(banks[x.bank]) == 0 {
			order = append(order, x.bank)
		}
		banks[x.bank] = append(banks[x.bank], x)
	}
	slices.SortFunc(order, func(a, b int) int { return b - a })
	var ending, open []continuation
	take := func(bank int) {
		for len(banks[bank]) > 0 && len(open) < b.options.Beam {
			x := banks[bank][0]
			banks[bank] = banks[bank][1:]
			if x.id == tokenize.EOS {
				ending = append(ending, x)
				continue
			}
			open = append(open, x)
			return
		}
	}
	switch Variant {
	case 0: // stripes
		for left := true; left && len(open) < b.options.Beam; {
			left = false
			for _, bank := range order {
				take(bank)
				left = left || len(banks[bank]) > 0
			}
		}
	case 1:
		n := min(len(order), b.options.Beam)
		for i := range n {
			at := 0
			if n > 1 {
				at = i * (len(order) - 1) / (n - 1)
			}
			take(order[at])
		}
		var left []continuation
		for _, bank := range order {
			left = append(left, banks[bank]...)
		}
		slices.SortFunc(left, better)
		banks[-1] = left
		for len(banks[-1]) > 0 && len(open) < b.options.Beam {
			take(-1)
		}
	}
	slices.SortFunc(open, better)
	ending = ending[:min(len(ending), b.options.Beam)]
	return append(ending, open...)
}

// Variant is for experiments.
var Variant = 1

// last is the last word of an open hypothesis, the end of sentence at the start.
func (b *beams) last(r row) int32 {
	if r.node < 0 {
		return tokenize.EOS
	}
	return b.nodes[r.node].id
}
