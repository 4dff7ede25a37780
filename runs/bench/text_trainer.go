package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aperture-ml/aperture/models"
	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// textTrainer makes training steps of a language model.
type textTrainer struct {
	*language.Model
	updater
	dropout *torch.Stream
	carried models.Carried
	chunks  []textChunk
}

// newTextTrainer makes one for a vocabulary of the given number of words, which mean nothing.
func newTextTrainer(r *race, vocabulary int, c experiment.Config, chunks []textChunk) (*textTrainer, error) {
	words := corpus.NewWords()
	for i := range vocabulary {
		words.ID(fmt.Sprint(i))
	}
	built, err := language.New(c.Language(), words, torch.CPU)
	if err != nil {
		return nil, err
	}
	t := &textTrainer{Model: built, dropout: torch.NewStream(1, "dropout"), chunks: chunks}
	t.updater = updater{params: t.Params, output: t.Output, rate: c.Train.LearningRate, clip: c.Train.ClipNorm, decay: c.Train.WeightDecay}
	r.onClose(func() {
		t.updater.free()
		t.carried.Free()
		t.Free()
	})
	if c.Train.Optimizer == "adam" {
		t.useAdam(torch.AdamOptions{Beta1: c.Train.Beta1, Beta2: c.Train.Beta2, Epsilon: c.Train.Epsilon, WeightDecay: c.Train.WeightDecay})
	}
	return t, nil
}

// operations are those of chunk i's products.
func (t *textTrainer) operations(i int) float64 {
	return t.Model.Operations(t.chunks[i].input, t.chunks[i].targets).All()
}

// update trains on chunk i.
func (t *textTrainer) update(i int) error {
	t.collect(i)
	t.apply()
	return nil
}

// collect computes the gradients of chunk i and returns the mean loss of its words.
func (t *textTrainer) collect(i int) float64 {
	step := torch.OpenScope()
	defer step.Close()
	chunk := t.chunks[i]
	states, next := t.Network.Forward(chunk.input, t.carried, t.dropout)
	n := len(chunk.targets)
	loss, nll := t.Output.Loss(states, torch.FromInt64s(chunk.targets, torch.CPU, int64(n)), 1/float64(n))
	for _, term := range states.Terms {
		loss = loss.Add(term.Value.MulScalar(term.Weight))
	}
	loss.Backward()
	next.Keep()
	t.carried.Free()
	t.carried = next
	return nll.Mean().Item()
}

// cleanGradients writes the weights that a network starts with to a file, and tells
// what they give on the first two chunks, of which the second goes on from the
// first, without noise.
func (b *bench) cleanGradients(n textNetwork, chunks []textChunk) (weights string, clean gradients, err error) {
	r := &race{}
	defer r.close()
	t, err := newTextTrainer(r, n.vocabulary, quiet(n.config), chunks)
	if err != nil {
		return "", clean, err
	}
	weights = filepath.Join(b.folder, n.name+".safetensors")
	if err := writeTensors(weights, t.Params.Map()); err != nil {
		return "", clean, err
	}
	clean.loss = (t.collect(0) + t.collect(1)) / 2
	clean.norms = t.norms()
	return weights, clean, nil
}

// writeTensors writes tensors by name for a peer.
func writeTensors(path string, tensors map[string]torch.Tensor) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := torch.WriteSafetensors(f, tensors, nil); err != nil {
		return err
	}
	return f.Close()
}
