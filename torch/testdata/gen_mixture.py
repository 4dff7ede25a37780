"""Goldens of the loss of a mixture of softmaxes: mixture.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_mixture.py (about a second; writes beside itself).

Letters: N 13 positions, K 3 components, D 5 width, V 31 words. Losses of the
ignored target are zero; every loss is a sum over positions, in float64.

    latent [N,K,D]  prior [N,K]  weight [V,D]  bias [V]  shift [N,K]
    targets [N] (int64, 1 is ignored)
    HEAD/KIND/{nll [N], loss [], g_latent, g_prior, g_weight, g_bias}
    HEAD/KIND/{shifted [N], g_shift [N,K]}                     where KIND is shifted

HEAD: plain, bias. KIND: none; fairseq, pytorch, t2t: three definitions of label
smoothing with epsilon 0.1, taken of the mixture's log-probabilities; shifted,
shifted_fairseq: the target's logit of each component is lowered by shift, and
the smoothed mass sees clean log-probabilities. nll is the clean negative
log-likelihood.
"""

import sys

sys.dont_write_bytecode = True

import torch

import goldens
from gen_softmax_loss import smoothed

SEED, N, K, D, V = 20260118, 13, 3, 5, 31
IGNORED, EPSILON = 1, 0.1
KINDS = ("none", "fairseq", "pytorch", "t2t", "shifted", "shifted_fairseq")


def mixture(logits_NKV, prior_NK):
    """Probabilities, made as a reader would: a weighted sum of softmaxes."""
    return (prior_NK.softmax(1)[:, :, None] * logits_NKV.softmax(2)).sum(1)


def losses(leaves, targets_N, kind):
    """nll and loss by position, and the nll that the loss saw."""
    logits_NKV = leaves["latent"] @ leaves["weight"].T
    if "bias" in leaves:
        logits_NKV = logits_NKV + leaves["bias"]
    clean_NV = mixture(logits_NKV, leaves["prior"]).log()
    nll_N = -clean_NV.gather(1, targets_N[:, None]).squeeze(1)
    if not kind.startswith("shifted"):
        # log-probabilities are logits of their own softmax
        return nll_N, smoothed(clean_NV, targets_N, kind, EPSILON), nll_N
    index_NK1 = targets_N[:, None, None].expand(-1, K, 1)
    moved_NV = mixture(logits_NKV.scatter_add(2, index_NK1, -leaves["shift"][:, :, None]), leaves["prior"]).log()
    shifted_N = -moved_NV.gather(1, targets_N[:, None]).squeeze(1)
    if kind == "shifted":
        return nll_N, shifted_N, shifted_N
    others_N = -clean_NV.sum(1) - nll_N
    return nll_N, (1 - EPSILON) * shifted_N + EPSILON / (V - 1) * others_N, shifted_N


def differentiate(tensors, targets_N, kind, with_bias):
    names = ["latent", "prior", "weight"] + ["bias"] * with_bias + ["shift"] * kind.startswith("shifted")
    leaves = {name: tensors[name].clone().requires_grad_() for name in names}
    kept_N = targets_N != IGNORED
    nll_N, loss_N, shifted_N = losses(leaves, targets_N, kind)
    loss = (loss_N * kept_N).sum()
    result = {"nll": nll_N * kept_N, "loss": loss}
    if "shift" in leaves:
        result["shifted"] = shifted_N * kept_N
    for name, gradient in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
        result["g_" + name] = gradient
    return result


def check_known_values():
    logits = torch.tensor([[[1.0, 0, -1], [0, 2, 0]]])
    got = mixture(logits, torch.tensor([[0.25, 0.75]]).log())[0]
    assert torch.allclose(got, torch.tensor([0.246190, 0.651422, 0.102388]), atol=1e-6)


def main():
    goldens.start(SEED)
    check_known_values()
    tensors = {"latent": torch.randn(N, K, D), "prior": torch.randn(N, K), "weight": torch.randn(V, D), "bias": 0.5 * torch.randn(V),
               "shift": torch.rand(N, K)}
    targets_N = torch.randint(2, V, (N,))
    targets_N[[3, 12]] = IGNORED
    targets_N[5] = targets_N[4]  # a repeated word: gradients of its row must add up
    stored = {**tensors, "targets": targets_N}
    for head, with_bias in (("plain", False), ("bias", True)):
        for kind in KINDS:
            for key, value in differentiate(tensors, targets_N, kind, with_bias).items():
                stored[f"{head}/{kind}/{key}"] = value
    goldens.save(__file__, "mixture.safetensors", SEED, stored, {"settings": {"ignored": IGNORED, "epsilon": EPSILON}})


if __name__ == "__main__":
    main()
