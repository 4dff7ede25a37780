package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/models/translation/bitext"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/objectives/vectors"
	"github.com/aperture-ml/aperture/tokenize"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// translationRows are training steps of translators, and searches.
var translationRows = append(eagerAndCompiled(
	step{"transformer_step/multi30k", smallNetwork.race},
	step{"transformer_step/base", baseNetwork.race},
	step{"transformer_step/multi30k/bfloat16", smallNetwork.inBFloat16().race},
	step{"transformer_step/base/bfloat16", baseNetwork.inBFloat16().race},
),
	row{"transformer_step/base/recompute", "tokens_per_s", baseNetwork.recomputing().eager},
	row{"attentional_step", "tokens_per_s", publishedAttentional.race(wordSoftmax, tokensOf)},
	row{"attentional_loop", "s", publishedLoop.race},
	row{"softmax_memory/V=37000", "s", translatorLayer.race},
	methodRow("spectrum"),
	row{"translate/beam5", "sentences_per_s", smallNetwork.translating("", 1)},
	row{"translate/ctranslate2", "sentences_per_s", smallNetwork.translating("float32", 1)},
	row{"translate/ctranslate2/base", "sentences_per_s", baseNetwork.translating("float32", 4)},
	row{"translate/ctranslate2/int8", "sentences_per_s", smallNetwork.translating("int8", 1)},
	row{"translate/ctranslate2/int8-base", "sentences_per_s", baseNetwork.translating("int8", 4)},
	row{"translate/alone", "sentences_per_s", smallNetwork.translatingAlone("float32", 200)},
	row{"translate/alone/base", "sentences_per_s", baseNetwork.translatingAlone("float32", 100)},
	row{"translate/alone/int8", "sentences_per_s", smallNetwork.translatingAlone("int8", 200)},
	row{"translate/alone/int8-base", "sentences_per_s", baseNetwork.translatingAlone("int8", 100)},
	row{"translate/shortlist/base", "sentences_per_s", baseNetwork.shortlisted(false)},
	row{"translate/shortlist/int8-base", "sentences_per_s", baseNetwork.shortlisted(true)},
	row{"translate/attentional", "sentences_per_s", smallAttentional.translating},
)

// step is a training step that is raced against plain PyTorch, compiled or not.
type step struct {
	name string
	race func(b *bench, r *race, compiled bool) error
}

// eagerAndCompiled are two rows for each step, the second of them against torch.compile.
func eagerAndCompiled(steps ...step) (rows []row) {
	for _, s := range steps {
		rows = append(rows,
			row{s.name, "tokens_per_s", func(b *bench, r *race) error { return s.race(b, r, false) }},
			row{s.name + "/compiled", "tokens_per_s", func(b *bench, r *race) error { return s.race(b, r, true) }})
	}
	return rows
}

// network is the size of a Transformer whose three matrices of the vocabulary are one.
type network struct {
	vocabulary, width, ffn int
	heads, layers          int // layers of either side
	tokens                 int // of a batch, padding included
	batches                func(b *bench, n network) ([]*corpus.Batch, error)
	half                   bool // whether products are in bfloat16
	recompute              bool // whether layers are computed once more in the backward pass
}

// The published base model, and a model for Multi30k.
var (
	smallNetwork = network{10000, 256, 1024, 4, 4, 4000, multi30kBatches, false, false}
	baseNetwork  = network{37000, 512, 2048, 8, 6, 4096, fullBatches, false, false}
)

// Settings of every training step.
const (
	learningRate   = 5e-4
	labelSmoothing = 0.1
	dropout        = 0.1
)

// differentBatches is how many batches a race goes through again and again.
const differentBatches = 7

// translator is a translator of random weights, and how it is trained. Its words mean nothing.
type translator struct {
	settings       translation.Settings
	source, target int // sizes of the vocabularies
	vectors        int // components of target vectors
	rate, clip     float64
	beta2          float64 // of Adam
	perSentence    bool    // whether a batch's loss is divided by its sentences, not its tokens
	half           bool    // whether products are in bfloat16
	recompute      bool    // whether layers are computed once more in the backward pass
}

// model gives the network a method, with changes of its settings: pairs of a key and a value.
func (n network) model(method string, changes ...any) translator {
	c := translation.Defaults()
	c.Seed = 1
	c.Model.Width, c.Model.FFNWidth, c.Model.Heads = n.width, n.ffn, n.heads
	c.Model.EncoderLayers, c.Model.DecoderLayers = n.layers, n.layers
	c.Model.Dropout, c.Model.AttentionDropout, c.Model.ActivationDropout = dropout, 0, 0
	c.Model.Tying = "all"
	c.Objective.Set("method", method, "label_smoothing", labelSmoothing, "smoothing", "pytorch")
	c.Objective.Set(changes...)
	return translator{settings: c, source: n.vocabulary, target: n.vocabulary, rate: learningRate, beta2: 0.98,
		half: n.half, recompute: n.recompute}
}

func (m translator) build(device torch.Device) (*translation.Translator, error) {
	method, err := m.settings.Objective.Resolve()
	if err != nil {
		return nil, err
	}
	pair := &bitext.Sides{Source: wordless(m.source)}
	if pair.Target = pair.Source; m.target != m.source {
		pair.Target = wordless(m.target)
	}
	if method.WordTargets {
		scope := torch.OpenScope()
		defer scope.Close()
		rows := torch.NewStream(1, "vectors").Normal(0, 1, torch.Float32, torch.CPU,
			int64(m.target*m.vectors)).Float32s()
		pair.Vectors = &vectors.Table{Width: m.vectors, Rows: rows}
	}
	return translation.New(m.settings, pair, device)
}

// trainer makes training steps on batches until the race is over.
func (m translator) trainer(r *race, batches []*corpus.Batch) (*trainer, error) {
	built, err := m.build(r.device)
	if err != nil {
		return nil, err
	}
	r.onClose(built.Free)
	if m.recompute {
		built.Network.(models.Recomputer).SetRecompute(true)
	}
	t := &trainer{params: built.Params, output: built.Output, dropout: torch.NewStream(1, "dropout"), rate: m.rate,
		clip: m.clip}
	t.operations = func(i int) float64 { return built.Operations(batches[i]).All() }
	t.collect = func(i int) float64 {
		scope := torch.OpenScope()
		defer scope.Close()
		pieces := batches[i].Tokens
		if m.perSentence {
			pieces = batches[i].Rows
		}
		var states torch.States
		var sum, nll torch.Tensor
		torch.Autocast(m.half, r.device, func() {
			var targets torch.Tensor
			states, targets = built.Forward(batches[i], t.dropout)
			sum, nll = built.Output.Loss(states, targets, 1/float64(pieces))
		})
		states.Backward(sum)
		nll.Sum().Item()
		return sum.Item()
	}
	t.useAdam(r, torch.AdamOptions{Beta1: 0.9, Beta2: m.beta2, Epsilon: 1e-8})
	return t, nil
}

// train makes whole updates our side of a race over batches, and those of another translator the peer's, if there is
// one.
func (m translator) train(r *race, batches []*corpus.Batch, amount func(*corpus.Batch) int,
	other *translator) (*trainer, error) {
	ours, err := m.trainer(r, batches)
	if err != nil {
		return nil, err
	}
	r.train(ours, len(batches), func(i int) float64 { return float64(amount(batches[i])) })
	if other == nil {
		return ours, nil
	}
	peer, err := other.trainer(r, batches)
	if err == nil {
		r.peer = r.here(nil, peer.update)
	}
	return ours, err
}

// wordless is a side of a translation with a vocabulary of a size, the special symbols among them.
func wordless(vocabulary int) *bitext.Side {
	words := map[string]int{}
	for i := range vocabulary - 4 { // the special symbols come first
		words[fmt.Sprintf("word%06d", i)] = 1
	}
	return &bitext.Side{Vocabulary: tokenize.NewVocabulary(words, tokenize.VocabularyOptions{PaddingFactor: 1})}
}

// multi30kBatches are the first batches of an epoch over Multi30k.
func multi30kBatches(b *bench, n network) ([]*corpus.Batch, error) {
	m, err := b.multi30k()
	if err != nil {
		return nil, err
	}
	pairs := corpus.Encode(m.source, m.target, m.pair.Source.Encode, m.pair.Target.Encode)
	if v := m.pair.Target.Vocabulary.Len(); v > n.vocabulary {
		return nil, fmt.Errorf("%s has %d types after %d merges, the benchmark's network only %d", m.folder, v, merges,
			n.vocabulary)
	}
	o := corpus.Options{BatchSettings: corpus.BatchSettings{MaxTokens: n.tokens}, Seed: 1}
	loader, err := corpus.NewLoader(pairs, o, corpus.Position{})
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

// amounts of work in a batch.
func sentencesOf(batch *corpus.Batch) int { return batch.Rows }
func tokensOf(batch *corpus.Batch) int    { return batch.Tokens }

// inBFloat16 is the network with products in bfloat16.
func (n network) inBFloat16() network {
	n.half = true
	return n
}

// recomputing is the network whose layers are computed once more in the backward pass.
func (n network) recomputing() network {
	n.recompute = true
	return n
}

// eager is a race against PyTorch that is not compiled.
func (n network) eager(b *bench, r *race) error { return n.race(b, r, false) }

// withWords is the network with a vocabulary of a size.
func (n network) withWords(vocabulary int) network {
	n.vocabulary = vocabulary
	return n
}

// race races whole updates against plain PyTorch.
func (n network) race(b *bench, r *race, compiled bool) error {
	if n.half && !r.inBFloat16() {
		return nil
	}
	batches, err := n.batches(b, n)
	if err != nil {
		return err
	}
	if _, err := n.model("mle").train(r, batches, tokensOf, nil); err != nil {
		return err
	}
	r.outside = true
	peer, err := b.startPeer(r, "PyTorch", "transformer_step.py", map[string]any{
		"vocab": n.vocabulary, "d": n.width, "ffn": n.ffn, "heads": n.heads,
		"encoder_layers": n.layers, "decoder_layers": n.layers,
		"dropout": dropout, "smoothing": labelSmoothing, "learning_rate": learningRate,
		"batches": readable(batches), "compiled": compiled, "half": n.half,
		"recompute": n.recompute,
	})
	if err == nil {
		r.config = n.size() + peer.compiling()
	}
	return err
}

// size is that of the network, for the reader.
func (n network) size() string { return fmt.Sprintf("D=%d L=%d V=%d", n.width, n.layers, n.vocabulary) }

// method races the updates of a method, with changes of its settings, against those of maximum likelihood.
func (n network) method(name string, changes ...any) func(b *bench, r *race) error {
	return func(b *bench, r *race) error {
		batches, err := n.batches(b, n)
		if err != nil {
			return err
		}
		mle := n.model("mle")
		_, err = n.model(name, changes...).train(r, batches, tokensOf, &mle)
		return err
	}
}

// methodRow is a method at its defaults beside mle.
func methodRow(name string) row {
	return row{"method/" + name, "tokens_per_s", smallNetwork.method(name)}
}

// withMethods adds a row for each method that scores words and has none yet.
func withMethods(rows []row) []row {
	for _, m := range objectives.Methods() {
		added := methodRow(m.Name)
		has := slices.ContainsFunc(rows, func(r row) bool { return r.name == added.name })
		if !m.Needs.WordTargets && !has && m.Name != objectives.Defaults().Method {
			rows = append(rows, added)
		}
	}
	return rows
}

// readableBatch is a batch as a peer reads it.
type readableBatch struct {
	Source [][]int64 `json:"source"`
	Prev   [][]int64 `json:"prev"`
	Target [][]int64 `json:"target"`
}

func readable(batches []*corpus.Batch) (all []readableBatch) {
	for _, b := range batches {
		all = append(all, readableBatch{cut(b.Source, b.S), cut(b.Prev, b.T), cut(b.Target, b.T)})
	}
	return all
}
