package torch

// #include "api.h"
import "C"

// ResidualNorm is the residual connection of a post-norm layer in one pass:
// LayerNorm(residual + Dropout(x)). On float32 CPU tensors it is fused; anything
// else takes ResidualNormReference.
func ResidualNorm(x, residual, gain, bias Tensor, eps, p float64, s *Stream) Tensor {
	if s == nil {
		p = 0
	}
	if x.DType() != Float32 || residual.DType() != Float32 || x.Device() != CPU {
		return ResidualNormReference(x, residual, gain, bias, eps, p, s)
	}
	var seed, offset C.uint64_t
	if p > 0 {
		seed, offset = s.next()
	}
	var out C.ap_tensor
	check("ResidualNorm", C.ap_residual_norm(x.c("ResidualNorm"), residual.c("ResidualNorm"), gain.c("ResidualNorm"), bias.c("ResidualNorm"),
		C.double(eps), C.double(p), seed, offset, &out), x, residual, gain, bias)
	return own("ResidualNorm", out)
}

// ResidualNormReference is ResidualNorm made of plain operators.
func ResidualNormReference(x, residual, gain, bias Tensor, eps, p float64, s *Stream) Tensor {
	return LayerNorm(residual.Add(Dropout(x, p, s)), gain, bias, eps)
}

// Smoothing says how label smoothing spreads epsilon of the target's mass over a
// vocabulary of V.
type Smoothing int

// The three definitions in use. With epsilon = 0 they agree.
const (
	SmoothingFairseq Smoothing = iota // 1-epsilon on the target, epsilon/(V-1) on every other symbol
	SmoothingPyTorch                  // 1-epsilon+epsilon/V on the target, epsilon/V on every other (Marian too)
	SmoothingT2T                      // as fairseq, less the entropy of the soft target
)

// SoftmaxLossOptions are the settings of SoftmaxLoss.
type SoftmaxLossOptions struct {
	Ignore    int64 // targets with this id count as nothing
	Smoothing Smoothing
	Epsilon   float64 // label smoothing, 0 for none
	Scale     float64 // factor of the summed loss, e.g. 1/tokens of the update
	Chunk     int64   // rows of logits at a time; 0 chooses by shape
	Evaluate  bool    // no gradients are computed
}

// SoftmaxLoss is a linear layer and softmax cross-entropy in one operator: for
// hidden [N,D], weight [V,D], bias [V] or the zero Tensor, and int64 targets [N]
// it returns the summed loss times Scale, without dimensions, and the clean
// negative log-likelihood of each row [N], in nats, 0 where ignored, without a
// gradient. Logits exist for one chunk of rows at a time, and gradients are
// computed while they do.
func SoftmaxLoss(hidden, weight, bias, targets Tensor, o SoftmaxLossOptions) (loss, nll Tensor) {
	const op = "SoftmaxLoss"
	var b, l, n C.ap_tensor
	operands := []Tensor{hidden, weight, targets}
	if bias.h != nil {
		b = bias.c(op)
		operands = append(operands, bias)
	}
	check(op, C.ap_softmax_loss(hidden.c(op), weight.c(op), b, targets.c(op), C.int64_t(o.Ignore), C.int(o.Smoothing), C.double(o.Epsilon),
		C.double(o.Scale), C.int64_t(o.Chunk), C.bool(!o.Evaluate), &l, &n), operands...)
	return ownTwo(op, l, n)
}

// SoftmaxLossReference is SoftmaxLoss made of plain operators; it keeps the
// logits [N,V].
func SoftmaxLossReference(hidden, weight, bias, targets Tensor, o SoftmaxLossOptions) (loss, nll Tensor) {
	v := float64(weight.Size(0))
	keep := targets.EqualScalar(float64(o.Ignore)).Not()
	safe := targets.MaskedFill(keep.Not(), 0)
	logP := Linear(hidden, weight, bias).LogSoftmax(1)
	perRow := logP.Gather(1, safe.Reshape(-1, 1)).Reshape(-1).Neg()
	nll = perRow.MaskedFill(keep.Not(), 0)
	every := logP.SumDim(1, false).Neg().MaskedFill(keep.Not(), 0)
	on, off, entropy := smoothingWeights(o.Smoothing, o.Epsilon, v)
	sum := nll.Sum().MulScalar(on).Add(every.Sum().MulScalar(off))
	kept := keep.To(nll.DType(), nll.Device()).Sum().MulScalar(entropy)
	return sum.Sub(kept).MulScalar(o.Scale), nll.Detach()
}
