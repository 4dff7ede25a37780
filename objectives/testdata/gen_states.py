"""Goldens of penalties of hidden states: states.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_states.py (about a second; writes beside itself).

Letters: N 23 states, D 9 width. Four sentences have 11, 7, 4 and 1 states. All in float64.

    hidden [N,D]  column [N] (int64, the sentence of each state)  stable [D,D] (a covariance)
    CASE/value []  CASE/gradient [N,D]

A value is the sum over sentences of their length times what the formula gives for a sentence; of istar it is N times
what it gives for all states.
"""

import math
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../torch/testdata"))

import torch

import goldens

SEED, D = 20261125, 9
LENGTHS = [11, 7, 4, 1]


def pairs(t):
    return ~torch.eye(t, dtype=torch.bool)


def cosines(x_TD):
    return torch.nn.functional.cosine_similarity(x_TD[:, None], x_TD[None], dim=-1)


def simctg(x_TD):
    return torch.relu(0.5 - 1 + cosines(x_TD))[pairs(len(x_TD))].mean()


def angles(x_TD):
    c = cosines(x_TD)
    c = c + (c.clamp(-0.75, 0.75) - c).detach()
    return (c.arccos() / math.pi)[pairs(len(x_TD))]


def angular_spread(x_TD):
    return (-angles(x_TD) / 0.7).exp().mean().log()


def orthogonality(x_TD):
    return (0.5 - angles(x_TD)).clamp(min=0).pow(2).mean()


def correlations(x_TD):
    return torch.corrcoef(x_TD).pow(2)[pairs(len(x_TD))].mean()


def distances(x_TD):
    squared_TT = ((x_TD[:, None] - x_TD[None]) ** 2).sum(-1)
    return (-squared_TT / 0.7).exp().mean().log() + 0.1 * (x_TD**2).mean()


def sentences(value):
    return lambda x_ND, column_N, _: sum(
        n * value(x_ND[column_N == i]) for i, n in enumerate(LENGTHS) if n > 1)


def istar(zeta, weight, other=False):
    """The authors' definition, by singular values."""

    def value(x_ND, _, stable_DD):
        covariance_DD = (1 - zeta) * torch.cov(x_ND.T) + zeta * (stable_DD if other else torch.eye(D))
        n, values = torch.tensor(float(D)), torch.linalg.svdvals(covariance_DD)
        unit = n.sqrt() * values / values.norm()
        defect = (unit - 1).norm() / (2 * (n - n.sqrt())).sqrt()
        score = ((n - defect**2 * (n - n.sqrt())) ** 2 - n) / (n * (n - 1))
        return weight * (1 - score) * len(x_ND)

    return value


CASES = {
    "simctg": sentences(simctg),
    "angles": sentences(angular_spread),
    "orthogonality": sentences(orthogonality),
    "correlations": sentences(correlations),
    "distances": sentences(distances),
    "istar of the batch": istar(0.0, 3.0),
    "istar with the identity": istar(0.2, -5.0),
    "istar with a covariance": istar(0.4, -1.0, other=True),
}


def main():
    goldens.start(SEED)
    n = sum(LENGTHS)
    column_N = torch.tensor([i for i, length in enumerate(LENGTHS) for _ in range(length)])[torch.randperm(n)]
    # A cone, so that some cosines are above the bounds and some below.
    hidden_ND = torch.randn(n, D) + 1.2 * torch.randn(D)
    hidden_ND[column_N == 2] *= 0.01  # lengths must not matter where angles are taken
    stable_DD = torch.cov(torch.randn(D, 40))
    stored = {"hidden": hidden_ND, "column": column_N, "stable": stable_DD}
    for name, case in CASES.items():
        x_ND = hidden_ND.clone().requires_grad_()
        value = case(x_ND, column_N, stable_DD)
        (stored[f"{name}/gradient"],) = torch.autograd.grad(value, x_ND)
        stored[f"{name}/value"] = value
    goldens.save(__file__, "states.safetensors", SEED, stored)


if __name__ == "__main__":
    main()
