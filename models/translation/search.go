package translation

import (
	"context"
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// sentence is a line as the search takes it.
type sentence struct {
	line    string
	ids     []int32
	symbols []string
	demand  demand
}

// empty is the translation of a sentence without words, which is not searched for: its prefix, where it has one.
func (s *sentence) empty(o decode.Options) (x Translation) {
	p := s.demand.prefix
	if p == nil {
		return x
	}
	x.Text, x.Tokenised = p.text, p.text
	if o.Words || o.Links {
		x.Details = &Details{Confidence: 1}
		for word := range strings.FieldsSeq(p.text) {
			x.Details.Words = append(x.Details.Words, Word{Text: word, Confidence: 1})
		}
	}
	return x
}

// found is a translation that the search has found, and what its words attend to where links are asked for.
type found struct {
	decode.Hypothesis
	seen decode.Attended
}

// written is a translation as text, and the log-probability of its symbols, of which the last is its end.
type written struct {
	Translation
	logProb float64
	symbols int
}

// checkOptions is an error where the output layer cannot give what the options ask for.
func (t *Translator) checkOptions(o decode.Options) error {
	if o.Words && t.Text.Vectors != nil {
		return ErrNoProbability
	}
	if _, _, ok := t.Output.SoftmaxHead(); o.Shortlist != nil && !ok {
		return decode.ErrNoShortlist
	}
	return nil
}

// search finds the translations of sentences that have words. It hands those of each to done as soon as it has them, or
// an error of the sentence's own. It computes on tensors and leaves text to write.
func (t *Translator) search(ctx context.Context, sentences []*sentence, o decode.Options,
	done func(i int, list []found, err error)) error {
	searcher, err := t.searcher(o)
	if err != nil {
		return err
	}
	if !t.opened {
		defer t.forget()
	}
	var sources [][]int32
	var demands []demand
	var places []int
	for i, s := range sentences {
		if n, most := s.demand.constraint().Words(), searcher.Longest(len(s.ids)); n > most {
			done(i, nil, fmt.Errorf("what its translation must hold has %d symbols, and a translation of it has %d at "+
				"most: leave terms out, or raise decode.max_length_b", n, most))
			continue
		}
		sources, demands, places = append(sources, s.ids), append(demands, s.demand), append(places, i)
	}
	all := make([][]found, len(sources))
	err = searcher.SearchEach(ctx, sources, t.constraints(demands), func(k int, best []decode.Hypothesis, err error) {
		for _, h := range best {
			all[k] = append(all[k], found{Hypothesis: h})
		}
		if !o.Links || err != nil {
			done(places[k], all[k], err)
		}
	})
	if err != nil || !o.Links {
		return err
	}
	var from, to [][]int32
	for k, list := range all {
		for _, x := range list {
			from, to = append(from, sources[k]), append(to, x.IDs)
		}
	}
	seen, err := searcher.Attend(ctx, from, to)
	if err != nil {
		return err
	}
	for k, list := range all {
		for i := range list {
			list[i].seen, seen = seen[0], seen[1:]
		}
		if len(list) > 0 { // else it has been told
			done(places[k], list, nil)
		}
	}
	return nil
}

// write gives what was found for a sentence as text. It leaves tensors alone, and may be called from any goroutine.
func (t *Translator) write(s *sentence, list []found, o decode.Options) (out []written) {
	for _, h := range list {
		text, tokens := t.compose(s.symbols, h.Hypothesis, s.demand, o)
		x := Translation{Text: text, Tokenised: joinTokens(tokens), Score: h.Score}
		if o.Words || o.Links {
			x.Details = t.details(text, tokens, h.Hypothesis)
		}
		if o.Links {
			t.link(s.line, s.symbols, h.seen, tokens, x.Details.Words)
		}
		out = append(out, written{x, h.LogProb, len(h.TokenLogProbs)})
	}
	return out
}

// searcher lays out the weights for search, or takes those of an earlier call in a translator whose weights stay.
func (t *Translator) searcher(o decode.Options) (s *decode.Searcher, err error) {
	if t.prepared != nil && t.preparedInt8 != o.Int8 {
		t.forget()
	}
	if t.prepared != nil {
		return t.prepared.With(o)
	}
	if s, err = decode.New(t.Network, t.scorer(), o); err == nil {
		t.prepared, t.preparedInt8 = s, o.Int8
	}
	return s, err
}

// forget frees what was laid out.
func (t *Translator) forget() {
	if t.prepared != nil {
		t.prepared.Free()
		t.prepared = nil
	}
}

func (t *Translator) scorer() decode.Scorer {
	if head, bias, ok := t.Output.SoftmaxHead(); ok {
		return decode.Softmax{Weight: head.Weight, Bias: bias, Map: head.Map}
	}
	if t.Text.Vectors != nil {
		return nearest{t.Output}
	}
	return t.Output
}

// nearest is an output layer that finds words by their vectors.
type nearest struct{ *objectives.Output }

func (n nearest) Nearest(hidden torch.Tensor, k int) (scores, ids torch.Tensor) {
	scores, ids, _ = n.Output.Nearest(hidden, k)
	return scores, ids
}
