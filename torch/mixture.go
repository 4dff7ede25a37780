package torch

// #include "api.h"
import "C"

// MixtureLoss is the cross-entropy of a mixture of softmaxes in one operator
// (Yang et al. 2018): with latent states u [N,K,D], weight w [V,D] and bias b [V]
// or the zero Tensor, and scores a [N,K] of the prior,
//
//	P(j) = sum_k softmax(a)_k softmax(w u_k + b)_j
//
// For int64 targets [N] it returns the summed loss times Scale, without
// dimensions, and the clean -log P(target) of each position [N], in nats, 0 where
// ignored, without a gradient. Label smoothing takes -log P(j) of every word.
//
// shift [N,K], or the zero Tensor, is taken off the target's score under each
// component in the loss; shifted [N] is then -log P(target) with it, and the zero
// Tensor otherwise.
//
// Chunk counts rows of logits, K of which belong to one position. Logits exist
// for one chunk at a time, and gradients are computed while they do.
func MixtureLoss(latent, prior, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	const op = "MixtureLoss"
	var b, s, l, n, p C.ap_tensor
	operands := []Tensor{latent, prior, weight, targets}
	if bias.h != nil {
		b = bias.c(op)
		operands = append(operands, bias)
	}
	if shift.h != nil {
		s = shift.c(op)
		operands = append(operands, shift)
	}
	check(op, C.ap_mixture_loss(latent.c(op), prior.c(op), weight.c(op), b, targets.c(op), s, C.int64_t(o.Ignore), C.int(o.Smoothing),
		C.double(o.Epsilon), C.bool(o.SmoothShifted), C.double(o.Scale), C.int64_t(o.Chunk), C.bool(!o.Evaluate), &l, &n, &p), operands...)
	if p != nil {
		shifted = own(op, p)
	}
	loss, nll = ownTwo(op, l, n)
	return loss, nll, shifted
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
	return row.AddScalar(-entropy).MaskedFill(ignored, 0).Sum().MulScalar(o.Scale), nll, shifted
}

// MixtureLogProbs gives log P [N,V] of the same mixture for decoding, without
// gradients. Logits exist for a chunk of positions at a time.
func MixtureLogProbs(latent, prior, weight, bias Tensor) Tensor {
	const op = "MixtureLogProbs"
	var b, out C.ap_tensor
	operands := []Tensor{latent, prior, weight}
	if bias.h != nil {
		b = bias.c(op)
		operands = append(operands, bias)
	}
	check(op, C.ap_mixture_log_probs(latent.c(op), prior.c(op), weight.c(op), b, &out), operands...)
	return own(op, out)
}

// MixtureLogProbsReference is MixtureLogProbs made of plain operators; it keeps
// the logits [N,K,V].
func MixtureLogProbsReference(latent, prior, weight, bias Tensor) Tensor {
	return Linear(latent, weight, bias).LogSoftmax(2).Add(prior.LogSoftmax(1).Reshape(latent.Size(0), latent.Size(1), 1)).LogSumExp(1, false)
}
