package decode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/torch"
)

// Searcher translates with a model and a scorer whose weights it has prepared.
type Searcher struct {
	decoder models.Decoder
	scorer  Scorer
	head    torch.Packed // of a Softmax that the fused selection can take
	options Options
}

// layOut lays out a weight as the options say.
func (s *Searcher) layOut(weight torch.Tensor) torch.Packed {
	if s.options.Int8 {
		return torch.PackInt8(weight)
	}
	return torch.Pack(weight)
}

// check says what is wrong with the options, and completes them.
func (s *Searcher) check(o *Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	if _, ok := s.scorer.(Softmax); o.Shortlist != nil && !ok {
		return ErrNoShortlist
	}
	return nil
}

// New prepares for search. It is an error where the options make no sense, or want
// weights of eight bits of a model that cannot have them.
func New(model Model, scorer Scorer, o Options) (*Searcher, error) {
	s := &Searcher{scorer: scorer}
	if err := s.check(&o); err != nil {
		return nil, err
	}
	s.options = o
	err := torch.Try(func() (err error) {
		if o.Int8 {
			other, can := model.(Int8Model)
			if !can {
				return errors.New("this kind of model does not translate with weights of eight bits")
			}
			if s.decoder, err = other.Int8Decoder(); err != nil {
				return err
			}
		} else {
			s.decoder = model.Decoder()
		}
		softmax, ok := scorer.(Softmax)
		if ok && torch.CanPack(softmax.Weight) {
			scope := torch.OpenScope()
			s.head = s.layOut(softmax.Weight)
			torch.Keep(s.head.Tensor())
			scope.Close()
		}
		return nil
	})
	if err != nil {
		if s.decoder != nil {
			s.decoder.Free()
		}
		return nil, err
	}
	return s, nil
}

// With is s with other options and the same weights, which stay as they were prepared;
// Free is called for one of the two.
func (s *Searcher) With(o Options) (*Searcher, error) {
	if err := s.check(&o); err != nil {
		return nil, err
	}
	if o.Int8 != s.options.Int8 {
		return nil, errors.New("the weights were prepared for other arithmetic: prepare them anew")
	}
	other := *s
	other.options = o
	return &other, nil
}

// Free frees what was prepared.
func (s *Searcher) Free() {
	s.decoder.Free()
	torch.Free(s.head.Tensor())
}

// Search translates sources with weights that it prepares for this call alone.
func Search(ctx context.Context, model Model, scorer Scorer, sources [][]int32, o Options) ([][]Hypothesis, error) {
	s, err := New(model, scorer, o)
	if err != nil {
		return nil, err
	}
	defer s.Free()
	return s.Search(ctx, sources)
}

// Search returns the NBest translations of each source, best first, in the order of the sources; they may be fewer
// where the model finishes fewer. It is an error where a source is longer than the model's positions, and ctx's where
// that is cancelled, which is noticed between two words.
func (s *Searcher) Search(ctx context.Context, sources [][]int32) ([][]Hypothesis, error) {
	return s.SearchConstrained(ctx, sources, Constraints{Of: make([]Constraint, len(sources))})
}

// SearchConstrained is Search for translations that hold what the constraints say, every one of them. It is an error
// where a constraint does not fit into the longest translation of its source.
func (s *Searcher) SearchConstrained(ctx context.Context, sources [][]int32, constraints Constraints) ([][]Hypothesis,
	error) {
	results := make([][]Hypothesis, len(sources))
	var none error
	err := s.SearchEach(ctx, sources, constraints, func(i int, best []Hypothesis, err error) {
		if results[i] = best; err != nil && none == nil {
			none = fmt.Errorf("source %d: %w", i+1, err)
		}
	})
	return results, cmp.Or(err, none)
}

// SearchEach is SearchConstrained that hands the translations of each source to done as soon as it has them, or why it
// has none: the short ones of a batch need not wait for the long ones. Where it fails, some may have been handed over.
func (s *Searcher) SearchEach(ctx context.Context, sources [][]int32, constraints Constraints,
	done func(source int, best []Hypothesis, err error)) error {
	if err := constraints.check(len(sources)); err != nil {
		return err
	}
	length := func(i int) int { // with its end
		if len(sources[i]) == 0 {
			return 0
		}
		return len(sources[i]) + 1
	}
	for i, source := range sources {
		if n := len(source) + 1; n > s.decoder.Longest() {
			return fmt.Errorf("source %d has %d tokens with its end of sentence, and the model has %d positions: "+
				"split the sentence, or train with a larger model.max_positions",
				i+1, n, s.decoder.Longest())
		}
		if slices.Contains(source, tokenize.Pad) {
			return fmt.Errorf("source %d holds padding (id %d), which is no word", i+1, tokenize.Pad)
		}
		if n, most := constraints.Of[i].Words(), s.Longest(len(source)); len(source) > 0 && n > most {
			return fmt.Errorf("the constraints of source %d have %d symbols, and its translation has %d at most: "+
				"leave some out, or raise decode.max_length_b",
				i+1, n, most)
		}
		if len(source) == 0 {
			done(i, []Hypothesis{{}}, nil)
		}
	}
	return torch.Try(func() (err error) {
		torch.ScopedNoGrad(func() {
			for _, places := range batches(len(sources), s.options, length) {
				if err = s.batch(ctx, sources, places, constraints, done); err != nil {
					return
				}
			}
		})
		return err
	})
}

// Longest is the largest length of a translation of a source of n words, its end not counted.
func (s *Searcher) Longest(n int) int { return s.options.longest(n, s.decoder.Longest()) }

// batches sorts sentences, those of length 0 left out, by length, the longest first, and cuts them.
func batches(n int, o Options, length func(i int) int) (out [][]int) {
	var order []int
	for i := range n {
		if length(i) > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return length(b) - length(a) })
	for len(order) > 0 {
		n := min(len(order), o.BatchSentences, max(1, o.BatchTokens/length(order[0])))
		out, order = append(out, order[:n]), order[n:]
	}
	return out
}

// padded makes a batch of sources with their ends of sentence.
func padded(sources [][]int32, places []int) models.Tokens {
	t := models.Tokens{Rows: len(places)}
	for _, i := range places {
		t.Width = max(t.Width, len(sources[i])+1)
	}
	t.IDs = slices.Repeat([]int64{tokenize.Pad}, t.Rows*t.Width)
	for r, i := range places {
		for c, id := range append(slices.Clip(sources[i]), tokenize.EOS) {
			t.IDs[r*t.Width+c] = int64(id)
		}
	}
	return t
}

// batch translates the sources at these places.
func (s *Searcher) batch(
	ctx context.Context, sources [][]int32, places []int, constraints Constraints,
	done func(i int, best []Hypothesis, err error),
) (err error) {
	b := newBeams(sources, places, s.options, s.decoder.Longest(), constraints)
	start := torch.OpenScope()
	if s.options.Shortlist != nil {
		if b.short, err = s.shorten(sources, b); err != nil {
			start.Close()
			return err
		}
		defer b.short.free()
	}
	decoding := s.decoder.Start(padded(sources, places))
	start.Close()
	defer decoding.Free()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		step := torch.OpenScope()
		hidden, attention := decoding.Step(b.words(), s.options.aligned())
		candidates := s.candidates(b, hidden)
		if s.options.aligned() {
			b.align(attention.Float32s(), int(attention.Size(1)))
		}
		step.Close()
		before := len(b.rows)
		order, keep := b.advance(candidates, done)
		if len(order) == 0 {
			return nil
		}
		if !unchanged(order, keep, before) {
			reordering := torch.OpenScope()
			decoding.Reorder(order, keep)
			reordering.Close()
		}
	}
}
