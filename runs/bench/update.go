package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// updater changes weights by their gradients, as the training loop does.
type updater struct {
	params      *torch.Params
	output      *objectives.Output
	adam        *torch.Adam // nil: gradient descent
	rate        float64
	clip, decay float64 // clip 0 does not; decay is that of gradient descent
	sentences   bool    // a batch's loss is divided by its sentences, not its tokens
}

// useAdam makes it the optimizer, until free.
func (u *updater) useAdam(o torch.AdamOptions) {
	scope := torch.OpenScope()
	defer scope.Close()
	u.adam = torch.NewAdam(u.params.Tensors(), o)
}

func (u *updater) free() {
	if u.adam != nil {
		u.adam.Free()
	}
}

// apply makes the update, after which there are no gradients.
func (u *updater) apply() {
	scope := torch.OpenScope()
	defer scope.Close()
	params := u.params.Tensors()
	u.output.Penalize()
	if u.clip > 0 {
		u.output.ClipGrad(params, u.clip)
	}
	if u.adam != nil {
		u.adam.Step(u.rate)
	} else {
		torch.SGD(params, u.rate, u.decay)
	}
	torch.ZeroGrad(params)
	u.output.Constrain(u.rate)
}

// norms are those of the gradients of all weights, by name.
func (u *updater) norms() map[string]float64 {
	scope := torch.OpenScope()
	defer scope.Close()
	norms := map[string]float64{}
	for _, name := range u.params.Names() {
		norms[name] = torch.ClipGrad([]torch.Tensor{u.params.Get(name)}, 0).Item()
	}
	return norms
}

// gradients are what a model says of some batches: its mean loss in nats, and the
// norm of the gradient of each weight.
type gradients struct {
	loss  float64
	norms map[string]float64
}

// How far those of two programs may lie apart: in nats, and in parts of a norm. The
// authors' mixture adds 1e-8 to probabilities, which at the start are near 1e-4.
const (
	lossTolerance = 5e-4
	normTolerance = 5e-3
)

// compare says in what the peer's differ.
func (g gradients) compare(peer gradients) error {
	const conclusion = "the two do not do the same work"
	if !(math.Abs(g.loss-peer.loss) <= lossTolerance) {
		return fmt.Errorf("without noise the peer's loss is %.5f and ours %.5f: %s", peer.loss, g.loss, conclusion)
	}
	if len(peer.norms) != len(g.norms) {
		return fmt.Errorf("the peer has gradients of %d weights and we of %d: %s", len(peer.norms), len(g.norms), conclusion)
	}
	for _, name := range slices.Sorted(maps.Keys(g.norms)) {
		if a, b := g.norms[name], peer.norms[name]; !(math.Abs(a-b) <= normTolerance*a) {
			return fmt.Errorf("without noise the peer's gradient of %s is %.5g long and ours %.5g: %s", name, b, a, conclusion)
		}
	}
	return nil
}
