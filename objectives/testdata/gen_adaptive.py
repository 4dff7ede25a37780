"""Goldens of the adaptive softmax: adaptive.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_adaptive.py (about a second; writes beside itself).

Letters: N 23 rows, D 9 width, V 47 words, C 3 clusters that begin at words 5, 11
and 30. Losses of the ignored target are zero; a loss is a sum over rows, float64.

    hidden [N,D]  targets [N] (int64, 1 is ignored)
    weight [V,D]; or u [V,D], s [D], v [D,D] with W = U diag(s) V^T
    clusters.weight [C,D]  clusters.bias [C]  bias [V]
    tails.I.projection [w,D], tails.I.weight [size,w] with w = D / 2^(I+1)
    FORM/{nll [N], loss [], log_p [N,V], g_hidden, and g_NAME of what the form has}

FORM: dense, bias (words have one too), factored (rows of the clusters are scored
with V^T h scaled by s, as rows of U are), narrow (tails have rows of their own).
dense and narrow are checked against torch.nn.AdaptiveLogSoftmaxWithLoss.
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../torch/testdata"))

import torch

import goldens

SEED, N, D, V = 20260119, 23, 9, 47
IGNORED, CUTOFFS = 1, [5, 11, 30]
FORMS = {
    "dense": ["weight", "clusters.weight", "clusters.bias"],
    "bias": ["weight", "clusters.weight", "clusters.bias", "bias"],
    "factored": ["u", "s", "v", "clusters.weight", "clusters.bias"],
    "narrow": ["weight", "clusters.weight", "clusters.bias"]
    + [f"tails.{i}.{part}" for i in range(3) for part in ("projection", "weight")],
}


def log_probabilities(p, hidden_ND):
    """[N,V], cluster by cluster."""
    if "u" in p:
        rows, scored = p["u"], (hidden_ND @ p["v"]) * p["s"]
    else:
        rows, scored = p["weight"], hidden_ND
    bias_V = p.get("bias", torch.zeros(V))
    head = scored @ torch.cat([rows[: CUTOFFS[0]], p["clusters.weight"]]).T
    head = (head + torch.cat([bias_V[: CUTOFFS[0]], p["clusters.bias"]])).log_softmax(1)
    parts = [head[:, : CUTOFFS[0]]]
    for i, (low, high) in enumerate(zip(CUTOFFS, CUTOFFS[1:] + [V])):
        if "tails.0.weight" in p:
            tail = (hidden_ND @ p[f"tails.{i}.projection"].T) @ p[f"tails.{i}.weight"].T
        else:
            tail = scored @ rows[low:high].T
        parts.append((tail + bias_V[low:high]).log_softmax(1) + head[:, CUTOFFS[0] + i, None])
    return torch.cat(parts, 1)


def check_native(p, hidden_ND, targets_N, log_p_NV):
    """The same numbers from PyTorch's own module."""
    native = torch.nn.AdaptiveLogSoftmaxWithLoss(D, V, CUTOFFS, div_value=2 if "tails.0.weight" in p else 1, head_bias=True)
    with torch.no_grad():
        native.head.weight.copy_(torch.cat([p["weight"][: CUTOFFS[0]], p["clusters.weight"]]))
        native.head.bias.copy_(torch.cat([torch.zeros(CUTOFFS[0]), p["clusters.bias"]]))
        for i, (low, high) in enumerate(zip(CUTOFFS, CUTOFFS[1:] + [V])):
            native.tail[i][0].weight.copy_(p.get(f"tails.{i}.projection", torch.eye(D)))
            native.tail[i][1].weight.copy_(p.get(f"tails.{i}.weight", p["weight"][low:high]))
        assert torch.allclose(native.log_prob(hidden_ND), log_p_NV, atol=1e-12)
        assert torch.allclose(native(hidden_ND, targets_N).output, log_p_NV.gather(1, targets_N[:, None]).squeeze(1), atol=1e-12)


def main():
    goldens.start(SEED)
    tensors = {
        "hidden": torch.randn(N, D), "weight": torch.randn(V, D), "bias": 0.5 * torch.randn(V),
        "u": torch.linalg.qr(torch.randn(V, D)).Q, "s": torch.linspace(9, 3, D), "v": torch.linalg.qr(torch.randn(D, D)).Q,
        "clusters.weight": torch.randn(3, D), "clusters.bias": torch.randn(3),
    }
    for i, (low, high) in enumerate(zip(CUTOFFS, CUTOFFS[1:] + [V])):
        width = D // 2 ** (i + 1)
        tensors[f"tails.{i}.projection"] = torch.randn(width, D)
        tensors[f"tails.{i}.weight"] = torch.randn(high - low, width)
    targets_N = torch.randint(0, V, (N,))
    targets_N[targets_N == IGNORED] = 46
    targets_N[:6] = torch.tensor([4, 5, 10, 11, 29, 30])  # the edges
    targets_N[[8, 20]] = IGNORED
    stored = {**tensors, "targets": targets_N}
    kept_N = targets_N != IGNORED
    for form, names in FORMS.items():
        leaves = {name: tensors[name].clone().requires_grad_() for name in ["hidden"] + names}
        log_p_NV = log_probabilities(leaves, leaves["hidden"])
        assert torch.allclose(log_p_NV.exp().sum(1), torch.ones(N), atol=1e-12)
        if form in ("dense", "narrow"):
            check_native(leaves, leaves["hidden"], targets_N, log_p_NV)
        nll_N = -log_p_NV.gather(1, targets_N[:, None]).squeeze(1) * kept_N
        stored.update({f"{form}/nll": nll_N, f"{form}/loss": nll_N.sum(), f"{form}/log_p": log_p_NV})
        for name, gradient in zip(leaves, torch.autograd.grad(nll_N.sum(), list(leaves.values()))):
            stored[f"{form}/g_{name}"] = gradient
    goldens.save(__file__, "adaptive.safetensors", SEED, stored, {"settings": {"ignored": IGNORED, "cutoffs": ",".join(map(str, CUTOFFS))}})


if __name__ == "__main__":
    main()
