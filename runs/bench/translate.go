package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/aperture-ml/aperture/models/decode"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Settings of the race in translating. The longest translation is the same for
// all sentences, because a limit in terms of the source's length is counted with
// padding by the peer and without by us.
const (
	beam      = 5
	lenpen    = 1
	maxLength = 40
	// The sums of the two sides round differently, which may turn a close decision.
	leastEqual = 0.95
)

// translating races beam search over the test text of Multi30k, with the random
// weights of n.
func (b *bench) translating(n network) (*race, error) {
	return b.searching(func() (*translation.Translator, error) { return n.build("mle") }, "translate_beam.py", ends{"decoder.embed_tokens.weight", 2.5}, map[string]any{"heads": n.heads})
}

// ends makes sentences end. With random weights an end of sentence is one word of many, and
// no sentence would end before the limit. Its vector in the matrix output is made longer by
// the factor, so that its scores spread as much wider and it comes first now and then.
type ends struct {
	output string
	factor float32
}

// searching races beam search over the test text of Multi30k with a translator's random
// weights against the peer's program, which config tells the sizes.
func (b *bench) searching(build func() (*translation.Translator, error), program string, e ends, config map[string]any) (r *race, err error) {
	m, err := b.multi30k()
	if err != nil {
		return nil, err
	}
	test, err := corpus.ReadLines(m.raw("test_2016_flickr.en"), "APERTURE_DATA")
	if err != nil {
		return nil, err
	}
	sources := make([][]int32, len(test.Lines))
	withEnds := make([][]int32, len(test.Lines))
	for i, line := range test.Lines {
		sources[i] = m.pair.Source.Encode(line)
		withEnds[i] = append(slices.Clone(sources[i]), tokenize.EOS)
	}
	r = &race{pieces: 1, warm: 1, measured: true, amount: func(int) float64 { return float64(len(sources)) }}
	defer r.closeOn(&err)
	t, err := build()
	if err != nil {
		return nil, err
	}
	r.onClose(t.Free)
	weights, err := b.writeModel(t, e)
	if err != nil {
		return nil, err
	}
	file, err := b.writeSources(withEnds)
	if err != nil {
		return nil, err
	}
	o := decode.Defaults()
	o.BatchSentences = 128
	o.Beam, o.Lenpen, o.MaxLengthA, o.MaxLengthB = beam, lenpen, 0, maxLength
	head, bias, _ := t.Output.SoftmaxHead()
	scorer := decode.Softmax{Weight: head.Weight, Bias: bias, Map: head.Map}
	var ours [][]decode.Hypothesis
	r.ours = here{work: func(int) (err error) {
		ours, err = decode.Search(context.Background(), t.Network, scorer, sources, o)
		return err
	}}
	maps.Copy(config, map[string]any{"model": weights, "sentences": file, "beam": beam, "lenpen": lenpen, "max_len_a": 0, "max_len_b": maxLength})
	peer, err := b.startJSONPeer(r, "PyTorch", program, config)
	if err != nil {
		return nil, err
	}
	r.peer = peer
	r.check = func() error { return b.sameTranslations(ours, peer.last.Hypotheses) }
	return r, nil
}

// sameTranslations checks that both sides found the same. Nearly all is enough;
// fewer are an error, since the sides did not do the same work.
func (b *bench) sameTranslations(ours [][]decode.Hypothesis, peer [][]int32) error {
	same, words := 0, 0
	for i, found := range ours {
		if len(found) > 0 && i < len(peer) && slices.Equal(found[0].IDs, peer[i]) {
			same++
		}
		if len(found) > 0 {
			words += len(found[0].IDs)
		}
	}
	if float64(same) < leastEqual*float64(len(ours)) || len(peer) != len(ours) {
		return fmt.Errorf("the peer found %d translations, %d of them equal to our %d: the two did not do the same work", len(peer), same, len(ours))
	}
	fmt.Fprintf(b.log, "translate: %d of %d translations are the peer's, of %.1f words on average\n", same, len(ours), float64(words)/float64(len(ours)))
	return nil
}

// writeModel lengthens the vector of the end of sentence and writes the weights
// for the peer.
func (b *bench) writeModel(t *translation.Translator, e ends) (string, error) {
	scope := torch.OpenScope()
	defer scope.Close()
	table := t.Params.Get(e.output)
	factors := slices.Repeat([]float32{1}, int(table.Size(0)))
	factors[tokenize.EOS] = e.factor
	table.Assign(table.Detach().Mul(torch.FromFloat32s(factors, torch.CPU, table.Size(0), 1)))
	path := filepath.Join(b.folder, "model.safetensors")
	return path, writeTensors(path, t.Params.Map())
}

func (b *bench) writeSources(sources [][]int32) (string, error) {
	data, err := json.Marshal(sources)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, "sources.json")
	return path, os.WriteFile(path, data, 0o666)
}
