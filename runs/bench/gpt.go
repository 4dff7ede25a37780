package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/aperture-ml/aperture/models/exchange"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/bytebpe"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// gptRows are training steps of GPTs, and a continuation.
var gptRows = append(eagerAndCompiled(
	step{"gpt_step/small", smallGPT.race},
	step{"gpt_step/small/bfloat16", smallGPT.inBFloat16().race},
	step{"gpt_step/gpt2", gpt2.race},
	step{"gpt_step/gpt2/bfloat16", gpt2.inBFloat16().race},
), row{"gpt_step/gpt2/recompute", "tokens_per_s", gpt2.recomputing().eager},
	row{"generate/gpt", "tokens_per_s", smallGPT.generating})

// The sizes of the presets ptb/gpt-small and wikitext103/gpt2, the latter with one block to a batch.
var (
	smallGPT = textNetwork{name: "gpt", vocabulary: 4096, columns: 16, steps: 128, program: "gpt.py", peer: gptPeer,
		config: gptConfig(4, 256, 4, 128)}
	gpt2 = textNetwork{name: "gpt2", vocabulary: 50257, columns: 1, steps: 1024, program: "gpt.py", peer: gptPeer,
		config: gptConfig(12, 768, 12, 1024)}
)

func gptConfig(layers, width, heads, positions int) experiment.Config {
	c := experiment.Default()
	c.Model.Kind, c.Model.Layers, c.Model.Width, c.Model.Heads, c.Model.FFNWidth = "gpt", layers, width, heads, 4*width
	c.Model.Positions, c.Model.Activation, c.Model.MaxPositions, c.Model.Dropout = "learned", "gelu_tanh", positions, 0.1
	c.Objective.Set("label_smoothing", 0)
	c.Train.Random, c.Train.BPTT = false, positions
	c.Train.Optimizer, c.Train.LearningRate, c.Train.Beta2, c.Train.WeightDecay = "adamw", 1e-3, 0.99, 0.1
	c.Train.ClipNorm = 1
	return c
}

// inBFloat16 is the network with products in bfloat16.
func (n textNetwork) inBFloat16() textNetwork {
	n.config.Train.Precision = "bfloat16"
	return n
}

// recomputing is the network whose layers are computed once more in the backward pass.
func (n textNetwork) recomputing() textNetwork {
	n.config.Train.Recompute = true
	return n
}

// eager is a race against PyTorch that is not compiled.
func (n textNetwork) eager(b *bench, r *race) error { return n.race(b, r, false) }

// gptPeer configures the peer of a GPT.
func gptPeer(c experiment.Config) map[string]any {
	return map[string]any{
		"width": c.Model.Width, "heads": c.Model.Heads, "ffn": c.Model.FFNWidth, "layers": c.Model.Layers,
		"positions": c.Model.MaxPositions, "dropout": c.Model.Dropout, "decay": c.Train.WeightDecay,
		"beta2": c.Train.Beta2,
	}
}

// Tokens of a prompt, and those that a continuation adds.
const promptTokens, newTokens = 16, 100

// generating races greedy continuations against transformers, both with keys and values kept.
func (n textNetwork) generating(b *bench, r *race) error {
	c := n.config
	pieces := bytebpe.Learn(&bytebpe.Counts{}, 256) // bytes alone; a vocabulary's size is what counts
	built, err := language.New(c.Language(), corpus.NewPieces(pieces), r.device)
	if err != nil {
		return err
	}
	r.onClose(built.Free)
	// Weights as they start give the same word for ever; wider ones do not.
	stream := torch.NewStream(1, "init")
	scope := torch.OpenScope()
	words := built.Params.Get("encoder.weight")
	words.Detach().Assign(stream.Normal(0, 0.3, torch.Float32, r.device, words.Shape()...))
	m := &exchange.GPT2{Width: c.Model.Width, FFNWidth: c.Model.FFNWidth, Heads: c.Model.Heads, Layers: c.Model.Layers,
		MaxPositions: c.Model.MaxPositions, Activation: c.Model.Activation, Epsilon: c.Model.NormEpsilon,
		Vocabulary: pieces.Len(), Pieces: pieces, Tensors: map[string]exchange.Tensor{}}
	for name, x := range built.Params.Map() {
		var shape []int
		for _, size := range x.Shape() {
			shape = append(shape, int(size))
		}
		m.Tensors[name] = exchange.Tensor{Shape: shape, Values: x.Float32s()}
	}
	scope.Close()
	folder := b.path("gpt")
	if err := b.writeModel(folder, m); err != nil {
		return err
	}
	prompts := make([][]int32, differentBatches)
	for i := range prompts {
		for j := range promptTokens {
			prompts[i] = append(prompts[i], int32((31*i+7*j*j)%pieces.Len()))
		}
	}
	ours, theirs := make([][]int32, len(prompts)), make([][]int32, len(prompts))
	r.pieces, r.warm, r.config = len(prompts), len(prompts), fmt.Sprintf("%d tokens behind %d, D=%d, %d layers", newTokens,
		promptTokens, c.Model.Width, c.Model.Layers)
	r.amount = func(int) float64 { return newTokens }
	r.ours = r.here(nil, func(i int) error {
		ours[i] = built.Continue(context.Background(), prompts[i], language.SampleOptions{Words: newTokens})
		return nil
	})
	peer, err := b.startPeer(r, "transformers", "gpt_generate.py", map[string]any{"folder": folder, "prompts": prompts,
		"new": newTokens})
	if err != nil {
		return err
	}
	r.peer.step = func(i int) (float64, error) {
		seconds, err := peer.step(i)
		theirs[i] = peer.last.IDs
		return seconds, err
	}
	r.check = func() error {
		same := 0
		for i := range ours {
			if slices.Equal(ours[i], theirs[i]) {
				same++
			}
		}
		if 10*same < 8*len(ours) {
			return fmt.Errorf("%d of %d continuations are the peer's: the two did not do the same work", same, len(ours))
		}
		fmt.Fprintf(b.log, "generate: %d of %d continuations are the peer's\n", same, len(ours))
		return nil
	}
	return nil
}

// writeModel writes a model for a peer.
func (b *bench) writeModel(folder string, m *exchange.GPT2) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return exchange.WriteGPT2(folder, m, exchange.Options{})
}
