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
	check(op, C.ap_mixture_loss(latent.c(op), prior.c(op), weight.c(op), b, targets.c(op), s, o.c(), &l, &n, &p), operands...)
	if p != nil {
		shifted = own(op, p)
	}
	loss, nll = ownTwo(op, l, n)
	return loss, nll, shifted
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
