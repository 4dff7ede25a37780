package torch

// #include "api.h"
import "C"

// MixtureLoss is the cross-entropy of a mixture of softmaxes in one operator (Yang et al. 2018): with latent states u
// [N,K,D], weight w [V,D] and bias b [V] or the zero Tensor, and scores a [N,K] of the prior,
//
//	P(j) = sum_k softmax(a)_k softmax(w u_k + b)_j
//
// For int64 targets [N] it returns the summed loss times Scale, without dimensions, and the clean -log P(target) of
// each position [N], in nats, 0 where ignored, without a gradient. Label smoothing takes -log P(j) of every word.
//
// shift [N,K], or the zero Tensor, is taken off the target's score under each component in the loss; shifted [N] is
// then -log P(target) with it, and the zero Tensor otherwise.
//
// Chunk counts rows of logits, K of which belong to one position. Logits exist
// for one chunk at a time, and gradients are computed while they do.
func MixtureLoss(latent, prior, weight, bias, targets, shift Tensor, o SoftmaxLossOptions) (loss, nll, shifted Tensor) {
	const op = "MixtureLoss"
	x := LossOperands{Hidden: latent, Prior: prior, Weight: weight, Bias: bias, Targets: targets, Shift: shift}
	prior.c(op)
	if !o.fused() {
		return plainLoss(op, x, o)
	}
	needScope(op)
	var l, n, p C.ap_tensor
	check(op, C.ap_mixture_loss(latent.c(op), prior.c(op), weight.c(op), bias.orNull(op), targets.c(op),
		shift.orNull(op), o.c(), &l, &n, &p),
		x.tensors()...)
	if p != nil {
		shifted = own(op, p)
	}
	loss, nll = ownTwo(op, l, n)
	return loss, nll, shifted
}

// MixtureLogProbs gives log P [N,V] of the same mixture for decoding, without gradients, of transformed scores where
// the transform is not nil. Logits exist for a chunk of positions at a time.
func MixtureLogProbs(latent, prior, weight, bias Tensor, transform ScoreTransform) (logProbs Tensor) {
	const op = "MixtureLogProbs"
	if transform != nil {
		NoGrad(func() { logProbs = plainMixtureLogProbs(latent, prior, weight, bias, transform) })
		return logProbs
	}
	var out C.ap_tensor
	return made(op, C.ap_mixture_log_probs(latent.c(op), prior.c(op), weight.c(op), bias.orNull(op), &out), &out,
		latent, prior, weight, bias)
}

func plainMixtureLogProbs(latent, prior, weight, bias Tensor, transform ScoreTransform) Tensor {
	needScope("MixtureLogProbs")
	scope := OpenScope()
	defer scope.Close()
	n, k := latent.Size(0), latent.Size(1)
	chunk := chunkPositions(n, k, weight.Size(0), latent.DType(), latent.Device(), 0)
	var parts []Tensor
	for start := int64(0); start == 0 || start < n; start += chunk {
		parts = append(parts, Scoped(func() Tensor {
			c := min(chunk, n-start)
			logits := Linear(latent.Narrow(0, start, c), weight, bias)
			logits = logits.To(wider(logits.DType()), logits.Device())
			return ScoreChunk{Prior: prior.Narrow(0, start, c).To(logits.DType(),
				logits.Device())}.logProbs(transform.rows(logits))
		}))
	}
	out := Cat(parts, 0)
	out.move("MixtureLogProbs", scope.parent)
	return out
}
