package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// network is the size of a Transformer whose three matrices of the vocabulary
// are one.
type network struct {
	name                   string
	vocabulary, width, ffn int
	heads, layers          int // layers of either side
	tokens                 int // of a batch, padding included
	batches                func(b *bench, n network) ([]*corpus.Batch, error)
}

// The published base model, and a model for Multi30k.
var (
	smallNetwork = network{"multi30k", 10000, 256, 1024, 4, 4, 4000, multi30kBatches}
	baseNetwork  = network{"base", 37000, 512, 2048, 8, 6, 4096, fullBatches}
)

// Settings of every training step.
const (
	learningRate   = 5e-4
	labelSmoothing = 0.1
	dropout        = 0.1
)

// differentBatches is how many batches a race goes through again and again.
const differentBatches = 7

// config gives the network a method, with changes of its settings.
func (n network) config(method string, changes ...func(*objectives.Settings)) translation.Settings {
	c := translation.Defaults()
	c.Seed = 1
	c.Model.Width, c.Model.FFNWidth, c.Model.Heads = n.width, n.ffn, n.heads
	c.Model.EncoderLayers, c.Model.DecoderLayers = n.layers, n.layers
	c.Model.Dropout, c.Model.AttentionDropout, c.Model.ActivationDropout = dropout, 0, 0
	c.Model.Tying = "all"
	c.Objective.Set("method", method, "label_smoothing", labelSmoothing, "smoothing", "pytorch")
	for _, change := range changes {
		change(&c.Objective)
	}
	return c
}

// build makes the network with weights of its own. Its vocabulary is as large as
// n says and its words mean nothing.
func (n network) build(method string, changes ...func(*objectives.Settings)) (*translation.Translator, error) {
	side := wordless(n.vocabulary)
	return translation.New(n.config(method, changes...), &bitext.Pair{Source: side, Target: side}, torch.CPU)
}

// multi30kBatches are the first batches of an epoch over Multi30k.
func multi30kBatches(b *bench, n network) ([]*corpus.Batch, error) {
	m, err := b.multi30k()
	if err != nil {
		return nil, err
	}
	pairs := corpus.Encode(m.english, m.german, m.pair.Source.Encode, m.pair.Target.Encode)
	if v := m.pair.Target.Vocabulary.Len(); v > n.vocabulary {
		return nil, fmt.Errorf("%s has %d types after %d merges, the benchmark's network only %d", m.folder, v, merges, n.vocabulary)
	}
	loader, err := corpus.NewLoader(pairs, corpus.Options{BatchSettings: corpus.BatchSettings{MaxTokens: n.tokens}, Seed: 1}, corpus.Position{})
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	var batches []*corpus.Batch
	for len(batches) < differentBatches {
		update, err := loader.Next()
		if err != nil {
			return nil, err
		}
		batches = append(batches, update.Batches...)
	}
	return batches[:differentBatches], nil
}

// fullBatches are sentences of 32 random words, so that nothing is padded.
func fullBatches(_ *bench, n network) ([]*corpus.Batch, error) {
	const length = 32 // with the end of the sentence
	random := rand.New(rand.NewPCG(1, 2))
	sentence := func() []int32 {
		ids := make([]int32, length-1)
		for i := range ids {
			ids[i] = 4 + int32(random.IntN(n.vocabulary-4))
		}
		return ids
	}
	var pairs corpus.List
	for range differentBatches * n.tokens / length {
		pairs = append(pairs, corpus.Pair{Source: sentence(), Target: sentence()})
	}
	return corpus.EvaluationBatches(pairs, n.tokens, 0), nil
}

// trainer makes training steps as the training loop does.
type trainer struct {
	*translation.Translator
	updater
	dropout *torch.Stream
	batches []*corpus.Batch
}

func newTrainer(r *race, n network, batches []*corpus.Batch, method string, changes ...func(*objectives.Settings)) (*trainer, error) {
	built, err := n.build(method, changes...)
	if err != nil {
		return nil, err
	}
	return newTrainerOf(r, built, batches, updater{rate: learningRate}, torch.AdamOptions{Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-8}), nil
}

// newTrainerOf makes training steps of a translator, with the settings of u.
func newTrainerOf(r *race, built *translation.Translator, batches []*corpus.Batch, u updater, adam torch.AdamOptions) *trainer {
	u.params, u.output = built.Params, built.Output
	t := &trainer{Translator: built, updater: u, dropout: torch.NewStream(1, "dropout"), batches: batches}
	r.onClose(func() {
		t.updater.free()
		t.Free()
	})
	t.useAdam(adam)
	return t
}

// operations are those of batch i's products.
func (t *trainer) operations(i int) float64 { return t.Translator.Operations(t.batches[i]).All() }

// update trains on batch i.
func (t *trainer) update(i int) error {
	t.collect(i)
	t.apply()
	return nil
}

// collect computes the gradients of batch i and returns the loss that it minimises.
func (t *trainer) collect(i int) (loss float64) {
	step := torch.OpenScope()
	defer step.Close()
	batch := t.batches[i]
	states, targets := t.Forward(batch, t.dropout)
	pieces := batch.Tokens
	if t.sentences {
		pieces = batch.Rows
	}
	sum, nll := t.Output.Loss(states, targets, 1/float64(pieces))
	sum.Backward()
	nll.Sum().Item()
	return sum.Item()
}

// contender is the trainer as a side of a race. Gradients are dropped at the end
// of each update, so each begins without.
func (t *trainer) contender() contender { return here{work: t.update} }

// trainingRace is a race over batches, in target tokens per second.
func trainingRace(batches []*corpus.Batch) *race {
	return &race{
		pieces: len(batches), warm: 2, measured: true,
		amount: func(i int) float64 { return float64(batches[i].Tokens) },
	}
}

// training races whole updates against plain PyTorch.
func (b *bench) training(n network, compiled bool) (r *race, err error) {
	batches, err := n.batches(b, n)
	if err != nil {
		return nil, err
	}
	r = trainingRace(batches)
	defer r.closeOn(&err)
	ours, err := newTrainer(r, n, batches, "mle")
	if err != nil {
		return nil, err
	}
	side := here{work: ours.update}
	r.ours, r.operations, r.outside = side, ours.operations, func() (float64, error) { return side.outside(0) }
	file, err := b.writeBatches(n.name, batches)
	if err != nil {
		return nil, err
	}
	peer, err := b.startJSONPeer(r, "PyTorch", "transformer_step.py", map[string]any{
		"vocab": n.vocabulary, "d": n.width, "ffn": n.ffn, "heads": n.heads, "encoder_layers": n.layers, "decoder_layers": n.layers,
		"dropout": dropout, "smoothing": labelSmoothing, "learning_rate": learningRate, "batches": file,
		"compiled": compiled,
	})
	if err != nil {
		return nil, err
	}
	r.peer = peer
	r.config = fmt.Sprintf("D=%d L=%d V=%d%s", n.width, n.layers, n.vocabulary, peer.compiling())
	return r, nil
}

// method races the updates of a method, with changes of its settings, against
// those of maximum likelihood.
func (b *bench) method(name string, n network, changes ...func(*objectives.Settings)) (r *race, err error) {
	batches, err := n.batches(b, n)
	if err != nil {
		return nil, err
	}
	r = trainingRace(batches)
	defer r.closeOn(&err)
	ours, err := newTrainer(r, n, batches, name, changes...)
	if err != nil {
		return nil, err
	}
	peer, err := newTrainer(r, n, batches, "mle")
	if err != nil {
		return nil, err
	}
	r.ours, r.operations, r.peer = ours.contender(), ours.operations, peer.contender()
	return r, nil
}

// closeOn closes a race that could not be made ready.
func (r *race) closeOn(err *error) {
	if *err != nil {
		r.close()
	}
}

// writeBatches writes batches as the peer reads them.
func (b *bench) writeBatches(name string, batches []*corpus.Batch) (string, error) {
	type rows struct {
		Source [][]int64 `json:"source"`
		Prev   [][]int64 `json:"prev"`
		Target [][]int64 `json:"target"`
	}
	all := make([]rows, len(batches))
	for i, batch := range batches {
		all[i] = rows{cut(batch.Source, batch.S), cut(batch.Prev, batch.T), cut(batch.Target, batch.T)}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, "batches-"+name+".json")
	return path, os.WriteFile(path, data, 0o666)
}

// cut divides a flat matrix into rows.
func cut(flat []int64, width int) [][]int64 {
	var rows [][]int64
	for start := 0; start < len(flat); start += width {
		rows = append(rows, flat[start:start+width])
	}
	return rows
}
