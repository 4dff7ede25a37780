"""Goldens of likelihoods of the softmax family: mixtape, drill and headless.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_likelihoods.py (about a second; writes beside itself).

Letters: N 23 rows, D 9 width, V 47 words, M 5 width of gates. Targets of 1 are ignored; a loss is a sum over rows, in
float64. Parameters have the names that they have in a layer.

    hidden [N,D]  targets [N] (int64)  column [N] (int64)  weight [V,D]  and the method's parameters
    FORM/{loss [], nll [N], log_p [N,V], g_hidden, and g_NAME}

FORM: mixtape own (the first 5 words have gates of their own), all (every word has); drill sigmoid (2 layers), relu (3
layers); headless batch. nll and log_p are those of evaluation, which headless takes of a softmax over all words.
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../torch/testdata"))

import torch
import torch.nn.functional as F

import goldens

SEED, N, D, V, M, IGNORED = 20261125, 23, 9, 47, 5, 1


def mixtape(p, frequent):
    """Gates of every word, of which the rare ones are copies of the last row's."""
    h_ND = p["hidden"]
    row_V = torch.arange(V).clamp(max=frequent)
    u_NKD = torch.tanh(torch.einsum("kdh,nh->nkd", p["latent.weight"].view(4, D, D), h_ND))
    gates_NKM = torch.tanh(torch.einsum("kmh,nh->nkm", p["context.weight"].view(3, M, D), h_ND))
    l_NVK = torch.einsum("vm,nkm->nvk", p["words.weight"][row_V], gates_NKM)
    l_NVK = l_NVK + (h_ND @ p["state.weight"].T)[:, None] + p["words.bias"][row_V]
    one, two, three = l_NVK.sigmoid().unbind(-1)
    pi_NVK = torch.stack([one * two, one * (1 - two), (1 - one) * three, (1 - one) * (1 - three)], -1)
    return torch.einsum("nvk,vd,nkd->nv", pi_NVK, p["weight"], u_NKD) + p["bias"]


def drill(p, depth, activation):
    e_VD = p["weight"]
    for i in range(depth):
        e_VD = activation(e_VD @ p[f"layers.{i}.weight"].T + p[f"layers.{i}.bias"]) + p["weight"]
    return p["hidden"] @ e_VD.T + p["bias"]


def contrastive(p, kept):
    """As in the authors' program: exponentials, their diagonal and their sums."""
    e_ND = p["weight"][p["targets"]][kept]
    products_NN = torch.exp(p["hidden"][kept] @ e_ND.T)
    return -(products_NN.diagonal() / (products_NN.sum(-1) + 1e-9)).log()


def layers(depth):
    return {**{f"layers.{i}.weight": torch.randn(D, D) for i in range(depth)},
            **{f"layers.{i}.bias": torch.randn(D) for i in range(depth)}}


def gates(rows):
    return {"latent.weight": torch.randn(4 * D, D), "context.weight": torch.randn(3 * M, D),
            "state.weight": torch.randn(3, D), "words.weight": torch.randn(rows, M), "words.bias": torch.randn(rows, 3)}


# A form is what a method's parameters are, and its scores.
METHODS = {
    "mixtape": {"own": (lambda: gates(6), lambda p: mixtape(p, 5)), "all": (lambda: gates(V + 1), lambda p: mixtape(p, V))},
    "drill": {"sigmoid": (lambda: layers(2), lambda p: drill(p, 2, torch.sigmoid)),
              "relu": (lambda: layers(3), lambda p: drill(p, 3, torch.relu))},
    "headless": {"batch": (dict, lambda p: p["hidden"] @ p["weight"].T)},
}


def main():
    for method, forms in METHODS.items():
        goldens.start(SEED)
        shared = {"hidden": torch.randn(N, D), "weight": torch.randn(V, D)}
        if method != "headless":
            shared["bias"] = 0.5 * torch.randn(V)
        targets = torch.randint(2, 9, (N,))
        targets[5:9] = torch.tensor([0, 46, 30, 30])
        kept = torch.ones(N, dtype=torch.bool)
        kept[[8, 20]] = False
        stored = {**shared, "column": torch.arange(N) % 3, "targets": torch.where(kept, targets, IGNORED)}
        for form, (parameters, scores_of) in forms.items():
            own = parameters()
            stored.update({f"{form}/{name}": x for name, x in own.items()})
            leaves = {name: x.clone().requires_grad_() for name, x in {**shared, **own}.items()}
            log_p_NV = scores_of(leaves).log_softmax(-1)
            nll_N = F.nll_loss(log_p_NV, targets, reduction="none") * kept
            loss = contrastive({**leaves, "targets": targets}, kept).sum() if method == "headless" else nll_N.sum()
            stored.update({f"{form}/loss": loss, f"{form}/nll": nll_N, f"{form}/log_p": log_p_NV})
            gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
            for (name, leaf), gradient in zip(leaves.items(), gradients):
                stored[f"{form}/g_{name}"] = torch.zeros_like(leaf) if gradient is None else gradient
        goldens.save(__file__, f"{method}.safetensors", SEED, stored)


if __name__ == "__main__":
    main()
