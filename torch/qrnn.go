package torch

// #include "api.h"
import "C"

// QRNNScan is the recurrence of a quasi-recurrent layer with an output gate
// (Bradbury et al. 2017): for gates [T,B,3H], candidates, forget gates and output
// gates before their functions, and the state c [B,H],
//
//	c_t = f * tanh(z) + (1 - f) * c_{t-1},  out_t = sigmoid(o) * c_t,  f = sigmoid(f')
//
// so f weights the new candidate. It returns out [T,B,H] and the last c. On float32
// CPU tensors it is fused; anything else takes QRNNScanReference.
func QRNNScan(gates_TB3H, c_BH Tensor) (out_TBH, last_BH Tensor) {
	const op = "QRNNScan"
	if gates_TB3H.DType() != Float32 || c_BH.DType() != Float32 || gates_TB3H.Device() != CPU {
		return QRNNScanReference(gates_TB3H, c_BH)
	}
	var out, last C.ap_tensor
	check(op, C.ap_qrnn_scan(gates_TB3H.c(op), c_BH.c(op), &out, &last), gates_TB3H, c_BH)
	return ownTwo(op, out, last)
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
