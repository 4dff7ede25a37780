package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: T time steps, B columns, I width of a layer's input, H of its output.

// QRNN is AWD-LSTM with quasi-recurrent layers (Bradbury et al. 2017) in place of the LSTM's: the gates of a step are a
// map of its input alone, so one product serves all steps. The first layer sees the step before as well. Weight drop
// applies to the whole matrix of a layer. The published models have four layers of 1550 on Penn Treebank and
// WikiText-2, of 2500 on WikiText-103, the last as wide as the embedding (400).
type QRNN struct {
	Config
	embedding Embedder
	layers    []linear
	device    torch.Device
}

// NewQRNN adds the layers' parameters to p, named as in PyTorch with weight drop:
// rnns.0.linear.module.weight_raw [3H,I] and rnns.0.linear.module.bias. They are
// drawn from U(-1/sqrt(I), 1/sqrt(I)) with I twice as large in the first layer.
func NewQRNN(c Config, embedding Embedder, p *torch.Params, s *torch.Stream, device torch.Device) (*QRNN, error) {
	if err := c.completeRecurrent("a QRNN"); err != nil {
		return nil, err
	}
	in := initialiser{params: p, stream: s, device: device, dtype: c.DType}
	m := &QRNN{Config: c, embedding: embedding, device: device}
	from := int64(2 * c.Width)
	for i := range c.Layers {
		h := c.layerWidth(i)
		bound, name := 1/math.Sqrt(float64(from)), fmt.Sprintf("rnns.%d.linear.module.", i)
		m.layers = append(m.layers, linear{p.Add(name+"weight_raw", in.uniform(bound, 3*h, from)),
			p.Add(name+"bias", in.uniform(bound, 3*h))})
		from = h
	}
	return m, nil
}

// Forward reads a chunk. What is carried are the first layer's last input [B,I], as
// dropout left it, and c [B,H] of each layer.
func (m *QRNN) Forward(x Chunk, carried Carried, s *torch.Stream) (torch.States, Carried) {
	out_TBD := m.wordVectors(m.embedding, x, m.device, s)
	steps, columns := int64(x.Time), int64(x.Columns)
	before_BI := carried.at(0)
	if !before_BI.Defined() {
		before_BI = torch.Zeros(m.DType, m.device, columns, int64(m.Width))
	}
	// The inputs one step late.
	late_TBI := torch.Cat([]torch.Tensor{before_BI.Reshape(1, columns, -1), out_TBD}, 0)
	next := Carried{late_TBI.Narrow(0, steps, 1).Reshape(columns, -1).Detach().Clone()}
	in_TBI := torch.Cat([]torch.Tensor{out_TBD, late_TBI.Narrow(0, 0, steps)}, 2)
	for i, l := range m.layers {
		if i > 0 {
			in_TBI = torch.LockedDropout(out_TBD, m.DropoutHidden, s)
		}
		c_BH := carried.at(i + 1)
		if !c_BH.Defined() {
			c_BH = torch.Zeros(m.DType, m.device, columns, l.bias.Size(0)/3)
		}
		gates_TB3H := torch.Linear(in_TBI, torch.Dropout(l.weight, m.WeightDrop, s), l.bias)
		out_TBD, c_BH = torch.QRNNScan(gates_TB3H, c_BH)
		next = append(next, c_BH.Detach())
	}
	return m.outputs(out_TBD, s), next
}
