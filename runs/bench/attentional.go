package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
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

// The sizes of the translator that the von Mises-Fisher output layer was published on, as its authors' program has
// them, and a model for Multi30k.
var (
	publishedAttentional = attentionalSize{50000, 512, 1024, 2, 300, 0.1}
	smallAttentional     = attentionalSize{10000, 256, 512, 2, 0, 0.2}
)

// Settings of every step of the recurrent translator, as published. There is no dropout.
const (
	attentionalRate = 5e-4
	attentionalClip = 5
	attentionalRows = 64 // sentences of a batch
	attentionalLong = 32 // words of a sentence, as fullBatches makes them
)

// outputLayer is how the decoder writes words, and reads them.
type outputLayer struct {
	name, method string
	tied         bool // whether the decoder reads words through the vectors that it aims at
	targets      int  // words or pieces to write; 0: the vocabulary
}

var (
	wordSoftmax = outputLayer{"word", "mle", false, 0}
	tiedVMF     = outputLayer{"vmf-tied", "vmf", true, 0}

	outputLayers = []outputLayer{
		wordSoftmax,
		{"bpe", "mle", false, 16000},
		{"l2", "l2", false, 0},
		{"cosine", "cosine", false, 0},
		{"maxmargin", "maxmargin", false, 0},
		{"maxmargin-tied", "maxmargin", true, 0},
		{"vmf", "vmf", false, 0},
		tiedVMF,
	}
)

// layerRows are table 4 of Kumar and Tsvetkov (2019): what an output layer costs beside the softmax over words, which
// is raced with itself to show how far ratios are chance.
func layerRows() (rows []row) {
	for _, l := range outputLayers {
		rows = append(rows, row{"layers/" + l.name, "sentences_per_s", publishedAttentional.layer(l)})
	}
	return rows
}

// layer races whole updates with an output layer against those with a softmax over words. As in the table the map to
// the vectors is not normalised, and a sentence of pieces is no longer than one of words, so that the gain of
// pieces is their smaller softmax alone.
func (n attentionalSize) layer(l outputLayer) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		batches, err := n.batches(min(l.targets, n.vocabulary))
		if err != nil {
			return err
		}
		softmax := n.model(wordSoftmax)
		ours, err := n.model(l, "map_norm", false).train(r, batches, sentencesOf, &softmax)
		if err != nil {
			return err
		}
		input, output := layerParameters(ours.params)
		r.config = fmt.Sprintf("%s; parameters of the decoder's input %d, of the output layer %d", n.size(), input,
			output)
		return nil
	}
}

// layerParameters counts the trained matrices of the decoder's input and of the output layer, without biases.
func layerParameters(p *torch.Params) (input, output int64) {
	for name, x := range p.Map() {
		switch {
		case len(x.Shape()) < 2:
		case strings.HasPrefix(name, "decoder.embed_tokens."):
			input += x.Count()
		case strings.HasPrefix(name, "decoder.output_projection."):
			output += x.Count()
		}
	}
	return input, output
}

// batches are full ones of words below a number; 0 stands for the whole vocabulary.
func (n attentionalSize) batches(words int) ([]*corpus.Batch, error) {
	return fullBatches(nil, network{vocabulary: cmp.Or(words, n.vocabulary), tokens: attentionalRows * attentionalLong})
}

// size is that of the work, for the reader.
func (n attentionalSize) size() string {
	return fmt.Sprintf("B=%d S=T=%d E=%d D=%d V=%d M=%d", attentionalRows, attentionalLong, n.words, n.width,
		n.vocabulary, n.vectors)
}

// model gives the network an output layer, with changes of its settings. As published, the loss is summed over words
// and divided by sentences.
func (n attentionalSize) model(l outputLayer, changes ...any) translator {
	c := translation.Defaults()
	c.Seed = 1
	c.Model.Kind, c.Model.Width, c.Model.WordWidth, c.Model.Dropout = "attentional", n.width, n.words, 0
	if c.Model.Tying = "none"; l.tied {
		c.Model.Tying = "decoder"
	}
	c.Model.EncoderLayers, c.Model.DecoderLayers, c.Model.InitialRange = n.layers, n.layers, n.spread
	c.Objective.Set("method", l.method, "label_smoothing", 0, "bias", true)
	c.Objective.Set(changes...)
	return translator{settings: c, source: n.vocabulary, target: cmp.Or(l.targets, n.vocabulary), vectors: n.vectors,
		rate: attentionalRate, clip: attentionalClip, beta2: 0.999, perSentence: true}
}

// race races whole updates of the translator against the same network with a softmax in plain PyTorch, in words or
// sentences per second.
func (n attentionalSize) race(l outputLayer, amount func(*corpus.Batch) int) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		batches, err := n.batches(0)
		if err != nil {
			return err
		}
		small, want, err := b.checkedAttentional()
		if err != nil {
			return err
		}
		ours, err := n.model(l).train(r, batches, amount, nil)
		if err != nil {
			return err
		}
		r.config = n.size()
		config := n.config(batches)
		config["clip"], config["learning_rate"], config["small"] = attentionalClip, attentionalRate, small
		peer, err := b.startPeer(r, "PyTorch", "attentional_step.py", config)
		if err != nil {
			return err
		}
		if err := want.compare(peer.ready); err != nil {
			return err
		}
		head := int64(n.vocabulary * (n.width + 1 + n.words))
		if got, want := body(ours.params), peer.ready.Params-head; got != want {
			return fmt.Errorf("attentional_step.py: without its softmax the peer's network has %d parameters "+
				"and ours %d: they are not the same", want, got)
		}
		return nil
	}
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

// config gives the peers a size, and batches where they train.
func (n attentionalSize) config(batches []*corpus.Batch) map[string]any {
	c := map[string]any{"vocab": n.vocabulary, "words": n.words, "width": n.width, "layers": n.layers}
	if batches != nil {
		c["batches"] = readable(batches)
	}
	return c
}

// raggedBatches is a batch whose sentences have several lengths, down to the end alone.
func raggedBatches() []*corpus.Batch {
	return corpus.EvaluationBatches(corpus.List{
		{Source: []int32{5, 9, 30, 4, 11}, Target: []int32{7, 7, 12}},
		{Source: []int32{22}, Target: []int32{8, 31, 39, 6, 25}},
		{Source: []int32{}, Target: []int32{}},
		{Source: []int32{13, 35, 20}, Target: []int32{14, 10}},
	}, 1000, 0)
}

// checkedAttentional gives what a small network with a softmax, which both sides can build, makes of the ragged batch;
// small is what the peer needs for it.
func (b *bench) checkedAttentional() (small map[string]any, want gradients, err error) {
	n := attentionalSize{vocabulary: 40, words: 6, width: 8, layers: 2, spread: 0.1}
	batches := raggedBatches()
	r := &race{device: b.device}
	defer r.close()
	t, err := n.model(wordSoftmax).trainer(r, batches)
	if err != nil {
		return nil, want, err
	}
	small = n.config(batches)
	if small["weights"], err = b.writeTensors("attentional-small", t.params); err != nil {
		return nil, want, err
	}
	loss := t.collect(0) * float64(batches[0].Rows) / float64(batches[0].Tokens)
	return small, t.gradients(loss), nil
}

// translating races beam search over the test text of Multi30k with random weights.
func (n attentionalSize) translating(b *bench, r *race) error {
	return b.searching(r, n.model(wordSoftmax), search{name: "PyTorch", program: "attentional_beam.py",
		config: n.config(nil), ends: ends{"decoder.output_projection.weight", 5, 0}, parts: 1})
}
