package main

import (
	"fmt"
	"maps"
	"math"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// layer is an output layer by itself: positions (N) hidden states of a width (D)
// that are scored against a vocabulary (V).
type layer struct {
	positions, width, vocabulary int64
	settings                     objectives.Settings
	vectors                      int64          // components (M) of target vectors; 0 for none
	program                      string         // of the peer
	peer                         map[string]any // of its configuration, what is not size
	alike                        bool           // whether both sides minimise the same loss
}

// unsmoothed are the defaults without label smoothing.
func unsmoothed() objectives.Settings {
	s := objectives.Defaults()
	s.Set("label_smoothing", 0)
	return s
}

// softmaxLayer is a softmax, whose peer is a linear layer with cross-entropy.
func softmaxLayer(positions, width, vocabulary int64) layer {
	return layer{positions: positions, width: width, vocabulary: vocabulary, settings: unsmoothed(), program: "softmax_loss.py", alike: true}
}

// mixtureLayer is a mixture of softmaxes, whose peer is the mixture as a formula
// says it: a weighted sum of softmaxes.
func mixtureLayer(positions, width, vocabulary int64, components int) layer {
	l := softmaxLayer(positions, width, vocabulary)
	l.settings.Set("method", "mos", "mixture_components", components, "mixture_dropout", 0)
	l.program, l.peer = "mixture_loss.py", map[string]any{"components": components}
	return l
}

// vectorLayer is the von Mises-Fisher output layer as its defaults have it: hidden
// states are mapped to m numbers and aim at frozen vectors. Its peer is what it
// replaces, a linear layer to as many words with cross-entropy.
func vectorLayer(positions, width, vocabulary, m int64) layer {
	l := softmaxLayer(positions, width, vocabulary)
	l.settings.Method, l.vectors = "vmf", m
	l.peer, l.alike = map[string]any{"bias": true}, false
	return l
}

// race races the layer's loss and all its gradients.
func (l layer) race(b *bench) (r *race, err error) {
	r = &race{pieces: 1, warm: 2, measured: true, config: fmt.Sprintf("N=%d D=%d V=%d", l.positions, l.width, l.vocabulary)}
	defer r.closeOn(&err)
	scope := torch.OpenScope()
	defer scope.Close()
	stream, params := torch.NewStream(1, "bench"), &torch.Params{}
	r.onClose(params.Free)
	config := objectives.Config{Vocabulary: l.vocabulary, Width: l.width, Padding: 1, OutputOnly: true,
		Params: params, Embedding: "words", Output: "output", Stream: stream, Device: torch.CPU}
	if l.vectors > 0 {
		config.Vectors = stream.Normal(0, 1, torch.Float32, torch.CPU, l.vocabulary, l.vectors)
	}
	output, err := objectives.New(l.settings, config)
	if err != nil {
		return r, err
	}
	r.onClose(output.Free)
	hidden := torch.Parameter(stream.Normal(0, 1, torch.Float32, torch.CPU, l.positions, l.width))
	targets := spreadTargets(l.positions, l.vocabulary)
	torch.Keep(targets)
	r.onClose(func() { torch.Free(hidden, targets) })
	leaves := append(params.Tensors(), hidden)
	var last float64
	r.ours = here{
		prepare: func() { torch.ZeroGrad(leaves) },
		work: func(int) error {
			step := torch.OpenScope()
			defer step.Close()
			loss, _ := output.Loss(torch.States{Hidden: hidden}, targets, 1/float64(l.positions))
			loss.Backward()
			last = loss.Item()
			return nil
		},
	}
	described := map[string]any{"rows": l.positions, "width": l.width, "vocab": l.vocabulary}
	maps.Copy(described, l.peer)
	peer, err := b.startJSONPeer(r, "PyTorch", l.program, described)
	if err != nil {
		return r, err
	}
	r.peer = peer
	if l.alike {
		r.check = func() error { return l.sameLoss(last, peer.last.Loss) }
	}
	return r, nil
}

// sameLoss checks that both sides minimise one function. Their weights, hidden states
// and targets are other draws from one distribution, so their mean losses differ by
// as much as means of so many positions do, each of which varies by about 1 nat.
func (l layer) sameLoss(ours, peer float64) error {
	if limit := 6 * math.Sqrt(2/float64(l.positions)); !(math.Abs(ours-peer) <= limit) {
		return fmt.Errorf("%s: the peer's loss is %.3f and ours %.3f, more than %.3f apart: the two did not do the same work", l.program, peer, ours, limit)
	}
	return nil
}

// spreadTargets are n words all over a vocabulary of v, behind its special symbols.
func spreadTargets(n, v int64) torch.Tensor {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = 4 + int64(i)*7919%(v-4)
	}
	return torch.FromInt64s(ids, torch.CPU, n)
}
