package main

import (
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// softmaxLoss races the output layer's loss, forward and backward, for n hidden
// states of width d over v symbols against a linear layer with cross-entropy.
func (b *bench) softmaxLoss(n, d, v int64) (r *race, err error) {
	r = &race{pieces: 1, warm: 2, measured: true}
	defer r.closeOn(&err)
	stream := torch.NewStream(1, "bench")
	scope := torch.OpenScope()
	defer scope.Close()
	hidden := torch.Parameter(stream.Normal(0, 1, torch.Float32, torch.CPU, n, d))
	weight := torch.Parameter(stream.Normal(0, math.Pow(float64(d), -0.5), torch.Float32, torch.CPU, v, d))
	targets := spreadTargets(n, v)
	torch.Keep(targets)
	leaves := []torch.Tensor{hidden, weight}
	r.onClose(func() { torch.Free(hidden, weight, targets) })
	r.ours = here{
		prepare: func() { torch.ZeroGrad(leaves) },
		work: func(int) error {
			step := torch.OpenScope()
			defer step.Close()
			loss, _ := torch.SoftmaxLoss(hidden, weight, torch.Tensor{}, targets, torch.SoftmaxLossOptions{Ignore: 1, Scale: 1 / float64(n)})
			loss.Backward()
			loss.Item()
			return nil
		},
	}
	r.peer, err = b.startJSONPeer(r, "PyTorch", "softmax_loss.py", map[string]any{"rows": n, "width": d, "vocab": v})
	return r, err
}

// spreadTargets are n words all over a vocabulary of v, behind its special symbols.
func spreadTargets(n, v int64) torch.Tensor {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = 4 + int64(i)*7919%(v-4)
	}
	return torch.FromInt64s(ids, torch.CPU, n)
}
