package decode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Shortlist are the words that a translation may take, by ids: Always in every translation, and Of[i] where the source
// holds word i. Words that a constraint asks for and the end of sentence are always among them, and where there are no
// others, the unknown word. The softmax is over these words alone, so that probabilities are larger than without a list.
//
// A batch computes the rows of W that any of its sentences may take, gathered once; each sentence chooses among its
// own, so that no translation depends on the other sentences.
type Shortlist struct {
	Always []int32
	Of     [][]int32
}

// ErrNoShortlist says that a short list was given to a search whose output layer takes none.
var ErrNoShortlist = errors.New("a short list is for a softmax over a matrix, and this output layer has none: search " +
	"without a list")

// allowed are the words, unsorted and perhaps listed twice, that the translation of a source may take.
func (l *Shortlist) allowed(source []int32, c *constraint) []int32 {
	ids := append(slices.Clone(l.Always), tokenize.EOS)
	for _, id := range source {
		if id >= 0 && int(id) < len(l.Of) {
			ids = append(ids, l.Of[id]...)
		}
	}
	if c != nil {
		ids = append(append(ids, c.prefix...), c.close)
		for _, phrase := range c.phrases {
			ids = append(ids, phrase...)
		}
	}
	if !slices.ContainsFunc(ids, func(id int32) bool { return id != tokenize.EOS }) {
		ids = append(ids, tokenize.Unk) // a translation has a word at least, unless decode.min_length is 0
	}
	return ids
}

// shortHead is a Softmax over the words of a batch.
type shortHead struct {
	Softmax              // the rows of these words
	packed  torch.Packed // the weight laid out, where it can be
	ids     []int32      // of the words, rising
	at      []int32      // by id its place among them, -1 for none
}

// shorten gives each sentence of a batch the places of its words, and returns the output layer of all of them. It
// outlives the scope.
func (s *Searcher) shorten(sources [][]int32, b *beams) (*shortHead, error) {
	full := s.scorer.(Softmax)
	h := &shortHead{at: slices.Repeat([]int32{-1}, int(full.Weight.Size(0)))}
	for _, sentence := range b.sentences {
		ids := s.options.Shortlist.allowed(sources[sentence.place], sentence.constraint)
		slices.Sort(ids)
		ids = slices.Compact(ids)
		sentence.allowed = ids
		if first, last := ids[0], ids[len(ids)-1]; first < 0 || int(last) >= len(h.at) {
			return nil, fmt.Errorf("the short list holds the ids %d to %d, and the vocabulary has %d words: it was made "+
				"for another model", first, last, len(h.at))
		}
		for _, id := range ids {
			h.at[id] = 0
		}
	}
	var rows []int64
	for id, wanted := range h.at {
		if wanted == 0 {
			h.at[id] = int32(len(h.ids))
			h.ids, rows = append(h.ids, int32(id)), append(rows, int64(id))
		}
	}
	for _, sentence := range b.sentences {
		sentence.allowed = h.places(sentence.allowed)
	}
	index := torch.FromInt64s(rows, full.Weight.Device(), int64(len(rows)))
	h.Softmax = Softmax{Weight: full.Weight.IndexSelect(0, index), Map: full.Map}
	if full.Bias.Defined() {
		h.Bias = full.Bias.IndexSelect(0, index)
	}
	if s.head.Defined() {
		h.packed = s.layOut(h.Weight)
		h.Weight = torch.Tensor{}
		torch.Keep(h.packed.Tensor())
	} else {
		torch.Keep(h.Weight)
	}
	if h.Bias.Defined() {
		torch.Keep(h.Bias)
	}
	return h, nil
}

func (h *shortHead) free() { torch.Free(h.Weight, h.Bias, h.packed.Tensor()) }

// places are those of ids among the words; ids that are not there are left out.
func (h *shortHead) places(ids []int32) (out []int32) {
	for _, id := range ids {
		if h.at[id] >= 0 {
			out = append(out, h.at[id])
		}
	}
	return out
}

func (h *shortHead) placesOf(lists [][]int32) (out [][]int32) {
	for _, ids := range lists {
		out = append(out, h.places(ids))
	}
	return out
}

// candidates selects as t says. Its ids are those of the vocabulary, but for the allowed ones.
func (h *shortHead) candidates(t torch.BeamTopK, hidden torch.Tensor) (c torch.Candidates) {
	t.Pad, t.End = int64(h.at[t.Pad]), int64(h.at[t.End])
	t.Banned, t.Wanted = h.placesOf(t.Banned), h.placesOf(t.Wanted)
	if mapped := h.mapped(hidden); h.packed.Defined() {
		c = t.FromHidden(mapped, h.packed, h.Bias)
	} else {
		c = t.FromLogProbs(t.Masked(torch.Linear(mapped, h.Weight, h.Bias)).LogSoftmax(1))
	}
	for i, place := range c.IDs {
		if place >= 0 {
			c.IDs[i] = h.ids[place]
		}
	}
	return c
}
