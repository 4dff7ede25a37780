package main

import (
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// mixtureLoss races a whole output layer that is a mixture of k softmaxes, forward
// and backward, for n hidden states of width d over v symbols against the mixture
// as a formula says it: a weighted sum of softmaxes.
func (b *bench) mixtureLoss(n, d, v int64, k int) (r *race, err error) {
	r = &race{pieces: 1, warm: 1, measured: true}
	defer r.closeOn(&err)
	stream := torch.NewStream(1, "bench")
	scope := torch.OpenScope()
	defer scope.Close()
	settings := objectives.Defaults()
	settings.Method, settings.MixtureComponents, settings.MixtureDropout = "mos", k, 0
	params := &torch.Params{}
	output, err := objectives.New(settings, objectives.Place{
		Vocabulary: v, Width: d, Padding: 1, Params: params, Embedding: "embedding", Output: "output", Stream: stream, Device: torch.CPU,
	})
	if err != nil {
		params.Free()
		return r, err
	}
	hidden := torch.Parameter(stream.Normal(0, 1, torch.Float32, torch.CPU, n, d))
	targets := spreadTargets(n, v)
	torch.Keep(targets)
	leaves := append(params.Tensors(), hidden)
	r.onClose(func() {
		torch.Free(hidden, targets)
		output.Free()
		params.Free()
	})
	r.ours = here{
		prepare: func() { torch.ZeroGrad(leaves) },
		work: func(int) error {
			step := torch.OpenScope()
			defer step.Close()
			loss, _ := output.Loss(objectives.States{Hidden: hidden}, targets, 1/float64(n))
			loss.Backward()
			loss.Item()
			return nil
		},
	}
	r.peer, err = b.startJSONPeer(r, "PyTorch", "mixture_loss.py", map[string]any{"rows": n, "width": d, "vocab": v, "components": k})
	return r, err
}
