package torch

// #include "api.h"
import "C"

// QRNNScan is the recurrence of a quasi-recurrent layer with an output gate (Bradbury et al. 2017): for gates [T,B,3H],
// candidates, forget gates and output gates before their functions, and the state c [B,H],
//
//	c_t = f * tanh(z) + (1 - f) * c_{t-1},  out_t = sigmoid(o) * c_t,  f = sigmoid(f')
//
// so f weights the new candidate. It returns out [T,B,H] and the last c. On float32 CPU tensors it is fused; on an
// accelerator all steps are joined in log2(T) rounds; anything else takes QRNNScanReference.
func QRNNScan(gates_TB3H, c_BH Tensor) (out_TBH, last_BH Tensor) {
	const op = "QRNNScan"
	gates_TB3H = ofType(gates_TB3H, c_BH)
	if gates_TB3H.Device() != CPU {
		return qrnnDoubling(gates_TB3H, c_BH)
	}
	if gates_TB3H.DType() != Float32 || c_BH.DType() != Float32 {
		return QRNNScanReference(gates_TB3H, c_BH)
	}
	var out, last C.ap_tensor
	return madeTwo(op, C.ap_qrnn_scan(gates_TB3H.c(op), c_BH.c(op), &out, &last), &out, &last, gates_TB3H, c_BH)
}

// QRNNScanReference is QRNNScan step by step, made of plain operators.
func QRNNScanReference(gates_TB3H, c_BH Tensor) (out_TBH, last_BH Tensor) {
	steps, columns, width := gates_TB3H.Size(0), c_BH.Size(0), c_BH.Size(1)
	if steps == 0 {
		return Zeros(c_BH.DType(), c_BH.Device(), 0, columns, width), c_BH
	}
	out := make([]Tensor, steps)
	for t := range steps {
		gate := func(i int64) Tensor {
			return gates_TB3H.Narrow(0, t, 1).Narrow(2, i*width, width).Reshape(columns, width)
		}
		f := gate(1).Sigmoid()
		c_BH = c_BH.Add(f.Mul(gate(0).Tanh().Sub(c_BH)))
		out[t] = gate(2).Sigmoid().Mul(c_BH)
	}
	return Stack(out, 0), c_BH
}

// qrnnDoubling is QRNNScan where an operator's launch costs more than its work. A step takes c to k c + b; after round
// n, k and b of step t stand for it and the 2^n - 1 steps before it. Products of k only shrink, so nothing overflows.
func qrnnDoubling(gates_TB3H, c_BH Tensor) (out_TBH, last_BH Tensor) {
	steps, columns, width := gates_TB3H.Size(0), c_BH.Size(0), c_BH.Size(1)
	if steps == 0 {
		return QRNNScanReference(gates_TB3H, c_BH)
	}
	gate := func(i int64) Tensor { return gates_TB3H.Narrow(2, i*width, width) }
	f_TBH := gate(1).Sigmoid()
	b, k := f_TBH.Mul(gate(0).Tanh()), f_TBH.Neg().AddScalar(1)
	for reach := int64(1); reach < steps; reach *= 2 {
		rest := steps - reach
		later := k.Narrow(0, reach, rest)
		b = Cat([]Tensor{b.Narrow(0, 0, reach), b.Narrow(0, reach, rest).Add(later.Mul(b.Narrow(0, 0, rest)))}, 0)
		k = Cat([]Tensor{k.Narrow(0, 0, reach), later.Mul(k.Narrow(0, 0, rest))}, 0)
	}
	cells_TBH := b.Add(k.Mul(c_BH))
	return gate(2).Sigmoid().Mul(cells_TBH), cells_TBH.Narrow(0, steps-1, 1).Reshape(columns, width)
}
