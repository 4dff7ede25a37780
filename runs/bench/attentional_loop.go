package main

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/aperture-ml/aperture/torch"
)

// attentionalLoop is the loop over time of an attentional decoder by itself: the mean
// square of its states and every gradient.
//
// Legend: B sentences, S and T words of each source and target, E width of word vectors,
// D width of states.
type attentionalLoop struct {
	rows, positions, steps int64 // B, S, T
	words, width           int64 // E, D
	layers                 int
}

// publishedLoop has the sizes of the translator that vMF was published on.
var publishedLoop = attentionalLoop{rows: 64, positions: 32, steps: 32, words: 512, width: 1024, layers: 2}

// race races the loop against the same in plain PyTorch, from equal operands.
func (l attentionalLoop) race(b *bench) (r *race, err error) {
	r = &race{pieces: 1, warm: 2, measured: true,
		config: fmt.Sprintf("B=%d S=%d T=%d E=%d D=%d L=%d", l.rows, l.positions, l.steps, l.words, l.width, l.layers)}
	defer r.closeOn(&err)
	scope := torch.OpenScope()
	defer scope.Close()
	stream, params := torch.NewStream(1, "bench"), &torch.Params{}
	r.onClose(params.Free)
	add := func(name string, shape ...int64) torch.Tensor {
		return params.Add(name, stream.Uniform(-0.1, 0.1, torch.Float32, torch.CPU, shape...))
	}
	words, memory := add("words", l.steps, l.rows, l.words), add("memory", l.rows, l.positions, l.width)
	h, c := add("h", int64(l.layers), l.rows, l.width), add("c", int64(l.layers), l.rows, l.width)
	d := torch.AttentionalDecoder{Query: add("query.weight", l.width, l.width), Mix: add("mix.weight", l.width, 2*l.width)}
	in := l.words + l.width
	for i := range l.layers {
		prefix := fmt.Sprintf("decoder.%d.", i)
		d.Layers = append(d.Layers, torch.LSTMWeights{
			Input: add(prefix+"weight_ih", 4*l.width, in), Hidden: add(prefix+"weight_hh", 4*l.width, l.width),
			InputBias: add(prefix+"bias_ih", 4*l.width), HiddenBias: add(prefix+"bias_hh", 4*l.width),
		})
		in = l.width
	}
	var last float64
	r.ours = here{
		prepare: func() { torch.ZeroGrad(params.Tensors()) },
		work: func(int) error {
			step := torch.OpenScope()
			defer step.Close()
			var states, cells []torch.Tensor
			for i := range int64(l.layers) {
				states = append(states, h.Narrow(0, i, 1).Reshape(l.rows, l.width))
				cells = append(cells, c.Narrow(0, i, 1).Reshape(l.rows, l.width))
			}
			loss := d.Run(words, memory, nil, states, cells).Square().Mean()
			loss.Backward()
			last = loss.Item()
			return nil
		},
	}
	operands := filepath.Join(b.folder, "attentional-loop.safetensors")
	if err := writeTensors(operands, params.Map()); err != nil {
		return r, err
	}
	peer, err := b.startJSONPeer(r, "PyTorch", "attentional_loop.py", map[string]any{"layers": l.layers, "operands": operands})
	if err != nil {
		return r, err
	}
	r.peer = peer
	r.check = func() error {
		if want := peer.last.Loss; !(math.Abs(last-want) <= 1e-4*want) {
			return fmt.Errorf("attentional_loop.py: the peer's loss is %g and ours %g: the two did not do the same work", want, last)
		}
		return nil
	}
	return r, nil
}
