package torch

// #include "api.h"
import "C"

// Smoothing says how label smoothing spreads epsilon of the target's mass over a vocabulary of V.
type Smoothing int

// The three definitions in use. With epsilon = 0 they agree.
const (
	SmoothingFairseq Smoothing = iota // 1-epsilon on the target, epsilon/(V-1) on every other symbol
	SmoothingPyTorch                  // 1-epsilon+epsilon/V on the target, epsilon/V on every other (Marian too)
	SmoothingT2T                      // as fairseq, less the entropy of the soft target
)

// SoftmaxLossOptions are the settings of SoftmaxLoss, ShiftedSoftmaxLoss and MixtureLoss.
type SoftmaxLossOptions struct {
	Ignore    int64 // targets with this id count as nothing
	Smoothing Smoothing
	Epsilon   float64 // label smoothing, 0 for none
	Scale     float64 // factor of the summed loss, e.g. 1/tokens of the update
	Chunk     int64   // rows of logits at a time; 0 chooses by shape and cache
	Evaluate  bool    // no gradients are computed

	Terms     []ScoreTerm    // what rows that count pay beside; no part of a negative log-likelihood
	Transform ScoreTransform // of the scores, before all else; nil for none
	Context   Tensor         // [N,L] of words, below 2^24, that a term with Context reads; or the zero Tensor
	Plain     bool           // use no fused kernel, even where there is one

	// WeightGate gives factors [C,V] of the scores' gradients of a chunk's targets [C], through which they reach the
	// weight, and nothing else; nil for none. No fused kernel has it.
	WeightGate func(targets_C Tensor) Tensor
}

// c gives the options to the C++ side, for which every term has a kernel.
func (o SoftmaxLossOptions) c() C.ap_loss_options {
	c := C.ap_loss_options{
		ignore: C.int64_t(o.Ignore), smoothing: C.int(o.Smoothing), epsilon: C.double(o.Epsilon),
		scale: C.double(o.Scale), chunk: C.int64_t(o.Chunk), gradients: C.bool(!o.Evaluate),
	}
	for _, t := range o.Terms {
		t.Fused(&c)
	}
	return c
}

// SoftmaxLoss is a linear layer and softmax cross-entropy in one operator: for hidden [N,D], weight [V,D], bias [V] or
// the zero Tensor, and int64 targets [N] it returns the summed loss times Scale, without dimensions, and the clean
// negative log-likelihood of each row [N], in nats, 0 where ignored, without a gradient. Logits exist for one chunk of
// rows at a time, and gradients are computed while they do. With a transform, or a term without a kernel, plain
// operators compute a chunk ([ScoreLoss]); else one fused kernel does.
func SoftmaxLoss(hidden, weight, bias, targets Tensor, o SoftmaxLossOptions) (loss, nll Tensor) {
	loss, nll, _ = softmaxLoss("SoftmaxLoss", hidden, weight, bias, targets, Tensor{}, o)
	return loss, nll
}

// ShiftedSoftmaxLoss is SoftmaxLoss with the logit of each target lowered by shift [N], whose elements are at least 0
// and which gets a gradient like any operand. The clean negative log-likelihood nll [N] does not know of the shift;
// shifted [N] does. Label smoothing shares its mass over clean logits.
func ShiftedSoftmaxLoss(hidden, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	return softmaxLoss("ShiftedSoftmaxLoss", hidden, weight, bias, targets, shift, o)
}

func softmaxLoss(op string, hidden, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll,
	shifted Tensor) {
	x := LossOperands{Hidden: hidden, Weight: weight, Bias: bias, Targets: targets, Shift: shift}
	if !o.fused() {
		return plainLoss(op, x, o)
	}
	needScope(op)
	var l, n, m C.ap_tensor
	check(op, C.ap_softmax_loss(hidden.c(op), weight.c(op), bias.orNull(op), targets.c(op), shift.orNull(op), o.c(), &l,
		&n, &m),
		x.tensors()...)
	if m != nil {
		shifted = own(op, m)
	}
	loss, nll = ownTwo(op, l, n)
	return loss, nll, shifted
}
