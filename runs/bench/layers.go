package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
)

// table4Size is how large the translators of table 4 of Kumar and Tsvetkov (2019) are.
type table4Size struct {
	attentionalSize     // whose vocabulary is that of words, on either side
	pieces, rows    int // byte-pair pieces of the target; sentences of a batch
}

var publishedTable4 = table4Size{publishedAttentional, 16000, attentionalRows}

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
		rows = append(rows, row{"layers/" + l.name, "sentences_per_s", func(b *bench) (*race, error) { return publishedTable4.cost(b, l) }})
	}
	return rows
}

func sweepRows() (rows []row) {
	for _, l := range outputLayers {
		if l.name == "word" || l.name == "bpe" || l.name == "vmf-tied" {
			rows = append(rows, row{"sweep/" + l.name, "sentences_per_s", func(b *bench) (*race, error) { return publishedTable4.sweep(b, l) }})
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

// targets is how many words or pieces there are to write.
func (n table4Size) targets(l outputLayer) int {
	if l.pieces {
		return n.pieces
	}
	return n.vocabulary
}

// build makes the translator with one output layer. As in the paper the map to the vectors is not normalised.
func (n table4Size) build(l outputLayer) (*translation.Translator, error) {
	c := n.settings(l.method, l.tied)
	c.Objective.Set("map_norm", false)
	return n.buildWith(c, n.targets(l))
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

// layerSteps is how many steps the median of a row of layers is of.
const layerSteps = 3

// measured is a row of our side alone, of a network with one output layer.
func (n table4Size) measured(l outputLayer, measure func(ctx context.Context, built *translation.Translator, t *trainer) (result, error)) (r *race, err error) {
	r = &race{}
	defer r.closeOn(&err)
	built, err := n.build(l)
	if err != nil {
		return r, err
	}
	t := trainAttentional(r, built, nil)
	r.alone = func(ctx context.Context) (result, error) { return measure(ctx, built, t) }
	return r, nil
}

// cost measures a row of table 4.
func (n table4Size) cost(b *bench, l outputLayer) (*race, error) {
	return n.measured(l, func(ctx context.Context, built *translation.Translator, t *trainer) (result, error) {
		speed, err := n.speed(ctx, b, t, n.rows, 1, layerSteps)
		if err != nil {
			return result{}, err
		}
		c := l.parameters(built)
		c.MsPerBatch = 1000 * float64(n.rows) / speed
		return result{Ours: speed, Layer: c, Config: n.describe(n.rows)}, nil
	})
}

// speed is the median of the sentences a second of some steps on full batches of so many, after warm ones that do not count.
func (n table4Size) speed(ctx context.Context, b *bench, t *trainer, rows, warm, steps int) (float64, error) {
	targets := t.Text.Target.Vocabulary.Len()
	batches, err := fullBatches(b, network{vocabulary: min(targets, n.vocabulary), tokens: rows * attentionalLong})
	if err != nil {
		return 0, err
	}
	t.batches = batches[:1]
	work := here{work: t.update}
	var speeds []float64
	for i := range warm + steps {
		seconds, err := work.step(0)
		if err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if i >= warm {
			speeds = append(speeds, float64(rows)/seconds)
		}
	}
	return median(speeds), nil
}

// describe says what the network and a batch of the given number of sentences are.
func (n table4Size) describe(rows int) string {
	return fmt.Sprintf("B=%d S=T=%d E=%d D=%d layers=%d+%d V=%d/%d M=%d", rows, attentionalLong, n.words, n.width, n.layers, n.layers, n.vocabulary, n.pieces, n.vectors)
}
