package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// translatorSize is how large the recurrent translator of the rows of layers is.
type translatorSize struct {
	source        int // symbols of the source's vocabulary
	words, pieces int // symbols of a target's vocabulary of words, and of one of byte-pair pieces
	embedding     int // width of a word vector
	width, layers int // of states; LSTM layers of either side
	vectors       int // components of target vectors
	rows          int // sentences of a batch
}

// publishedTranslator has the sizes of Kumar and Tsvetkov (2019), table 4.
var publishedTranslator = translatorSize{source: 50000, words: 50000, pieces: 16000, embedding: 512, width: 1024, layers: 2, vectors: 300, rows: attentionalRows}

// outputLayer is a row of that table: how the decoder writes words, and reads them.
type outputLayer struct {
	name         string // of the row
	output, loss string // as the table has them
	method       string
	tied         bool // whether the decoder reads its words through the vectors that it aims at
	pieces       bool // whether it writes pieces rather than words
}

var outputLayers = []outputLayer{
	{"word", "word", "CE", "mle", false, false},
	{"bpe", "BPE", "CE", "mle", false, true},
	{"l2", "emb", "L2", "l2", false, false},
	{"cosine", "emb", "cosine", "cosine", false, false},
	{"maxmargin", "emb", "max-margin", "maxmargin", false, false},
	{"maxmargin-tied", "emb", "max-margin", "maxmargin", true, false},
	{"vmf", "emb", "NLLvMF", "vmf", false, false},
	{"vmf-tied", "emb", "NLLvMF", "vmf", true, false},
}

// layerRows are whole training steps of the recurrent translator with each output layer, ours alone: table 4 of the paper, and
// the batch sweep of its figure 1.
var layerRows = append(costRows(), sweepRows()...)

func costRows() (rows []row) {
	for _, l := range outputLayers {
		rows = append(rows, row{"layers/" + l.name, "sentences_per_s", func(b *bench) (*race, error) { return publishedTranslator.cost(b, l) }})
	}
	return rows
}

func sweepRows() (rows []row) {
	for _, l := range outputLayers {
		if l.name == "word" || l.name == "bpe" || l.name == "vmf-tied" {
			rows = append(rows, row{"sweep/" + l.name, "sentences_per_s", func(b *bench) (*race, error) { return publishedTranslator.sweep(b, l) }})
		}
	}
	return rows
}

// layerCost is what an output layer costs.
type layerCost struct {
	Output string `json:"output"`
	Tied   bool   `json:"tied"`
	Loss   string `json:"loss"`
	// Trained matrices of the decoder's input and of the output layer; biases are apart.
	InputParameters  int64 `json:"input_parameters"`
	OutputParameters int64 `json:"output_parameters"`
	Biases           int64 `json:"biases"` // of both

	MsPerBatch float64      `json:"ms_per_batch,omitempty"`
	Sweep      []batchSpeed `json:"sweep,omitempty"` // instead of it
}

// batchSpeed is how many sentences a second a batch of a size gives.
type batchSpeed struct {
	Rows    int     `json:"rows"`
	PerS    float64 `json:"sentences_per_s"`
	LeftOut bool    `json:"left_out,omitempty"` // there was not enough memory
}

// settings are the translator's with one output layer, as in the paper: no dropout, no smoothing, and no normalisation of the map.
func (n translatorSize) settings(l outputLayer) translation.Settings {
	s := translation.Defaults()
	s.Seed = 1
	s.Model.Kind, s.Model.WordWidth, s.Model.Width = "attentional", n.embedding, n.width
	s.Model.EncoderLayers, s.Model.DecoderLayers, s.Model.Dropout = n.layers, n.layers, 0
	s.Model.Tying = "none"
	if l.tied {
		s.Model.Tying = "decoder"
	}
	s.Objective.Settings = unsmoothed()
	s.Objective.Method, s.Objective.Bias, s.Objective.MapNorm = l.method, true, false
	return s
}

// build makes the translator with one output layer. All read the same sources; what words there are, and what vectors they
// have, means nothing.
func (n translatorSize) build(l outputLayer) (*translation.Translator, error) {
	pair := &translation.Pair{Source: countedWords(n.source), Target: countedWords(n.words)}
	if l.pieces {
		pair.Target = countedWords(n.pieces)
	}
	if l.method != "mle" {
		random := rand.New(rand.NewPCG(1, 2))
		pair.Vectors = &vectors.Table{Width: n.vectors, Rows: make([]float32, n.words*n.vectors)}
		for i := range pair.Vectors.Rows {
			pair.Vectors.Rows[i] = float32(random.NormFloat64())
		}
	}
	return translation.New(n.settings(l), pair, torch.CPU)
}

func (n translatorSize) trainer(r *race, l outputLayer) (*layerTrainer, error) {
	made, err := n.build(l)
	if err != nil {
		return nil, err
	}
	t := &layerTrainer{Translator: made, updater: updater{params: made.Params, output: made.Output, rate: attentionalRate, clip: attentionalClip}}
	r.onClose(func() {
		t.updater.free()
		made.Free()
	})
	t.useAdam(torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
	return t, nil
}

// layerTrainer makes training steps as published: the loss is summed over words and divided by sentences.
type layerTrainer struct {
	*translation.Translator
	updater
}

// update trains on a batch.

func (t *layerTrainer) update(batch *corpus.Batch) {
	step := torch.OpenScope()
	states, targets := t.Forward(batch, nil)
	loss, nll := t.Output.Loss(states, targets, 1/float64(batch.Rows))
	loss.Backward()
	nll.Sum().Item()
	step.Close()
	t.apply()
}

// parameters counts those of an output layer and of the decoder's input, as the table does.
func (l outputLayer) parameters(t *translation.Translator) *layerCost {
	c := &layerCost{Output: l.output, Tied: l.tied, Loss: l.loss}
	for name, x := range t.Params.Map() {
		to := &c.Biases
		input, output := strings.HasPrefix(name, "decoder.embed_tokens."), strings.HasPrefix(name, "decoder.output_projection.")
		switch {
		case !input && !output:
			continue
		case len(x.Shape()) > 1 && input:
			to = &c.InputParameters
		case len(x.Shape()) > 1:
			to = &c.OutputParameters
		}
		*to += x.Count()
	}
	return c
}

// batch is one of so many sentences, all of them full.
func (n translatorSize) batch(b *bench, l outputLayer, rows int) (*corpus.Batch, error) {
	vocabulary := n.words
	if l.pieces {
		vocabulary = n.pieces
	}
	all, err := fullBatches(b, network{vocabulary: vocabulary, tokens: rows * attentionalLong})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// layerSteps is how many steps the median of a row of layers is of.
const layerSteps = 3

// cost measures a row of table 4.
func (n translatorSize) cost(b *bench, l outputLayer) (r *race, err error) {
	r = &race{}
	defer r.closeOn(&err)
	t, err := n.trainer(r, l)
	if err != nil {
		return r, err
	}
	r.alone = func(ctx context.Context) (result, error) {
		speed, err := t.speed(ctx, b, n, l, n.rows, layerSteps)
		if err != nil {
			return result{}, err
		}
		c := l.parameters(t.Translator)
		c.MsPerBatch = 1000 * float64(n.rows) / speed
		return result{Ours: speed, Layer: c, Config: n.describe(n.rows)}, nil
	}
	return r, nil
}

// speed is the median of the sentences a second of some steps, after one that is not counted.
func (t *layerTrainer) speed(ctx context.Context, b *bench, n translatorSize, l outputLayer, rows, steps int) (float64, error) {
	batch, err := n.batch(b, l, rows)
	if err != nil {
		return 0, err
	}
	work := here{work: func(int) error {
		t.update(batch)
		return context.Cause(ctx)
	}}
	var speeds []float64
	for i := range steps + 1 {
		seconds, err := work.step(0)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			speeds = append(speeds, float64(rows)/seconds)
		}
	}
	return median(speeds), nil
}

// describe says what a batch of so many sentences is.
func (n translatorSize) describe(rows int) string {
	return fmt.Sprintf("B=%d S=T=%d E=%d D=%d layers=%d+%d V=%d/%d M=%d", rows, attentionalLong, n.embedding, n.width, n.layers, n.layers, n.words, n.pieces, n.vectors)
}

// countedWords is a side of a translation with so many symbols, which mean nothing.
func countedWords(symbols int) *translation.Side {
	words := map[string]int{}
	for i := range symbols - 4 { // the special tokens come first
		words[fmt.Sprintf("word%06d", i)] = 1
	}
	return &translation.Side{Vocabulary: tokenize.NewVocabulary(words, tokenize.VocabularyOptions{PaddingFactor: 1})}
}
