package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: T time steps, B columns, D width of the embedding, H width of a layer.

// AWDLSTM is the language model of "Regularizing and Optimizing LSTM Language Models" (Merity, Keskar and Socher 2018):
// a stack of LSTM layers with dropped recurrent weights and locked dropout between them. The published ones have three
// layers of 1150, the last as wide as the embedding (400).
type AWDLSTM struct {
	Config
	embedding Embedder
	layers    []torch.LSTMWeights
	device    torch.Device
}

// NewAWDLSTM adds the layers' parameters to p, named as in PyTorch with weight drop: rnns.0.module.weight_ih_l0, and
// weight_hh_l0_raw for the undropped recurrent matrix. They are drawn from U(-1/sqrt(H), 1/sqrt(H)) with H of their
// layer.
func NewAWDLSTM(c Config, embedding Embedder, p *torch.Params, s *torch.Stream, device torch.Device) (*AWDLSTM, error) {
	if err := c.completeRecurrent("an AWD-LSTM"); err != nil {
		return nil, err
	}
	in := initialiser{params: p, stream: s, device: device, dtype: c.DType}
	m := &AWDLSTM{Config: c, embedding: embedding, device: device}
	from := int64(c.Width)
	for i := range c.Layers {
		h := c.layerWidth(i)
		m.layers = append(m.layers, in.lstm(fmt.Sprintf("rnns.%d.module.", i), "_l0", "_l0_raw", from, h,
			1/math.Sqrt(float64(h))))
		from = h
	}
	return m, nil
}

// lstm draws a layer from U(-bound, bound) with PyTorch's names: ending is that of its parameters, recurrent that of
// the recurrent matrix.
func (in initialiser) lstm(prefix, ending, recurrent string, from, h int64, bound float64) torch.LSTMWeights {
	return torch.LSTMWeights{
		Input:      in.params.Add(prefix+"weight_ih"+ending, in.uniform(bound, 4*h, from)),
		Hidden:     in.params.Add(prefix+"weight_hh"+recurrent, in.uniform(bound, 4*h, h)),
		InputBias:  in.params.Add(prefix+"bias_ih"+ending, in.uniform(bound, 4*h)),
		HiddenBias: in.params.Add(prefix+"bias_hh"+ending, in.uniform(bound, 4*h)),
	}
}

// Forward reads a chunk. What is carried are h and c [B,H] of each layer.
func (m *AWDLSTM) Forward(x Chunk, carried Carried, s *torch.Stream) (torch.States, Carried) {
	out_TBD := m.wordVectors(m.embedding, x, m.device, s)
	var next Carried
	for i, w := range m.layers {
		if i > 0 {
			out_TBD = torch.LockedDropout(out_TBD, m.DropoutHidden, s)
		}
		var h_BH, c_BH torch.Tensor
		out_TBD, h_BH, c_BH = torch.LSTM(out_TBD, carried.at(2*i), carried.at(2*i+1), w,
			torch.LSTMOptions{WeightDrop: m.WeightDrop, Stream: s})
		next = append(next, h_BH.Detach(), c_BH.Detach())
	}
	return m.outputs(out_TBD, s), next
}
