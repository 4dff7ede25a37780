package main

import (
	"fmt"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
)

// lmRows are training steps of language models in their published sizes.
var lmRows = eagerAndCompiled(
	step{"lstm_step/ptb", func(b *bench, compiled bool) (*race, error) { return b.textTraining(pennTreebank, compiled) }},
	step{"lstm_step/wikitext2", func(b *bench, compiled bool) (*race, error) { return b.textTraining(wikiText2, compiled) }},
	step{"mos_step/ptb", func(b *bench, compiled bool) (*race, error) { return b.textTraining(mixturePTB, compiled) }},
	step{"xl_step/4-layers", func(b *bench, compiled bool) (*race, error) { return b.textTraining(fourLayers, compiled) }},
)

// step is a training step that is raced against plain PyTorch, compiled or not.
type step struct {
	name string
	race func(b *bench, compiled bool) (*race, error)
}

// eagerAndCompiled are two rows for each step, the second of them against torch.compile.
func eagerAndCompiled(steps ...step) (rows []row) {
	for _, s := range steps {
		rows = append(rows,
			row{s.name, "tokens_per_s", func(b *bench) (*race, error) { return s.race(b, false) }},
			row{s.name + "/compiled", "tokens_per_s", func(b *bench) (*race, error) { return s.race(b, true) }})
	}
	return rows
}

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
	pennTreebank = textNetwork{name: "ptb", vocabulary: 10000, columns: 20, steps: 70, program: "awd_lstm.py", peer: recurrentPeer,
		config: recurrent(func(c *experiment.Config) {})}
	wikiText2 = textNetwork{name: "wikitext2", vocabulary: 33278, columns: 80, steps: 70, program: "awd_lstm.py", peer: recurrentPeer,
		config: recurrent(func(c *experiment.Config) { c.Model.DropoutInput, c.Model.DropoutHidden = 0.65, 0.2 })}
	mixturePTB = textNetwork{name: "mos", vocabulary: 10000, columns: 12, steps: 70, program: "awd_lstm.py", peer: recurrentPeer,
		config: recurrent(func(c *experiment.Config) {
			c.Model.Width, c.Model.Hidden, c.Model.LastHidden, c.Model.DropoutHidden = 280, 960, 620, 0.225
			c.Objective.Method, c.Train.LearningRate = "mos", 20
		})}
	// Half of the published columns: the peer needs 5 GB of memory for these.
	fourLayers = textNetwork{name: "xl", vocabulary: 267735, columns: 30, steps: 150, program: "transformer_xl.py", peer: xlPeer, config: transformerXL(4),
		note: " (published: B=60)"}
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
	c.Model.Kind, c.Model.Layers, c.Model.Width, c.Model.Heads, c.Model.FFNWidth, c.Model.Dropout = "transformer-xl", layers, 410, 10, 2100, 0.1
	c.Objective.Set("method", "adaptive", "adaptive_cutoffs", "20000,40000,200000")
	c.Objective.Set("label_smoothing", 0, "bias", true)
	c.Train.LearningRate, c.Train.Beta2, c.Train.Epsilon, c.Train.ClipNorm = 2.5e-4, 0.999, 1e-8, 0.25
	return c
}

// quiet is the configuration without what is drawn in each step.
func quiet(c experiment.Config) experiment.Config {
	m := &c.Model
	m.Dropout, m.DropoutInput, m.DropoutHidden, m.DropoutEmbedding, m.WeightDrop = 0, 0, 0, 0, 0
	c.Objective.Set("mixture_dropout", 0)
	return c
}

// recurrentPeer configures the peer of an AWD-LSTM.
func recurrentPeer(c experiment.Config) map[string]any {
	last, components, mixture := c.Model.LastHidden, 0, objectives.Of[objectives.MixtureSettings](c.Objective)
	if last == 0 {
		last = c.Model.Width
	}
	if c.Objective.Method == "mos" {
		components = mixture.MixtureComponents
	}
	return map[string]any{
		"width": c.Model.Width, "hidden": c.Model.Hidden, "last": last, "layers": c.Model.Layers, "components": components,
		"input": c.Model.DropoutInput, "layer": c.Model.DropoutHidden, "output": c.Model.Dropout, "embedding": c.Model.DropoutEmbedding,
		"weight": c.Model.WeightDrop, "latent": mixture.MixtureDropout,
		"ar": c.Train.AR, "tar": c.Train.TAR, "decay": c.Train.WeightDecay,
	}
}

// xlPeer configures the peer of a Transformer-XL.
func xlPeer(c experiment.Config) map[string]any {
	return map[string]any{
		"width": c.Model.Width, "heads": c.Model.Heads, "ffn": c.Model.FFNWidth, "layers": c.Model.Layers, "memory": c.Model.Memory,
		"dropout": c.Model.Dropout, "cutoffs": objectives.Of[objectives.AdaptiveSettings](c.Objective).AdaptiveCutoffs,
	}
}

// size is that of the work, for the reader.
func (n textNetwork) size() string {
	return fmt.Sprintf("B=%d T=%d D=%d V=%d%s", n.columns, n.steps, n.config.Model.Width, n.vocabulary, n.note)
}

// textTraining races whole updates of a language model against plain PyTorch.
func (b *bench) textTraining(n textNetwork, compiled bool) (r *race, err error) {
	r = &race{pieces: differentBatches, warm: 2, measured: true, config: n.size(), amount: func(int) float64 { return float64(n.steps * n.columns) }}
	defer r.closeOn(&err)
	chunks := n.chunks()
	weights, clean, err := b.cleanGradients(n, chunks)
	if err != nil {
		return nil, err
	}
	ours, err := newTextTrainer(r, n.vocabulary, n.config, chunks)
	if err != nil {
		return nil, err
	}
	side := here{work: ours.update}
	r.ours, r.operations, r.outside = side, ours.operations, func() (float64, error) { return side.outside(0) }
	file, err := b.writeChunks(n.name, chunks)
	if err != nil {
		return nil, err
	}
	config := n.peer(n.config)
	config["vocab"], config["chunks"], config["weights"] = n.vocabulary, file, weights
	config["learning_rate"], config["clip"], config["compiled"] = n.config.Train.LearningRate, n.config.Train.ClipNorm, compiled
	peer, err := b.startJSONPeer(r, "PyTorch", n.program, config)
	if err != nil {
		return nil, err
	}
	r.peer = peer
	r.config += peer.compiling()
	return r, clean.compare(gradients{peer.ready.Loss, peer.ready.Gradients})
}
