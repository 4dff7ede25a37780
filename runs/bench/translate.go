package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Settings of the race in translating. The longest translation is the same for all sentences, because a limit in terms
// of the source's length is counted with padding by the peer and without by us.
const (
	beam      = 5
	lenpen    = 1
	maxLength = 40
	// The sums of the two sides round differently, which may turn a close decision.
	leastEqual = 0.95
	// Eight bits turn many more, so that only the amount of work is compared.
	mostWork = 1.1
)

// search is a race in translating.
type search struct {
	name, program string // of the peer, which searches with our weights
	config        map[string]any
	ends
	int8  bool // whether both sides compute with eight bits
	parts int  // pieces of the text; of 4, the first has sentences 1, 5, 9 ...
	most  int  // sentences of the text that are taken; 0 for all
	alone bool // whether each sentence is translated by itself, and the time that it takes is shown
}

// translating races beam search over the test text of Multi30k with the random weights of n against plain PyTorch, or
// against CTranslate2 where compute says in what it computes, float32 or int8. parts is above 1 for a network of which
// pairs of whole texts take too long.
func (n network) translating(compute string, parts int) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		s := search{name: "PyTorch", program: "translate_beam.py", config: map[string]any{"heads": n.heads},
			ends: ends{"decoder.embed_tokens.weight", 2.5, 0}, parts: parts}
		if compute != "" {
			var err error
			if s, err = n.besideCTranslate2(r, compute, parts); err != nil {
				return err
			}
		}
		r.config = n.size()
		return b.searching(r, n.model("mle"), s)
	}
}

// translatingAlone is translating against CTranslate2 with each sentence by itself, as a user waits for one. A pair
// takes 20 of the first sentences.
func (n network) translatingAlone(compute string, most int) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		s, err := n.besideCTranslate2(r, compute, most/20)
		if err != nil {
			return err
		}
		s.most, s.alone, s.config["alone"] = most, true, true
		r.config = n.size()
		return b.searching(r, n.model("mle"), s)
	}
}

func (n network) besideCTranslate2(r *race, compute string, parts int) (search, error) {
	if !r.onHost() {
		return search{}, errors.New("CTranslate2 is raced on the CPU alone: leave out -device, or name other rows " +
			"with -only")
	}
	return search{name: "CTranslate2", program: "translate_ctranslate2.py",
		config: map[string]any{"heads": n.heads, "compute": compute, "pieces": parts},
		ends:   ends{"decoder.embed_tokens.weight", 1, 4}, int8: compute == "int8", parts: parts}, nil
}

// ends makes sentences end. With random weights an end of sentence is one word of many, and no sentence would end
// before the limit. Its vector in the matrix output is made longer by the factor, so that its scores spread wider and
// it comes first now and then.
//
// That makes some sentences end, and the limit most. CTranslate2 counts no end of sentence at the limit, which would
// choose other hypotheses there. Against it the vector is lifted instead: the mean of the decoder's states is added, so
// that an end's score is higher by lift on average, and sentences end at all lengths.
type ends struct {
	output       string
	factor, lift float32
}

// searching races beam search over the test text of Multi30k with a translator's random weights against a program.
// Weights are laid out once, before: both sides keep them from one text to the next.
func (b *bench) searching(r *race, m translator, s search) error {
	sources, parts, err := b.testSentences(s.parts, s.most)
	if err != nil {
		return err
	}
	var withEnds [][]int32
	for _, source := range sources {
		withEnds = append(withEnds, append(slices.Clone(source), tokenize.EOS))
	}
	t, err := m.build(r.device)
	if err != nil {
		return err
	}
	r.onClose(t.Free)
	s.ends.make(t, sources[:min(len(sources), 64)])
	weights, err := b.writeTensors("model", t.Params)
	if err != nil {
		return err
	}
	o := decode.Defaults()
	o.BatchSentences = 128
	o.Beam, o.Lenpen, o.MaxLengthA, o.MaxLengthB, o.Int8 = beam, lenpen, 0, maxLength, s.int8
	head, bias, _ := t.Output.SoftmaxHead()
	searcher, err := decode.New(t.Network, decode.Softmax{Weight: head.Weight, Bias: bias, Map: head.Map}, o)
	if err != nil {
		return err
	}
	r.onClose(searcher.Free)
	r.pieces, r.warm, r.measured = len(parts), len(parts), true
	r.amount = func(i int) float64 { return float64(len(parts[i])) }
	ours, theirs := make([][][]decode.Hypothesis, len(parts)), make([][][]int32, len(parts))
	var waits, theirWaits []float64
	r.ours = r.here(nil, func(i int) (err error) {
		if s.alone {
			ours[i], err = b.searchAlone(searcher, parts[i], &waits)
			return err
		}
		ours[i], err = searcher.Search(b.ctx, parts[i])
		return err
	})
	maps.Copy(s.config, map[string]any{"model": weights, "sentences": withEnds,
		"beam": beam, "lenpen": lenpen, "max_len_a": 0, "max_len_b": maxLength})
	peer, err := b.startPeer(r, s.name, s.program, s.config)
	if err != nil {
		return err
	}
	r.peer.step = func(i int) (float64, error) {
		seconds, err := peer.step(i)
		theirs[i], theirWaits = peer.last.Hypotheses, append(theirWaits, peer.last.Waits...)
		return seconds, err
	}
	r.check = func() error {
		waits, theirWaits = nil, nil // those of the warm-up
		return b.sameTranslations(slices.Concat(ours...), slices.Concat(theirs...), s.int8)
	}
	if s.alone {
		r.remark = func() string { return "ours " + percentiles(waits) + ", the peer's " + percentiles(theirWaits) }
	}
	return nil
}

// searchAlone translates sentences one by one, and appends the seconds of each to waits.
func (b *bench) searchAlone(s *decode.Searcher, sentences [][]int32, waits *[]float64) ([][]decode.Hypothesis, error) {
	var all [][]decode.Hypothesis
	for _, sentence := range sentences {
		start := time.Now()
		found, err := s.Search(b.ctx, [][]int32{sentence})
		if err != nil {
			return nil, err
		}
		*waits, all = append(*waits, time.Since(start).Seconds()), append(all, found...)
	}
	return all, nil
}

// percentiles are the 50th and the 99th of at least one time in seconds.
func percentiles(seconds []float64) string {
	slices.Sort(seconds)
	at := func(p float64) float64 { return 1000 * stat.Quantile(p, stat.Empirical, seconds, nil) }
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", at(0.5), at(0.99))
}

// testSentences are those of the test text of Multi30k, the first ones where most is not 0, and the same in n parts.
func (b *bench) testSentences(n, most int) (all [][]int32, parts [][][]int32, err error) {
	text, err := b.multi30k()
	if err != nil {
		return nil, nil, err
	}
	test, err := corpus.LineSettings{}.ReadLines(filepath.Join(text.folder, "test_2016_flickr.en"), "APERTURE_DATA")
	if err != nil {
		return nil, nil, err
	}
	parts = make([][][]int32, n)
	if most > 0 {
		test.Lines = test.Lines[:min(most, len(test.Lines))]
	}
	for i, line := range test.Lines {
		source := text.pair.Source.Encode(line)
		all, parts[i%n] = append(all, source), append(parts[i%n], source)
	}
	return all, parts, nil
}

// sameTranslations checks that both sides found the same. Nearly all is enough; fewer are an error, since the sides did
// not do the same work. Rough arithmetic has to give about the same number of words.
func (b *bench) sameTranslations(ours [][]decode.Hypothesis, peer [][]int32, rough bool) error {
	same, words, theirs := 0, 0, 0
	for _, ids := range peer {
		theirs += len(ids)
	}
	for i, found := range ours {
		if len(found) > 0 && i < len(peer) && slices.Equal(found[0].IDs, peer[i]) {
			same++
		}
		if len(found) > 0 {
			words += len(found[0].IDs)
		}
	}
	close := float64(same) >= leastEqual*float64(len(ours))
	if rough {
		close = float64(words) <= mostWork*float64(theirs) && float64(theirs) <= mostWork*float64(words)
	}
	if !close || len(peer) != len(ours) {
		return fmt.Errorf("the peer found %d translations of %d words, %d of them equal to our %d of %d words: "+
			"the two did not do the same work", len(peer), theirs, same, len(ours), words)
	}
	fmt.Fprintf(b.log, "translate: %d of %d translations are the peer's, of %.1f words on average\n",
		same, len(ours), float64(words)/float64(len(ours)))
	return nil
}

// make changes the vector of the end of sentence.
func (e ends) make(t *translation.Translator, sources [][]int32) {
	scope := torch.OpenScope()
	defer scope.Close()
	table := t.Params.Get(e.output)
	rows, width := table.Detach().Float32s(), int(table.Size(1))
	vector := rows[tokenize.EOS*width:][:width]
	lift := make([]float32, width)
	if e.lift != 0 {
		lift = liftOf(t, sources)
	}
	for i := range vector {
		vector[i] = e.factor*vector[i] + e.lift*lift[i]
	}
	table.Assign(torch.FromFloat32s(rows, table.Device(), table.Shape()...))
}

// liftOf is a vector whose product with the decoder's states is 1 on average: their mean over its square. The states
// are those of sentences that are their own translations.
func liftOf(t *translation.Translator, sources [][]int32) []float32 {
	var pairs corpus.List
	for _, s := range sources {
		pairs = append(pairs, corpus.Pair{Source: s, Target: s})
	}
	var mean []float32
	torch.NoGrad(func() {
		states, _ := t.Forward(corpus.EvaluationBatches(pairs, 1<<16, 0)[0], nil)
		mean = states.Hidden.MeanDim(0, false).Float32s()
	})
	square := float32(0)
	for _, x := range mean {
		square += x * x
	}
	for i := range mean {
		mean[i] /= square
	}
	return mean
}
