package main

import (
	"github.com/aperture-ml/aperture/objectives"
	"github.com/aperture-ml/aperture/torch"
)

// vmfRow is the output layer of translation into vectors of words against the one that it
// replaces: a softmax over as many words.
var vmfRow = row{"vmf_loss/V=50000", "s", func(b *bench) (*race, error) { return b.vmfLoss(4096, 1024, 50000, 300) }}

// vmfLoss races the von Mises-Fisher output layer as its defaults have it, forward and backward:
// n hidden states of width d are mapped to m numbers and aim at v frozen vectors. The peer is
// a linear layer to v words with cross-entropy.
func (b *bench) vmfLoss(n, d, v, m int64) (r *race, err error) {
	r = &race{pieces: 1, warm: 2, measured: true}
	defer r.closeOn(&err)
	scope := torch.OpenScope()
	defer scope.Close()
	params, stream := &torch.Params{}, torch.NewStream(1, "bench")
	settings := objectives.Defaults()
	settings.Method = "vmf"
	output, err := objectives.New(settings, objectives.Place{
		Vocabulary: v, Width: d, Padding: 1, Vectors: stream.Normal(0, 1, torch.Float32, torch.CPU, v, m), OutputOnly: true,
		Params: params, Embedding: "words", Output: "output", Stream: stream, Device: torch.CPU,
	})
	if err != nil {
		return r, err
	}
	r.onClose(func() { output.Free(); params.Free() })
	hidden := torch.Parameter(stream.Normal(0, 1, torch.Float32, torch.CPU, n, d))
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = 4 + int64(i)*7919%(v-4)
	}
	targets := torch.FromInt64s(ids, torch.CPU, n)
	torch.Keep(targets)
	r.onClose(func() { torch.Free(hidden, targets) })
	leaves := append(params.Tensors(), hidden)
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
	r.peer, err = b.startJSONPeer(r, "PyTorch", "softmax_loss.py", map[string]any{"rows": n, "width": d, "vocab": v, "bias": true})
	return r, err
}
