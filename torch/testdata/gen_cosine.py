"""Goldens of the mean cosine between the rows of a matrix: cosine.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_cosine.py (about a second; writes beside itself).

Letters: V 31 rows, D 7 columns, K 5 coordinates. Values come from the matrix of
all cosines, without its diagonal, times weight / V^2.

    dense/{w [V,D], value [], g_w}
    factored/{u [V,K], s [K], v [D,K], value [], g_u, g_s, g_v}      W = U diag(s) V^T
"""

import sys

sys.dont_write_bytecode = True

import torch

import goldens

SEED, V, D, K = 20261121, 31, 7, 5
WEIGHT = 1.5


def penalty(w_VD, weight):
    cosine_VV = torch.nn.functional.cosine_similarity(w_VD[:, None], w_VD[None], dim=2)
    return weight / len(w_VD) ** 2 * (cosine_VV.sum() - cosine_VV.diagonal().sum())


def check_known_values():
    w = torch.tensor([[1, 2], [3, -1], [-2, 0.5]], requires_grad=True)
    value = penalty(w, 1)
    wanted = torch.tensor([[0.00122333, -0.00061166], [0.02029451, 0.06088353], [0.02351609, 0.09406437]])
    assert abs(value.item() + 0.2383475) < 1e-7
    assert torch.allclose(torch.autograd.grad(value, w)[0], wanted, atol=1e-8)


def differentiate(make, **leaves):
    leaves = {name: x.clone().requires_grad_() for name, x in leaves.items()}
    value = penalty(make(**leaves), WEIGHT)
    gradients = torch.autograd.grad(value, list(leaves.values()))
    return {**leaves, "value": value, **{"g_" + name: g for name, g in zip(leaves, gradients)}}


def main():
    goldens.start(SEED)
    check_known_values()
    w_VD = torch.randn(V, D) * torch.randn(V, 1).exp() + 0.3
    u_VK, s_K, v_DK = torch.randn(V, K) + 0.2, torch.linspace(3, 0.5, K), torch.randn(D, K)
    tensors = {}
    for key, value in differentiate(lambda w: w, w=w_VD).items():
        tensors["dense/" + key] = value
    for key, value in differentiate(lambda u, s, v: u * s @ v.T, u=u_VK, s=s_K, v=v_DK).items():
        tensors["factored/" + key] = value
    goldens.save(__file__, "cosine.safetensors", SEED, tensors, {"settings": {"weight": WEIGHT}})


if __name__ == "__main__":
    main()
