package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/torch"
)

// The short list of the race: the words of every sentence, and those of each source word. shortPieces is how many
// pieces the text is cut into.
const (
	frequentWords = 100
	bestWords     = 50
	shortPieces   = 64
)

// shortlisted races our beam search with a short list of random words against the same search over the whole
// vocabulary, with the random weights of n. All translations have the largest length, so that both sides make the same
// number of steps.
func (n network) shortlisted(int8 bool) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		_, parts, err := b.testSentences(shortPieces, 0)
		if err != nil {
			return err
		}
		t, err := n.model("mle").build(r.device)
		if err != nil {
			return err
		}
		r.onClose(t.Free)
		o := decode.Defaults()
		o.Beam, o.Lenpen, o.MinLength, o.MaxLengthB, o.Int8 = beam, lenpen, maxLength, maxLength, int8
		head, bias, _ := t.Output.SoftmaxHead()
		whole, err := decode.New(t.Network, decode.Softmax{Weight: head.Weight, Bias: bias, Map: head.Map}, o)
		if err != nil {
			return err
		}
		r.onClose(whole.Free)
		o.Shortlist = n.shortlist()
		short, err := whole.With(o)
		if err != nil {
			return err
		}
		search := func(s *decode.Searcher) side {
			return r.here(nil, func(i int) error {
				_, err := s.Search(b.ctx, parts[i])
				return err
			})
		}
		r.ours, r.peer = search(short), search(whole)
		r.pieces, r.warm, r.measured = len(parts), 1, true
		r.amount = func(i int) float64 { return float64(len(parts[i])) }
		r.config = fmt.Sprintf("%s, list of %d words and %d for each of the source, %d threads", n.size(), frequentWords,
			bestWords, torch.Threads())
		return nil
	}
}

// shortlist draws words, one half as often as one that stands before it at half its place: what is frequent stands in
// the lists of many words.
func (n network) shortlist() *decode.Shortlist {
	random := rand.New(rand.NewPCG(1, 3))
	draw := func(count int) (ids []int32) {
		for range count {
			place := math.Pow(float64(n.vocabulary-4), random.Float64())
			ids = append(ids, 3+int32(place))
		}
		return ids
	}
	l := &decode.Shortlist{Always: draw(frequentWords), Of: make([][]int32, n.vocabulary)}
	for i := range l.Of {
		l.Of[i] = draw(bestWords)
	}
	return l
}
