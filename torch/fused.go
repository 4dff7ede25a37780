package torch

// #include "api.h"
import "C"

// ResidualNorm is the residual connection of a post-norm layer in one pass: LayerNorm(residual + Dropout(x)). On
// float32 CPU tensors it is fused, where x may be bfloat16; anything else takes ResidualNormReference.
func ResidualNorm(x, residual, gain, bias Tensor, eps, p float64, s *Stream) Tensor {
	if s == nil {
		p = 0
	}
	if x.DType() == BFloat16 && residual.DType() == Float32 && x.Device() == CPU { // of a product under Autocast
		x = x.To(Float32, CPU)
	}
	if x.DType() != Float32 || residual.DType() != Float32 || x.Device() != CPU {
		return ResidualNormReference(x, residual, gain, bias, eps, p, s)
	}
	var seed, offset C.uint64_t
	if p > 0 {
		seed, offset = s.next()
	}
	var out C.ap_tensor
	return made("ResidualNorm", C.ap_residual_norm(x.c("ResidualNorm"), residual.c("ResidualNorm"),
		gain.c("ResidualNorm"), bias.c("ResidualNorm"),
		C.double(eps), C.double(p), seed, offset, &out), &out, x, residual, gain, bias)
}

// ResidualNormReference is ResidualNorm made of plain operators.
func ResidualNormReference(x, residual, gain, bias Tensor, eps, p float64, s *Stream) Tensor {
	return LayerNorm(residual.Add(Dropout(x, p, s)), gain, bias, eps)
}
