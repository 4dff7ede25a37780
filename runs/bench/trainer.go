package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// trainer makes training steps as the training loop does.
type trainer struct {
	params      *torch.Params
	output      *objectives.Output
	collect     func(i int) (loss float64) // computes the gradients of piece i
	operations  func(i int) float64        // of piece i's products
	dropout     *torch.Stream              // nil: no dropout
	adam        *torch.Adam                // nil: gradient descent
	rate        float64
	clip, decay float64 // clip 0 does not; decay is that of gradient descent
}

// useAdam makes it the optimizer, until the race is over.
func (t *trainer) useAdam(r *race, o torch.AdamOptions) {
	scope := torch.OpenScope()
	defer scope.Close()
	t.adam = torch.NewAdam(t.params.Tensors(), o)
	r.onClose(t.adam.Free)
}

// update trains on piece i. No gradients are left behind.
func (t *trainer) update(i int) error {
	t.collect(i)
	scope := torch.OpenScope()
	defer scope.Close()
	params := t.params.Tensors()
	t.output.Penalize()
	if t.clip > 0 {
		t.output.ClipGrad(params, t.clip)
	}
	if t.adam != nil {
		t.adam.Step(t.rate)
	} else {
		torch.SGD(params, t.rate, t.decay)
	}
	torch.ZeroGrad(params)
	t.output.Constrain(t.rate)
	return nil
}

// train makes a trainer our side of a race over pieces.
func (r *race) train(t *trainer, pieces int, amount func(i int) float64) {
	r.pieces, r.warm, r.measured, r.amount = pieces, 2, true, amount
	r.ours, r.operations = r.here(nil, t.update), t.operations
}

// gradients are what a model gives for some pieces: its mean loss in nats, and the norm of the gradient of each weight.
type gradients struct {
	loss  float64
	norms map[string]float64
}

// gradients gives those that were collected.
func (t *trainer) gradients(loss float64) gradients {
	scope := torch.OpenScope()
	defer scope.Close()
	g := gradients{loss, map[string]float64{}}
	for name, x := range t.params.Map() {
		g.norms[name] = torch.ClipGrad([]torch.Tensor{x}, 0).Item()
	}
	return g
}

// How far those of two programs may lie apart: in nats, and in parts of a norm. The authors' mixture adds 1e-8 to
// probabilities, which at the start are near 1e-4. A norm below the least is rounding: attention does not see the bias
// of its keys.
const (
	lossTolerance = 5e-4
	normTolerance = 5e-3
	leastNorm     = 1e-6
)

// compare says in what the peer's differ.
func (g gradients) compare(peer answer) error {
	const conclusion = "the two do not do the same work"
	if !(math.Abs(g.loss-peer.Loss) <= lossTolerance) {
		return fmt.Errorf("without noise the peer's loss is %.5f and ours %.5f: %s", peer.Loss, g.loss, conclusion)
	}
	if len(peer.Gradients) != len(g.norms) {
		return fmt.Errorf("the peer has gradients of %d weights and we of %d: %s", len(peer.Gradients), len(g.norms),
			conclusion)
	}
	for _, name := range slices.Sorted(maps.Keys(g.norms)) {
		if a, b := g.norms[name], peer.Gradients[name]; !(math.Abs(a-b) <= normTolerance*max(a, leastNorm)) {
			return fmt.Errorf("without noise the peer's gradient of %s is %.5g long and ours %.5g: %s", name, b, a,
				conclusion)
		}
	}
	return nil
}

// writeTensors writes tensors by name for a peer, and returns the file.
func (b *bench) writeTensors(name string, params *torch.Params) (path string, err error) {
	path = b.path(name + ".safetensors")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := torch.WriteSafetensors(f, params.Map(), nil); err != nil {
		return "", err
	}
	return path, f.Close()
}

// cut divides a flat matrix into rows.
func cut(flat []int64, width int) [][]int64 { return slices.Collect(slices.Chunk(flat, width)) }
