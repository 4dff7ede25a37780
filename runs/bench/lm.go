package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// lmRows are training steps of language models in their published sizes.
var lmRows = slices.Concat(eagerAndCompiled(
	step{"lstm_step/ptb", pennTreebank.race},
	step{"lstm_step/wikitext2", wikiText2.race},
	step{"mos_step/ptb", mixturePTB.race},
	step{"xl_step/4-layers", fourLayers.race},
	step{"lstm_step/ptb/bfloat16", pennTreebank.inBFloat16().race},
	step{"mos_step/ptb/bfloat16", mixturePTB.inBFloat16().race},
	step{"xl_step/4-layers/bfloat16", fourLayers.inBFloat16().race},
), gptRows, attentionRows)

// textNetwork is a language model, and the size of the chunks that it reads.
type textNetwork struct {
	name           string
	vocabulary     int
	columns, steps int
	config         experiment.Config
	program        string                                   // the peer
	peer           func(c experiment.Config) map[string]any // its configuration, but for the text
	note           string                                   // what is not as published
}

// The published models.
var (
	pennTreebank = textNetwork{name: "ptb", vocabulary: 10000, columns: 20, steps: 70,
		program: "awd_lstm.py", peer: recurrentPeer, config: recurrent(func(c *experiment.Config) {})}
	wikiText2 = textNetwork{name: "wikitext2", vocabulary: 33278, columns: 80, steps: 70,
		program: "awd_lstm.py", peer: recurrentPeer, config: recurrent(func(c *experiment.Config) {
			c.Model.DropoutInput, c.Model.DropoutHidden = 0.65, 0.2
		})}
	mixturePTB = textNetwork{name: "mos", vocabulary: 10000, columns: 12, steps: 70,
		program: "awd_lstm.py", peer: mixturePeer, config: recurrent(func(c *experiment.Config) {
			c.Model.Width, c.Model.Hidden, c.Model.LastHidden, c.Model.DropoutHidden = 280, 960, 620, 0.225
			c.Objective.Method, c.Train.LearningRate = "mos", 20
		})}
	// Half of the published columns: the peer needs 5 GB of memory for these.
	fourLayers = textNetwork{name: "xl", vocabulary: 267735, columns: 30, steps: 150,
		program: "transformer_xl.py", peer: xlPeer, config: transformerXL(4), note: " (published: B=60)"}
)

// recurrent is AWD-LSTM as it was published on Penn Treebank, with changes.
func recurrent(change func(*experiment.Config)) experiment.Config {
	c := experiment.Default()
	c.Model.Kind, c.Model.Width, c.Model.Dropout = "awd-lstm", 400, 0.4
	c.Objective.Set("label_smoothing", 0, "bias", true)
	c.Train.Optimizer, c.Train.LearningRate, c.Train.ClipNorm, c.Train.WeightDecay = "sgd", 30, 0.25, 1.2e-6
	c.Train.AR, c.Train.TAR = 2, 1
	change(&c)
	return c
}

// transformerXL is the published base model on WikiText-103 with the given number of layers.
func transformerXL(layers int) experiment.Config {
	c := experiment.Default()
	c.Model.Kind, c.Model.Layers, c.Model.Width, c.Model.Heads = "transformer-xl", layers, 410, 10
	c.Model.FFNWidth, c.Model.Dropout = 2100, 0.1
	c.Objective.Set("method", "adaptive", "adaptive_cutoffs", "20000,40000,200000")
	c.Objective.Set("label_smoothing", 0, "bias", true)
	c.Train.LearningRate, c.Train.Beta2, c.Train.Epsilon, c.Train.ClipNorm = 2.5e-4, 0.999, 1e-8, 0.25
	return c
}

// quiet is the configuration without what is drawn in each step.
func quiet(c experiment.Config) experiment.Config {
	m := &c.Model
	c.Train.Precision = "float32" // a comparison of gradients wants more digits than bfloat16 has
	m.Dropout, m.DropoutInput, m.DropoutHidden, m.DropoutEmbedding, m.WeightDrop = 0, 0, 0, 0, 0
	c.Objective.Set("mixture_dropout", 0)
	return c
}

// recurrentPeer configures the peer of an AWD-LSTM.
func recurrentPeer(c experiment.Config) map[string]any {
	return map[string]any{
		"width": c.Model.Width, "hidden": c.Model.Hidden, "last": cmp.Or(c.Model.LastHidden, c.Model.Width),
		"layers": c.Model.Layers, "components": 0, "latent": 0,
		"input": c.Model.DropoutInput, "layer": c.Model.DropoutHidden, "output": c.Model.Dropout,
		"embedding": c.Model.DropoutEmbedding, "weight": c.Model.WeightDrop,
		"ar": c.Train.AR, "tar": c.Train.TAR, "decay": c.Train.WeightDecay,
	}
}

// mixturePeer configures that of an AWD-LSTM with a mixture of softmaxes.
func mixturePeer(c experiment.Config) map[string]any {
	config, mixture := recurrentPeer(c), objectives.Of[objectives.MixtureSettings](c.Objective)
	config["components"], config["latent"] = mixture.MixtureComponents, mixture.MixtureDropout
	return config
}

// xlPeer configures the peer of a Transformer-XL.
func xlPeer(c experiment.Config) map[string]any {
	return map[string]any{
		"width": c.Model.Width, "heads": c.Model.Heads, "ffn": c.Model.FFNWidth, "layers": c.Model.Layers,
		"memory": c.Model.Memory, "dropout": c.Model.Dropout,
		"cutoffs": objectives.Of[objectives.AdaptiveSettings](c.Objective).AdaptiveCutoffs,
	}
}

// size is that of the work, for the reader.
func (n textNetwork) size() string {
	return fmt.Sprintf("B=%d T=%d D=%d V=%d%s", n.columns, n.steps, n.config.Model.Width, n.vocabulary, n.note)
}

// race races whole updates of a language model against plain PyTorch.
func (n textNetwork) race(b *bench, r *race, compiled bool) error {
	half := n.config.Train.Precision == "bfloat16"
	if half && !r.inBFloat16() {
		return nil
	}
	chunks := n.chunks()
	weights, clean, err := b.cleanGradients(n, chunks)
	if err != nil {
		return err
	}
	ours, err := n.trainer(r, n.config, chunks)
	if err != nil {
		return err
	}
	r.train(ours, len(chunks), func(int) float64 { return float64(n.steps * n.columns) })
	r.outside = true
	config := n.peer(n.config)
	config["vocab"], config["chunks"], config["weights"] = n.vocabulary, readableChunks(chunks), weights
	config["learning_rate"], config["clip"] = n.config.Train.LearningRate, n.config.Train.ClipNorm
	config["compiled"], config["half"] = compiled, half
	if n.config.Train.Recompute {
		config["recompute"] = true // which the peers of attention have
	}
	peer, err := b.startPeer(r, "PyTorch", n.program, config)
	if err != nil {
		return err
	}
	r.config = n.size() + peer.compiling()
	return clean.compare(peer.ready)
}

// trainer makes training steps of the language model, whose words mean nothing, until the race is over.
func (n textNetwork) trainer(r *race, c experiment.Config, chunks []textChunk) (*trainer, error) {
	words := corpus.NewWords()
	for i := range n.vocabulary {
		words.ID(fmt.Sprint(i))
	}
	built, err := language.New(c.Language(), words, r.device)
	if err != nil {
		return nil, err
	}
	r.onClose(built.Free)
	if c.Train.Recompute {
		built.Network.(models.Recomputer).SetRecompute(true)
	}
	t := &trainer{params: built.Params, output: built.Output, dropout: torch.NewStream(1, "dropout"),
		rate: c.Train.LearningRate, clip: c.Train.ClipNorm, decay: c.Train.WeightDecay}
	t.operations = func(i int) float64 { return built.Operations(chunks[i].input, chunks[i].targets).All() }
	var carried models.Carried
	r.onClose(func() { carried.Free() })
	t.collect = func(i int) float64 {
		step := torch.OpenScope()
		defer step.Close()
		chunk := chunks[i]
		n := len(chunk.targets)
		var states torch.States
		var loss, nll torch.Tensor
		var next models.Carried
		torch.Autocast(c.Train.Precision == "bfloat16", r.device, func() {
			states, next = built.Network.Forward(chunk.input, carried, t.dropout)
			loss, nll = built.Output.Loss(states, torch.FromInt64s(chunk.targets, r.device, int64(n)), 1/float64(n))
			for _, term := range states.Terms {
				loss = loss.Add(term.Value.MulScalar(term.Weight))
			}
		})
		states.Backward(loss)
		next.Keep()
		carried.Free()
		carried = next
		return nll.Mean().Item()
	}
	if c.Train.Optimizer != "sgd" {
		t.useAdam(r, torch.AdamOptions{Beta1: c.Train.Beta1, Beta2: c.Train.Beta2, Epsilon: c.Train.Epsilon,
			WeightDecay: c.Train.WeightDecay, Decoupled: c.Train.Optimizer == "adamw"})
	}
	return t, nil
}

// cleanGradients writes the weights that a network starts with to a file, and gives what they make of the first two
// chunks, of which the second goes on from the first, without noise.
func (b *bench) cleanGradients(n textNetwork, chunks []textChunk) (weights string, clean gradients, err error) {
	r := &race{device: b.device}
	defer r.close()
	t, err := n.trainer(r, quiet(n.config), chunks)
	if err != nil {
		return "", clean, err
	}
	if weights, err = b.writeTensors(n.name, t.params); err != nil {
		return "", clean, err
	}
	loss := (t.collect(0) + t.collect(1)) / 2
	return weights, t.gradients(loss), nil
}

// textChunk is a chunk of text and the words after each of its own.
type textChunk struct {
	input   models.Chunk
	targets []int64
}

// chunks are random words, of which the one with rank r is drawn about in proportion to 1/r, as in texts (Zipf's law).
// A word's id is its rank from 0.
func (n textNetwork) chunks() []textChunk {
	random := rand.New(rand.NewPCG(1, 2))
	words := func() []int64 {
		ids := make([]int64, n.steps*n.columns)
		for i := range ids {
			ids[i] = min(int64(math.Pow(float64(n.vocabulary+1), random.Float64())), int64(n.vocabulary)) - 1
		}
		return ids
	}
	all := make([]textChunk, differentBatches)
	for i := range all {
		all[i] = textChunk{models.Chunk{IDs: words(), Time: n.steps, Columns: n.columns}, words()}
	}
	return all
}

// readableChunk is a chunk as a peer reads it, a row for each time step.
type readableChunk struct {
	Input  [][]int64 `json:"input"`
	Target [][]int64 `json:"target"`
}

func readableChunks(chunks []textChunk) (all []readableChunk) {
	for _, c := range chunks {
		all = append(all, readableChunk{cut(c.input.IDs, c.input.Columns), cut(c.targets, c.input.Columns)})
	}
	return all
}
