package main

import (
	"fmt"

	"github.com/aperture-ml/aperture/torch"
)

// attentionRows are causal attention by itself, forwards and backwards, to operands in bfloat16, the same number of
// positions in short sequences and in long ones.
var attentionRows = []row{
	{"attention/T=32/bfloat16", "s", attentionOf{columns: 64, steps: 32}.race},
	{"attention/T=128/bfloat16", "s", attentionOf{columns: 16, steps: 128}.race},
	{"attention/T=1024/bfloat16", "s", attentionOf{columns: 2, steps: 1024}.race},
}

// attentionOf is the attention of heads of a Transformer's usual width.
type attentionOf struct{ columns, steps int64 }

const (
	attentionHeads = 8
	attentionWidth = 64 // of a head
)

func (a attentionOf) race(b *bench, r *race) error {
	if !r.inBFloat16() {
		return nil
	}
	scope := torch.OpenScope()
	defer scope.Close()
	stream := torch.NewStream(1, "bench")
	normal := func() torch.Tensor {
		return stream.Normal(0, 1, torch.BFloat16, r.device, a.columns, a.steps, attentionHeads, attentionWidth)
	}
	leaves := []torch.Tensor{torch.Parameter(normal()), torch.Parameter(normal()), torch.Parameter(normal())}
	r.onClose(func() { torch.Free(leaves...) })
	r.config = fmt.Sprintf("B=%d T=%d, %d heads of width %d", a.columns, a.steps, attentionHeads, attentionWidth)
	r.loss(leaves, func() (loss torch.Tensor) {
		heads := make([]torch.Tensor, len(leaves))
		for i, x := range leaves {
			heads[i] = x.Transpose(1, 2)
		}
		torch.Autocast(true, r.device, func() {
			loss = torch.Attention(heads[0], heads[1], heads[2], torch.Tensor{}, true).Sum().To(torch.Float32, r.device)
		})
		return loss
	})
	_, err := b.startPeer(r, "PyTorch", "attention.py", map[string]any{"columns": a.columns, "steps": a.steps,
		"heads": attentionHeads, "width": attentionWidth, "half": true})
	return err
}
