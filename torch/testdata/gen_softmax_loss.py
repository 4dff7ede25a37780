"""Goldens of the softmax losses over a vocabulary: softmax_loss.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_softmax_loss.py (about a second; writes beside itself).

Letters: N 31 rows, D 7 width, V 47 words. Row losses of the ignored target are
zero; every loss is a sum over rows, not a mean, in float64.

    hidden [N,D]  weight [V,D]  bias [V]  targets [N] (int64, 1 is ignored)
    factored/{u [V,D], s [D], v [D,D]}        W = U diag(s) V^T
    HEAD/KIND/{nll [N], loss [], g_hidden, and the gradients of the head's own tensors}

HEAD: dense, dense_bias (weight, bias), factored, factored_bias (u, s, v, bias).
KIND: none; fairseq, pytorch (Marian's too), t2t: three definitions of label
smoothing with epsilon 0.1; code, paper, full: the adversarial softmax with alpha
0.05, differentiated in its three modes. nll is the clean negative
log-likelihood and is the same for every KIND; adversarial kinds add
KIND/adversarial_nll [N]. For dense_bias there is full_SMOOTHING_clean too, whose
smoothed mass sees clean scores.
"""

import math
import sys

sys.dont_write_bytecode = True

import torch

import goldens

SEED, N, D, V = 20260117, 31, 7, 47
IGNORED, EPSILON, ALPHA = 1, 0.1, 0.05
SMOOTHINGS = ("none", "fairseq", "pytorch", "t2t")
MODES = ("code", "paper", "full")


def smoothed(logits_NV, targets_N, kind, epsilon):
    """Loss by row, as each code base defines label smoothing."""
    cost_NV = -logits_NV.log_softmax(1)
    nll_N = cost_NV.gather(1, targets_N[:, None]).squeeze(1)
    vocabulary = logits_NV.shape[1]
    if kind == "none":
        return nll_N
    if kind == "pytorch":
        return (1 - epsilon) * nll_N + epsilon / vocabulary * cost_NV.sum(1)
    other = epsilon / (vocabulary - 1)
    loss_N = (1 - epsilon - other) * nll_N + other * cost_NV.sum(1)
    if kind == "t2t":
        loss_N = loss_N + (1 - epsilon) * math.log(1 - epsilon) + epsilon * math.log(other)
    return loss_N


def adversarial(logits_NV, hidden_ND, target_rows_ND, targets_N, mode, alpha):
    """Logits whose target score is lowered by alpha |w_y| |h|.

    The three modes share that value and differ in what is differentiated.
    """
    radius_N = alpha * target_rows_ND.norm(dim=1)
    if mode == "code":
        delta_ND = (-radius_N[:, None] * hidden_ND / hidden_ND.norm(dim=1, keepdim=True)).detach()
        change_N = (delta_ND * hidden_ND).sum(1)
    elif mode == "paper":
        change_N = -(radius_N * hidden_ND.norm(dim=1)).detach()
    else:
        change_N = -radius_N * hidden_ND.norm(dim=1)
    return logits_NV.scatter_add(1, targets_N[:, None], change_N[:, None])


def adversarial_smoothed(logits_NV, moved_NV, targets_N, kind, epsilon):
    """Loss by row: the target sees moved scores, every other symbol clean ones."""
    vocabulary = logits_NV.shape[1]
    other = epsilon / (vocabulary if kind == "pytorch" else vocabulary - 1)
    share_NV = torch.full_like(logits_NV, other).scatter(1, targets_N[:, None], 1 - other * (vocabulary - 1))
    target_NV = torch.nn.functional.one_hot(targets_N, vocabulary).bool()
    cost_NV = torch.where(target_NV, -moved_NV.log_softmax(1), -logits_NV.log_softmax(1))
    loss_N = (share_NV * cost_NV).sum(1)
    if kind == "t2t":
        loss_N = loss_N + (share_NV * share_NV.log()).sum(1)
    return loss_N


class Dense:
    def __init__(self, weight_VD):
        self.own = {"weight": weight_VD}

    def logits(self, hidden_ND):
        return hidden_ND @ self.own["weight"].T

    def rows(self, targets_N):
        return self.own["weight"][targets_N]


class Factored:
    def __init__(self, u_VD, s_D, v_DD):
        self.own = {"u": u_VD, "s": s_D, "v": v_DD}

    def logits(self, hidden_ND):
        return ((hidden_ND @ self.own["v"]) * self.own["s"]) @ self.own["u"].T

    def rows(self, targets_N):
        return (self.own["u"][targets_N] * self.own["s"]) @ self.own["v"].T


def differentiate(head, bias_V, hidden_ND, targets_N, kind):
    """nll, loss and gradients of one head under one kind of loss."""
    hidden_ND = hidden_ND.clone().requires_grad_()
    head = type(head)(*[p.clone().requires_grad_() for p in head.own.values()])
    leaves = {"hidden": hidden_ND, **head.own}
    logits_NV = head.logits(hidden_ND)
    if bias_V is not None:
        leaves["bias"] = bias_V.clone().requires_grad_()
        logits_NV = logits_NV + leaves["bias"]
    kept_N = targets_N != IGNORED
    result = {"nll": smoothed(logits_NV, targets_N, "none", 0) * kept_N}
    mode, *smoothing = kind.split("_")
    if mode in MODES:
        moved_NV = adversarial(logits_NV, hidden_ND, head.rows(targets_N), targets_N, mode, ALPHA)
        loss_N = smoothed(moved_NV, targets_N, "none", 0)
        result["adversarial_nll"] = loss_N * kept_N
        if smoothing:
            loss_N = adversarial_smoothed(logits_NV, moved_NV, targets_N, smoothing[0], EPSILON)
    else:
        loss_N = smoothed(logits_NV, targets_N, kind, EPSILON)
    loss = (loss_N * kept_N).sum()
    result["loss"] = loss
    for name, gradient in zip(leaves, torch.autograd.grad(loss, list(leaves.values()))):
        result["g_" + name] = gradient
    return result


def check_known_values():
    """Worked examples with published or hand-computed values."""
    logits = torch.tensor([[1, 2, 3, 0.5]])
    for kind, want in (("none", 0.460773), ("fairseq", 0.644107), ("pytorch", 0.598273)):
        assert abs(smoothed(logits, torch.tensor([2]), kind, 0.1).item() - want) < 1e-6, kind
    flat = torch.zeros(1, V)
    for kind in ("fairseq", "pytorch"):
        assert abs(smoothed(flat, torch.tensor([3]), kind, 0.1).item() - math.log(V)) < 1e-12
    native = torch.nn.functional.cross_entropy(logits, torch.tensor([2]), label_smoothing=0.1)
    assert abs(native.item() - smoothed(logits, torch.tensor([2]), "pytorch", 0.1).item()) < 1e-12

    weight = torch.tensor([[1, 2], [3, -1], [-2, 0.5]])
    wanted = {
        "code": ((1.946358, -2.995180), (-0.585896, 0.781195)),
        "paper": ((1.880853, -2.907840), (-0.585896, 0.781195)),
        "full": ((1.946358, -2.995180), (-0.564061, 0.824865)),
    }
    for mode, (g_hidden, g_row) in wanted.items():
        hidden = torch.tensor([[0.6, -0.8]], requires_grad=True)
        w = weight.clone().requires_grad_()
        target = torch.tensor([0])
        loss = smoothed(adversarial(hidden @ w.T, hidden, w[target], target, mode, 0.05), target, "none", 0)
        assert abs(loss.item() - 3.750475) < 1e-6
        got = torch.autograd.grad(loss.sum(), [hidden, w])
        assert torch.allclose(got[0][0], torch.tensor(g_hidden), atol=2e-6), mode
        assert torch.allclose(got[1][0], torch.tensor(g_row), atol=2e-6), mode


def main():
    goldens.start(SEED)
    check_known_values()
    hidden_ND = torch.randn(N, D)
    weight_VD = torch.randn(V, D)
    bias_V = 0.5 * torch.randn(V)
    u_VD = torch.linalg.qr(torch.randn(V, D)).Q + 0.01 * torch.randn(V, D)
    v_DD = torch.linalg.qr(torch.randn(D, D)).Q + 0.01 * torch.randn(D, D)
    s_D = torch.linspace(9, 3, D)
    targets_N = torch.randint(2, V, (N,))
    targets_N[[3, 10, 30]] = IGNORED
    targets_N[5] = targets_N[4]  # a repeated word: gradients of its row must add up

    tensors = {"hidden": hidden_ND, "weight": weight_VD, "bias": bias_V, "targets": targets_N,
               "factored/u": u_VD, "factored/s": s_D, "factored/v": v_DD}
    heads = {"dense": Dense(weight_VD), "factored": Factored(u_VD, s_D, v_DD)}
    for name, head in heads.items():
        for suffix, bias in (("", None), ("_bias", bias_V)):
            for kind in SMOOTHINGS + MODES:
                for key, value in differentiate(head, bias, hidden_ND, targets_N, kind).items():
                    tensors[f"{name}{suffix}/{kind}/{key}"] = value

    for smoothing in SMOOTHINGS[1:]:
        kind = f"full_{smoothing}_clean"
        for key, value in differentiate(heads["dense"], bias_V, hidden_ND, targets_N, kind).items():
            tensors[f"dense_bias/{kind}/{key}"] = value

    # A factored head is the dense head of its product: same losses, same hidden gradient.
    product = differentiate(Dense(u_VD @ torch.diag(s_D) @ v_DD.T), bias_V, hidden_ND, targets_N, "full")
    for key in ("nll", "loss", "g_hidden", "g_bias"):
        assert torch.allclose(product[key], tensors[f"factored_bias/full/{key}"], atol=1e-11)
    goldens.save(__file__, "softmax_loss.safetensors", SEED, tensors,
                 {"settings": {"ignored": IGNORED, "epsilon": EPSILON, "alpha": ALPHA}})


if __name__ == "__main__":
    main()
