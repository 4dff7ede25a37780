package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aperture-ml/aperture/models/translation"
	"github.com/aperture-ml/aperture/tokenize/corpus"
	"github.com/aperture-ml/aperture/torch"
)

// Settings of every step of the recurrent translator, as published. There is no dropout.
const (
	attentionalRate = 5e-4
	attentionalClip = 5
	attentionalRows = 64 // sentences of a batch
	attentionalLong = 32 // words of a sentence, as fullBatches makes them
)

// attentionalTrainer makes training steps of the recurrent translator.
type attentionalTrainer struct {
	*attentional
	updater
	batches []*corpus.Batch
}

func newAttentionalTrainer(r *race, n attentionalSize, method string, batches []*corpus.Batch) (*attentionalTrainer, error) {
	t := &attentionalTrainer{updater: updater{params: &torch.Params{}, rate: attentionalRate, clip: attentionalClip}, batches: batches}
	r.onClose(t.params.Free)
	var err error
	if t.attentional, t.output, err = newAttentional(n, method, t.params); err != nil {
		return nil, err
	}
	r.onClose(t.output.Free)
	t.useAdam(torch.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8})
	r.onClose(t.updater.free)
	return t, nil
}

// update trains on batch i.
func (t *attentionalTrainer) update(i int) error {
	t.collect(i)
	t.apply()
	return nil
}

// collect computes the gradients of the loss that is summed over the words of batch i and
// divided by its sentences, and returns the mean clean loss of its words.
func (t *attentionalTrainer) collect(i int) float64 {
	step := torch.OpenScope()
	defer step.Close()
	batch := t.batches[i]
	loss, nll := t.output.Loss(torch.States{Hidden: t.Forward(batch)}, translation.Targets(batch, torch.CPU), 1/float64(batch.Rows))
	loss.Backward()
	return nll.Mean().Item()
}

// body counts the parameters of all but the output layer and the decoder's word vectors.
func (t *attentionalTrainer) body() int64 {
	var n int64
	for name, x := range t.params.Map() {
		if !strings.HasPrefix(name, "generator.") && !strings.HasPrefix(name, "target.") {
			n += x.Count()
		}
	}
	return n
}

// race races whole updates of the translator into vectors of words against the same
// network with a softmax in plain PyTorch, in sentences per second.
func (n attentionalSize) race(b *bench) (r *race, err error) {
	batches, err := fullBatches(b, network{vocabulary: int(n.vocabulary), tokens: attentionalRows * attentionalLong})
	if err != nil {
		return nil, err
	}
	r = &race{pieces: len(batches), warm: 2, measured: true, amount: func(i int) float64 { return float64(batches[i].Rows) },
		config: fmt.Sprintf("B=%d S=T=%d E=%d D=%d V=%d M=%d", attentionalRows, attentionalLong, n.words, n.width, n.vocabulary, n.vectors)}
	defer r.closeOn(&err)
	ours, err := newAttentionalTrainer(r, n, "vmf", batches)
	if err != nil {
		return r, err
	}
	r.ours = here{work: ours.update}
	small, want, err := b.smallAttentional()
	if err != nil {
		return r, err
	}
	file, err := b.writeBatches("attentional", batches)
	if err != nil {
		return r, err
	}
	config := n.config(file)
	config["clip"], config["learning_rate"], config["small"] = attentionalClip, attentionalRate, small
	peer, err := b.startJSONPeer(r, "PyTorch", "attentional_step.py", config)
	if err != nil {
		return r, err
	}
	r.peer = peer
	if err := want.compare(gradients{peer.ready.Loss, peer.ready.Gradients}); err != nil {
		return r, err
	}
	head := n.vocabulary * (n.width + 1 + n.words)
	if got, want := ours.body(), peer.ready.Params-head; got != want {
		return r, fmt.Errorf("attentional_step.py: without its softmax the peer's network has %d parameters and ours %d: they are not the same", want, got)
	}
	return r, nil
}

// config is a size in the peer's words.
func (n attentionalSize) config(batches string) map[string]any {
	return map[string]any{"vocab": n.vocabulary, "words": n.words, "width": n.width, "layers": n.layers, "batches": batches}
}

// raggedBatches is a batch whose sentences have several lengths, down to the end alone.
func raggedBatches() []*corpus.Batch {
	return corpus.EvaluationBatches([]corpus.Pair{
		{Source: []int32{5, 9, 30, 4, 11}, Target: []int32{7, 7, 12}}, {Source: []int32{22}, Target: []int32{8, 31, 39, 6, 25}},
		{Source: []int32{}, Target: []int32{}}, {Source: []int32{13, 35, 20}, Target: []int32{14, 10}},
	}, 1000, 0)
}

// smallAttentional writes a small network with a softmax, which both sides can build, and
// tells what it gives on the ragged batch; small is what the peer needs for it.
func (b *bench) smallAttentional() (small map[string]any, want gradients, err error) {
	n := attentionalSize{vocabulary: 40, words: 6, width: 8, layers: 2}
	batches := raggedBatches()
	r := &race{}
	defer r.close()
	t, err := newAttentionalTrainer(r, n, "mle", batches)
	if err != nil {
		return nil, want, err
	}
	file, err := b.writeBatches("attentional-small", batches)
	if err != nil {
		return nil, want, err
	}
	weights := filepath.Join(b.folder, "attentional-small.safetensors")
	if err := writeTensors(weights, t.params.Map()); err != nil {
		return nil, want, err
	}
	small = n.config(file)
	small["weights"] = weights
	want.loss = t.collect(0)
	want.norms = t.norms()
	return small, want, nil
}
