package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// attentionalSize is how large a recurrent translator with attention is.
type attentionalSize struct {
	vocabulary, words, width int     // of either language; width of word vectors; of states
	layers                   int     // of either side
	vectors                  int     // components of target vectors
	spread                   float64 // weights start uniform between minus this and this
}

// The sizes of the translator that the von Mises-Fisher output layer was published on, as its authors' program has them, and a
// model for Multi30k.
var (
	publishedAttentional = attentionalSize{vocabulary: 50000, words: 512, width: 1024, layers: 2, vectors: 300, spread: 0.1}
	smallAttentional     = attentionalSize{vocabulary: 10000, words: 256, width: 512, layers: 2, spread: 0.2}
)

// Settings of every step of the recurrent translator, as published. There is no dropout.
const (
	attentionalRate = 5e-4
	attentionalClip = 5
	attentionalRows = 64 // sentences of a batch
	attentionalLong = 32 // words of a sentence, as fullBatches makes them
)

// build makes the network with weights of its own and its output layer: "vmf", whose target vectors are the decoder's input
// too, or "mle", a softmax beside which the decoder has word vectors of its own.
func (n attentionalSize) build(method string) (*translation.Translator, error) {
	return n.buildWith(n.settings(method, method == "vmf"), n.vocabulary)
}

// settings are those of the network with a method; where tied, the decoder reads words through what scores them.
func (n attentionalSize) settings(method string, tied bool) translation.Settings {
	c := translation.Defaults()
	c.Seed = 1
	c.Model.Kind, c.Model.Width, c.Model.WordWidth, c.Model.Dropout, c.Model.Tying = "attentional", n.width, n.words, 0, "none"
	if tied {
		c.Model.Tying = "decoder"
	}
	c.Model.EncoderLayers, c.Model.DecoderLayers, c.Model.InitialRange = n.layers, n.layers, n.spread
	c.Objective.Set("method", method, "label_smoothing", 0, "bias", true)
	return c
}

// buildWith makes the network with settings, for so many words or pieces of the target. Its words, and their vectors where
// the method aims at such, mean nothing.
func (n attentionalSize) buildWith(c translation.Settings, targets int) (*translation.Translator, error) {
	pair := &bitext.Pair{Source: wordless(n.vocabulary), Target: wordless(targets)}
	if method, err := c.Objective.Resolve(); err == nil && method.WordTargets {
		scope := torch.OpenScope()
		rows := torch.NewStream(1, "vectors").Normal(0, 1, torch.Float32, torch.CPU, int64(targets*n.vectors)).Float32s()
		scope.Close()
		pair.Vectors = &vectors.Table{Width: n.vectors, Rows: rows}
	}
	return translation.New(c, pair, torch.CPU)
}

// wordless is a side of a translation with so many words, the special ones among them.
func wordless(vocabulary int) *bitext.Side {
	words := map[string]int{}
	for i := range vocabulary - 4 { // the special tokens come first
		words[fmt.Sprintf("word%06d", i)] = 1
	}
	return &bitext.Side{Vocabulary: tokenize.NewVocabulary(words, tokenize.VocabularyOptions{PaddingFactor: 1})}
}

// trainer makes training steps of the translator: the loss is summed over words and divided by sentences.
func (n attentionalSize) trainer(r *race, method string, batches []*corpus.Batch) (*trainer, error) {
	built, err := n.build(method)
	if err != nil {
		return nil, err
	}
	return trainAttentional(r, built, batches), nil
}

func trainAttentional(r *race, built *translation.Translator, batches []*corpus.Batch) *trainer {
	return newTrainerOf(r, built, batches, updater{rate: attentionalRate, clip: attentionalClip, sentences: true},
		torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
}

// race races whole updates of the translator with the method against the same network with a softmax in plain PyTorch, in
// words or sentences per second.
func (n attentionalSize) race(b *bench, method string, amount func(batch *corpus.Batch) int) (r *race, err error) {
	batches, err := fullBatches(b, network{vocabulary: n.vocabulary, tokens: attentionalRows * attentionalLong})
	if err != nil {
		return nil, err
	}
	r = &race{pieces: len(batches), warm: 2, measured: true, amount: func(i int) float64 { return float64(amount(batches[i])) },
		config: fmt.Sprintf("B=%d S=T=%d E=%d D=%d V=%d M=%d", attentionalRows, attentionalLong, n.words, n.width, n.vocabulary, n.vectors)}
	defer r.closeOn(&err)
	ours, err := n.trainer(r, method, batches)
	if err != nil {
		return r, err
	}
	r.ours, r.operations = ours.contender(), ours.operations
	small, want, err := b.checkedAttentional()
	if err != nil {
		return r, err
	}
	file, err := b.writeBatches("attentional", batches)
	if err != nil {
		return r, err
	}
	config := n.config()
	config["batches"], config["clip"], config["learning_rate"], config["small"] = file, attentionalClip, attentionalRate, small
	peer, err := b.startJSONPeer(r, "PyTorch", "attentional_step.py", config)
	if err != nil {
		return r, err
	}
	r.peer = peer
	if err := want.compare(gradients{peer.ready.Loss, peer.ready.Gradients}); err != nil {
		return r, err
	}
	head := int64(n.vocabulary * (n.width + 1 + n.words))
	if got, want := body(ours.Params), peer.ready.Params-head; got != want {
		return r, fmt.Errorf("attentional_step.py: without its softmax the peer's network has %d parameters and ours %d: they are not the same", want, got)
	}
	return r, nil
}

// body counts the parameters of all but the output layer and the decoder's word vectors.
func body(p *torch.Params) (n int64) {
	for name, x := range p.Map() {
		if !strings.HasPrefix(name, "decoder.output_projection.") && !strings.HasPrefix(name, "decoder.embed_tokens.") {
			n += x.Count()
		}
	}
	return n
}

// config is a size in the peer's words.
func (n attentionalSize) config() map[string]any {
	return map[string]any{"vocab": n.vocabulary, "words": n.words, "width": n.width, "layers": n.layers}
}

// raggedBatches is a batch whose sentences have several lengths, down to the end alone.
func raggedBatches() []*corpus.Batch {
	return corpus.EvaluationBatches(corpus.List{
		{Source: []int32{5, 9, 30, 4, 11}, Target: []int32{7, 7, 12}}, {Source: []int32{22}, Target: []int32{8, 31, 39, 6, 25}},
		{Source: []int32{}, Target: []int32{}}, {Source: []int32{13, 35, 20}, Target: []int32{14, 10}},
	}, 1000, 0)
}

// checkedAttentional writes a small network with a softmax, which both sides can build, and
// tells what it gives on the ragged batch; small is what the peer needs for it.
func (b *bench) checkedAttentional() (small map[string]any, want gradients, err error) {
	n := attentionalSize{vocabulary: 40, words: 6, width: 8, layers: 2, spread: 0.1}
	batches := raggedBatches()
	r := &race{}
	defer r.close()
	t, err := n.trainer(r, "mle", batches)
	if err != nil {
		return nil, want, err
	}
	file, err := b.writeBatches("attentional-small", batches)
	if err != nil {
		return nil, want, err
	}
	weights := filepath.Join(b.folder, "attentional-small.safetensors")
	if err := writeTensors(weights, t.Params.Map()); err != nil {
		return nil, want, err
	}
	small = n.config()
	small["batches"], small["weights"] = file, weights
	want.loss = t.collect(0) * float64(batches[0].Rows) / float64(batches[0].Tokens)
	want.norms = t.norms()
	return small, want, nil
}

// translating races beam search over the test text of Multi30k with random weights.
func (n attentionalSize) translating(b *bench) (*race, error) {
	return b.searching(func() (*translation.Translator, error) { return n.build("mle") }, searchPeer{name: "PyTorch", program: "attentional_beam.py"}, ends{"decoder.output_projection.weight", 5, 0}, n.config())
}

// amounts of work in a batch.
func sentencesOf(batch *corpus.Batch) int { return batch.Rows }
func tokensOf(batch *corpus.Batch) int    { return batch.Tokens }
