"""Goldens of the z-loss in the losses over a vocabulary: z_loss.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_z_loss.py (about a second; writes beside itself).

Letters: N 13 positions, K 3 components, D 5 width, V 31 words. Losses of the
ignored target are zero; every loss is a sum over positions, in float64. Each
position that counts pays zeta (log Z)^2 more, Z the sum of exponentials of its
clean logits (Chowdhery et al. 2022, section 5); in a mixture that is the mean
over its components.

    latent [N,K,D]  prior [N,K]  weight [V,D]  bias [V]  shift [N,K]
    targets [N] (int64, 1 is ignored)
    FORM/HEAD/KIND/{nll [N], loss [], g_latent, g_weight, g_bias}
    mixture/HEAD/KIND/g_prior
    FORM/HEAD/KIND/{shifted [N], g_shift}                     where KIND is shifted

FORM: softmax, which has the first component's latent states and shifts, and
mixture. HEAD: plain, bias. KIND: as gen_mixture.py has them.
"""

import sys

sys.dont_write_bytecode = True

import torch

import goldens
import gen_mixture
from gen_softmax_loss import adversarial_smoothed, smoothed

SEED, N, K, D, V = 20260119, 13, 3, 5, 31
IGNORED, EPSILON, ZETA = gen_mixture.IGNORED, gen_mixture.EPSILON, 0.05


def z_loss(logits):
    """By position, of logits [N,V] or [N,K,V]."""
    log_z = logits.exp().sum(-1).log()
    return ZETA * log_z**2 if log_z.dim() == 1 else ZETA * (log_z**2).mean(1)


def softmax_losses(leaves, targets_N, kind):
    """nll and loss by position, and the nll that the loss saw."""
    logits_NV = leaves["latent"] @ leaves["weight"].T + leaves.get("bias", 0)
    nll_N = smoothed(logits_NV, targets_N, "none", 0)
    if not kind.startswith("shifted"):
        return nll_N, smoothed(logits_NV, targets_N, kind, EPSILON) + z_loss(logits_NV), nll_N
    moved_NV = logits_NV.scatter_add(1, targets_N[:, None], -leaves["shift"][:, None])
    shifted_N = smoothed(moved_NV, targets_N, "none", 0)
    loss_N = shifted_N
    if kind != "shifted":
        loss_N = adversarial_smoothed(logits_NV, moved_NV, targets_N, "fairseq", EPSILON)
    return nll_N, loss_N + z_loss(logits_NV), shifted_N


def mixture_losses(leaves, targets_N, kind):
    nll_N, loss_N, shifted_N = gen_mixture.losses(leaves, targets_N, kind)
    logits_NKV = leaves["latent"] @ leaves["weight"].T + leaves.get("bias", 0)
    return nll_N, loss_N + z_loss(logits_NKV), shifted_N


def differentiate(losses, tensors, targets_N, names, kind):
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
    """Of two logits of 0 Z is 2, and its gradient is shared by halves."""
    logits = torch.zeros(1, 2, requires_grad=True)
    loss = z_loss(logits).sum()
    assert abs(loss.item() - ZETA * 0.4804530139) < 1e-10
    assert torch.allclose(torch.autograd.grad(loss, [logits])[0], torch.full((1, 2), ZETA * 0.6931471806))


def main():
    goldens.start(SEED)
    check_known_values()
    mixture = {"latent": torch.randn(N, K, D), "prior": torch.randn(N, K), "weight": torch.randn(V, D), "bias": 0.5 * torch.randn(V),
               "shift": torch.rand(N, K)}
    softmax = {**mixture, "latent": mixture["latent"][:, 0], "shift": mixture["shift"][:, 0]}
    targets_N = torch.randint(2, V, (N,))
    targets_N[[3, 12]] = IGNORED
    targets_N[5] = targets_N[4]  # a repeated word: gradients of its row must add up
    stored = {**mixture, "targets": targets_N}
    forms = {"softmax": (softmax_losses, softmax, ["latent", "weight"]), "mixture": (mixture_losses, mixture, ["latent", "prior", "weight"])}
    for form, (losses, tensors, own) in forms.items():
        for head in ("plain", "bias"):
            for kind in gen_mixture.KINDS:
                names = own + ["bias"] * (head == "bias") + ["shift"] * kind.startswith("shifted")
                for key, value in differentiate(losses, tensors, targets_N, names, kind).items():
                    stored[f"{form}/{head}/{kind}/{key}"] = value
    goldens.save(__file__, "z_loss.safetensors", SEED, stored, {"settings": {"ignored": IGNORED, "epsilon": EPSILON, "zeta": ZETA}})


if __name__ == "__main__":
    main()
