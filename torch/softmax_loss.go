package torch

// #include "api.h"
import "C"

// Smoothing says how label smoothing spreads epsilon of the target's mass over a
// vocabulary of V.
type Smoothing int

// The three definitions in use. With epsilon = 0 they agree.
const (
	SmoothingFairseq Smoothing = iota // 1-epsilon on the target, epsilon/(V-1) on every other symbol
	SmoothingPyTorch                  // 1-epsilon+epsilon/V on the target, epsilon/V on every other (Marian too)
	SmoothingT2T                      // as fairseq, less the entropy of the soft target
)

// SoftmaxLossOptions are the settings of SoftmaxLoss, ShiftedSoftmaxLoss and
// MixtureLoss.
//
// With the z-loss (Chowdhery et al. 2022, "PaLM", section 5, with zeta = 1e-4) a
// row that counts pays zeta (log Z)^2 more, where Z is the sum of exponentials of
// its logits, so that they do not drift away. Under a shift Z is that of the clean
// logits: the penalty is about the layer's normaliser, the shift about the target's
// score. Each softmax of a mixture has a Z of its own, and a position pays the mean
// over them. It is part of the loss alone, never of a negative log-likelihood.
type SoftmaxLossOptions struct {
	Ignore        int64 // targets with this id count as nothing
	Smoothing     Smoothing
	Epsilon       float64 // label smoothing, 0 for none
	SmoothShifted bool    // the smoothed mass sees shifted logits; else clean ones
	ZLoss         float64 // zeta of the z-loss, 0 for none
	Scale         float64 // factor of the summed loss, e.g. 1/tokens of the update
	Chunk         int64   // rows of logits at a time; 0 chooses by shape and cache
	Evaluate      bool    // no gradients are computed
}

// c gives the options to the C++ side.
func (o SoftmaxLossOptions) c() C.ap_loss_options {
	return C.ap_loss_options{
		ignore: C.int64_t(o.Ignore), smoothing: C.int(o.Smoothing), epsilon: C.double(o.Epsilon), smooth_shifted: C.bool(o.SmoothShifted),
		z_loss: C.double(o.ZLoss), scale: C.double(o.Scale), chunk: C.int64_t(o.Chunk), gradients: C.bool(!o.Evaluate),
	}
}

// SoftmaxLoss is a linear layer and softmax cross-entropy in one operator: for
// hidden [N,D], weight [V,D], bias [V] or the zero Tensor, and int64 targets [N]
// it returns the summed loss times Scale, without dimensions, and the clean
// negative log-likelihood of each row [N], in nats, 0 where ignored, without a
// gradient. Logits exist for one chunk of rows at a time, and gradients are
// computed while they do.
func SoftmaxLoss(hidden, weight, bias, targets Tensor, o SoftmaxLossOptions) (loss, nll Tensor) {
	loss, nll, _ = softmaxLoss("SoftmaxLoss", hidden, weight, bias, targets, Tensor{}, o)
	return loss, nll
}

// ShiftedSoftmaxLoss is SoftmaxLoss with the logit of each target lowered by
// shift [N], whose elements are at least 0 and which gets a gradient like any
// operand. The clean negative log-likelihood nll [N] does not know of the shift;
// shifted [N] does. Label smoothing shares its mass over clean logits, unless
// SmoothShifted is set.
func ShiftedSoftmaxLoss(hidden, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	return softmaxLoss("ShiftedSoftmaxLoss", hidden, weight, bias, targets, shift, o)
}

func softmaxLoss(op string, hidden, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	var b, s, l, n, m C.ap_tensor
	operands := []Tensor{hidden, weight, targets}
	if bias.h != nil {
		b = bias.c(op)
		operands = append(operands, bias)
	}
	if shift.h != nil {
		s = shift.c(op)
		operands = append(operands, shift)
	}
	check(op, C.ap_softmax_loss(hidden.c(op), weight.c(op), b, targets.c(op), s, o.c(), &l, &n, &m), operands...)
	if m != nil {
		shifted = own(op, m)
	}
	loss, nll = ownTwo(op, l, n)
	return loss, nll, shifted
}

// zLoss is zeta (log Z)^2 of each row of logits, made of plain operators.
func (o SoftmaxLossOptions) zLoss(logits Tensor) Tensor {
	return logits.LogSumExp(-1, false).Square().MulScalar(o.ZLoss)
}

// SoftmaxLossReference is SoftmaxLoss made of plain operators; it keeps the
// logits [N,V].
func SoftmaxLossReference(hidden, weight, bias, targets Tensor, o SoftmaxLossOptions) (loss, nll Tensor) {
	v := float64(weight.Size(0))
	keep := targets.EqualScalar(float64(o.Ignore)).Not()
	safe := targets.MaskedFill(keep.Not(), 0)
	logits := Linear(hidden, weight, bias)
	logP := logits.LogSoftmax(1)
	perRow := logP.Gather(1, safe.Reshape(-1, 1)).Reshape(-1).Neg()
	nll = perRow.MaskedFill(keep.Not(), 0)
	every := logP.SumDim(1, false).Neg().MaskedFill(keep.Not(), 0)
	on, off, entropy := smoothingWeights(o.Smoothing, o.Epsilon, v)
	sum := nll.Sum().MulScalar(on).Add(every.Sum().MulScalar(off))
	if o.ZLoss != 0 {
		sum = sum.Add(o.zLoss(logits).MaskedFill(keep.Not(), 0).Sum())
	}
	kept := keep.To(nll.DType(), nll.Device()).Sum().MulScalar(entropy)
	return sum.Sub(kept).MulScalar(o.Scale), nll.Detach()
}

// ShiftedSoftmaxLossReference is ShiftedSoftmaxLoss made of plain operators; it
// keeps the logits [N,V].
func ShiftedSoftmaxLossReference(hidden, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	v := weight.Size(0)
	ignored := targets.EqualScalar(float64(o.Ignore))
	safe := targets.MaskedFill(ignored, 0).Reshape(-1, 1)
	target := safe.Equal(Arange(v, targets.Device())) // [N,V]
	logits := Linear(hidden, weight, bias)
	cost := logits.LogSoftmax(1).Neg()
	shiftedCost := logits.Sub(target.To(logits.DType(), logits.Device()).Mul(shift.Reshape(-1, 1))).LogSoftmax(1).Neg()
	ofTarget := func(x Tensor) Tensor { return x.Gather(1, safe).Reshape(-1) }
	on, off, entropy := smoothingWeights(o.Smoothing, o.Epsilon, float64(v))
	row := ofTarget(shiftedCost).MulScalar(on + off)
	if smoothed := cost; off != 0 {
		if o.SmoothShifted {
			smoothed = shiftedCost
		}
		row = row.Add(smoothed.MaskedFill(target, 0).SumDim(1, false).MulScalar(off))
	}
	if o.ZLoss != 0 {
		row = row.Add(o.zLoss(logits))
	}
	loss = row.AddScalar(-entropy).MaskedFill(ignored, 0).Sum().MulScalar(o.Scale)
	return loss, ofTarget(cost).MaskedFill(ignored, 0).Detach(), ofTarget(shiftedCost).MaskedFill(ignored, 0).Detach()
}

// MixtureLossReference is MixtureLoss made of plain operators; it keeps the
// logits [N,K,V].
func MixtureLossReference(latent, prior, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	n, k, v := latent.Size(0), latent.Size(1), weight.Size(0)
	ignored := targets.EqualScalar(float64(o.Ignore))
	safe := targets.MaskedFill(ignored, 0).Reshape(-1, 1)
	target := safe.Equal(Arange(v, targets.Device())) // [N,V]
	logPrior := prior.LogSoftmax(1).Reshape(n, k, 1)
	// -log P [N,V] for logits [N,K,V]
	mix := func(logits Tensor) Tensor { return logits.LogSoftmax(2).Add(logPrior).LogSumExp(1, false).Neg() }
	ofTarget := func(x Tensor) Tensor { return x.Gather(1, safe).Reshape(-1) }
	logits := Linear(latent, weight, bias)
	cost := mix(logits)
	nll = ofTarget(cost).MaskedFill(ignored, 0).Detach()
	own, smoothed := cost, cost
	if shift.Defined() {
		own = mix(logits.Sub(target.To(logits.DType(), logits.Device()).Reshape(n, 1, v).Mul(shift.Reshape(n, k, 1))))
		shifted = ofTarget(own).MaskedFill(ignored, 0).Detach()
		if o.SmoothShifted {
			smoothed = own
		}
	}
	on, off, entropy := smoothingWeights(o.Smoothing, o.Epsilon, float64(v))
	row := ofTarget(own).MulScalar(on + off)
	if off != 0 {
		row = row.Add(smoothed.MaskedFill(target, 0).SumDim(1, false).MulScalar(off))
	}
	if o.ZLoss != 0 {
		row = row.Add(o.zLoss(logits).MeanDim(1, false))
	}
	return row.AddScalar(-entropy).MaskedFill(ignored, 0).Sum().MulScalar(o.Scale), nll, shifted
}
