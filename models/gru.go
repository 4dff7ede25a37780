package models

import (
	"fmt"
	"math"

	"github.com/aperture-ml/aperture/torch"
)

// Legend: T time steps, B columns, I width of a layer's input, H of its output.

// GRU is AWD-LSTM with gated recurrent units (Cho et al. 2014) in place of the LSTM's: a step of a layer is
//
//	r = s(W_r x + b_r + U_r h + c_r),  z = s(W_z x + b_z + U_z h + c_z)        s the logistic function
//	n = tanh(W_n x + b_n + r * (U_n h + c_n)),  h' = n + z * (h - n)
//
// with the reset gate behind the product with U_n, as PyTorch and cuDNN have it. The noise of training is AWD-LSTM's:
// locked dropout between layers, dropped words, and dropped elements of the recurrent matrix, one mask for all steps.
//
// On the CPU the products with W are one for all steps. A step is one product with U, packed once and with one product
// for its gradient ([torch.RepeatedLinear]), and a handful of plain operators: slower than the LSTM's single operator
// (docs/results/gru.md). An accelerator runs libtorch's layer.
type GRU struct {
	Config
	embedding Embedder
	layers    []gruWeights
	device    torch.Device
}

// gruWeights are one layer. The rows of each stand for the reset gate, the update gate and the candidate, in this
// order.
type gruWeights struct {
	input, hidden         torch.Tensor // [3H,I], [3H,H]
	inputBias, hiddenBias torch.Tensor // [3H]
}

// NewGRU adds the layers' parameters to p, named as in PyTorch with weight drop: rnns.0.module.weight_ih_l0, and
// weight_hh_l0_raw for the undropped recurrent matrix. They are drawn from U(-1/sqrt(H), 1/sqrt(H)) with H of their
// layer.
func NewGRU(c Config, embedding Embedder, p *torch.Params, s *torch.Stream, device torch.Device) (*GRU, error) {
	if err := c.completeRecurrent("a GRU"); err != nil {
		return nil, err
	}
	in := initialiser{params: p, stream: s, device: device, dtype: c.DType}
	m := &GRU{Config: c, embedding: embedding, device: device}
	from := int64(c.Width)
	for i := range c.Layers {
		h := c.layerWidth(i)
		bound, name := 1/math.Sqrt(float64(h)), fmt.Sprintf("rnns.%d.module.", i)
		m.layers = append(m.layers, gruWeights{
			input:      p.Add(name+"weight_ih_l0", in.uniform(bound, 3*h, from)),
			hidden:     p.Add(name+"weight_hh_l0_raw", in.uniform(bound, 3*h, h)),
			inputBias:  p.Add(name+"bias_ih_l0", in.uniform(bound, 3*h)),
			hiddenBias: p.Add(name+"bias_hh_l0", in.uniform(bound, 3*h)),
		})
		from = h
	}
	return m, nil
}

// Forward reads a chunk. What is carried is h [B,H] of each layer.
func (m *GRU) Forward(x Chunk, carried Carried, s *torch.Stream) (torch.States, Carried) {
	out_TBD := m.wordVectors(m.embedding, x, m.device, s)
	var next Carried
	for i, w := range m.layers {
		if i > 0 {
			out_TBD = torch.LockedDropout(out_TBD, m.DropoutHidden, s)
		}
		var h_BH torch.Tensor
		out_TBD, h_BH = m.layer(w, out_TBD, carried.at(i), s)
		next = append(next, h_BH.Detach())
	}
	return m.outputs(out_TBD, s), next
}

// layer runs a layer over all steps of x [T,B,I] from the state h [B,H], or from zeros.
func (m *GRU) layer(w gruWeights, x_TBI, h_BH torch.Tensor, s *torch.Stream) (out_TBH, last_BH torch.Tensor) {
	steps, columns, width := x_TBI.Size(0), x_TBI.Size(1), w.hidden.Size(1)
	if !h_BH.Defined() {
		h_BH = torch.Zeros(m.DType, m.device, columns, width)
	}
	if steps == 0 {
		return torch.Zeros(m.DType, m.device, 0, columns, width), h_BH
	}
	if m.device != torch.CPU {
		return torch.GRU(x_TBI, h_BH, w.input, torch.Dropout(w.hidden, m.WeightDrop, s), w.inputBias, w.hiddenBias)
	}
	fromInput_TB3H := torch.Linear(x_TBI, w.input, w.inputBias)
	hidden := torch.Repeated(torch.Dropout(w.hidden, m.WeightDrop, s))
	bias_B3H := w.hiddenBias.Expand(columns, 3*width)
	out := make([]torch.Tensor, steps)
	for t := range steps {
		in_B3H := fromInput_TB3H.Narrow(0, t, 1).Reshape(columns, 3*width)
		state_B3H := torch.RepeatedLinear(h_BH, hidden, bias_B3H)
		gates_B2H := in_B3H.Narrow(1, 0, 2*width).Add(state_B3H.Narrow(1, 0, 2*width)).Sigmoid()
		reset_BH, update_BH := gates_B2H.Narrow(1, 0, width), gates_B2H.Narrow(1, width, width)
		new_BH := in_B3H.Narrow(1, 2*width, width).Add(reset_BH.Mul(state_B3H.Narrow(1, 2*width, width))).Tanh()
		h_BH = new_BH.Add(update_BH.Mul(h_BH.Sub(new_BH)))
		out[t] = h_BH
	}
	return torch.Stack(out, 0), h_BH
}
