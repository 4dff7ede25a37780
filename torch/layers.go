package torch

// #include "api.h"
import "C"

import "math"

// Linear returns x W^T + b for x [..., in], weight [out, in] and bias [out]; the zero Tensor stands for no bias.
func Linear(x, weight, bias Tensor) Tensor {
	const op = "Linear"
	var out C.ap_tensor
	return made(op, C.ap_linear(x.c(op), weight.c(op), bias.orNull(op), &out), &out, x, weight, bias)
}

// Operand is x as a product has it: in bfloat16 under Autocast, else as it is. Several products of one x share it, so
// that x is rounded once; their gradients of x are then summed in bfloat16.
func Operand(x Tensor) Tensor {
	var out C.ap_tensor
	return made("Operand", C.ap_product_operand(x.c("Operand"), &out), &out, x)
}

// Linears are Linear of one x by several weights and biases. An accelerator computes them by one product, forwards and
// backwards: launches are fewer and fill it better, for a copy of the weights.
func Linears(x Tensor, weights, biases []Tensor) []Tensor {
	if x.Device() == CPU {
		return linearsReference(x, weights, biases)
	}
	sizes := make([]int64, len(weights))
	for i, weight := range weights {
		sizes[i] = weight.Size(0)
	}
	return Linear(x, Cat(weights, 0), Cat(biases, 0)).Split(-1, sizes...)
}

// linearsReference is Linears one by one.
func linearsReference(x Tensor, weights, biases []Tensor) []Tensor {
	out := make([]Tensor, len(weights))
	x = Operand(x)
	for i := range weights {
		out[i] = Linear(x, weights[i], biases[i])
	}
	return out
}

// Embedding looks up rows of weight [V,D] by int64 ids [...]: the result is [...,D]. The row of padding gets no
// gradient; -1 means that every row does. Ids may lie on the host where weight is on a device; only there they are
// checked against V, and one beyond it ends all work on a GPU.
func Embedding(weight, ids Tensor, padding int64) Tensor {
	var out C.ap_tensor
	return made("Embedding", C.ap_embedding(weight.c("Embedding"), ids.c("Embedding"), C.int64_t(padding), &out), &out,
		weight, ids)
}

// LayerNorm normalises the last dimension of x to mean 0 and variance 1, then
// applies gain [D] and bias [D] (Ba, Kiros and Hinton 2016).
func LayerNorm(x, gain, bias Tensor, eps float64) Tensor {
	var out C.ap_tensor
	return made("LayerNorm", C.ap_layer_norm(x.c("LayerNorm"), gain.c("LayerNorm"), bias.c("LayerNorm"), C.double(eps),
		&out), &out, x, gain, bias)
}

// Attention is scaled dot-product attention: softmax(q k^T / sqrt(d)) v for q [B,H,T,d] and k, v [B,H,S,d]. The boolean
// mask, broadcast to [B,H,T,S], is true where a key takes part; the zero Tensor stands for no mask. Causal lets
// position t see the keys up to t, and excludes a mask. What AttentionMask makes of a mask may stand for it. Under
// Autocast on the CPU operands in bfloat16 give a result in bfloat16 and keep nothing wider for the backward pass.
// There a query whose keys are all beside the mask gets zeros; on a GPU it gets what libtorch's kernel makes of it.
func Attention(q, k, v, mask Tensor, causal bool) Tensor {
	const op = "Attention"
	var out C.ap_tensor
	return made(op, C.ap_attention(q.c(op), k.c(op), v.c(op), mask.orNull(op), C.bool(causal), &out), &out, q, k, v,
		mask)
}

// AttentionMask is the mask, or on an accelerator what Attention would make of it at each call: 0 where it is true, of
// that type, and minus infinity elsewhere.
func AttentionMask(mask Tensor, dtype DType) Tensor {
	if mask.Device() == CPU {
		return mask
	}
	return Zeros(dtype, mask.Device(), mask.Shape()...).MaskedFill(mask.Not(), math.Inf(-1))
}
