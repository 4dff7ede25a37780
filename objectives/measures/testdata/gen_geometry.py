"""Goldens of measures of geometry and of scores: geometry.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_geometry.py (about a second; writes beside itself).

Letters: V 53 words, D 7 width, N 30 states.

    w [V,D]  counts [V] (0: no word)  hidden [N,D]  few [4,D]  stable [D,D]  log_p, mixed [N,V]
    iso_score, iso_score_star (identity, zeta 0.2), iso_score_few (of few, stable, zeta 0.4)
    mu_norm, mean_share, separation, logit_range, rank, rank_mixed

IsoScore and IsoScore* are in the steps of the authors' definitions. log_p is a softmax, mixed a mixture of two.
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../../torch/testdata"))

import numpy as np
import torch

import goldens

SEED, V, D, N = 20261124, 53, 7, 30


def defect_score(values):
    n = len(values)
    unit = values * np.sqrt(n) / np.linalg.norm(values)
    defect = np.linalg.norm(unit - np.ones(n)) / np.sqrt(2 * (n - np.sqrt(n)))
    return ((n - defect**2 * (n - np.sqrt(n))) ** 2 - n) / (n * (n - 1))


def iso_score(points):
    """By the variances along principal components."""
    _, axes = np.linalg.eigh(np.cov(points.T))
    return defect_score(np.diag(np.cov((points @ axes).T)))


def iso_score_star(points, stable, zeta):
    """By singular values of the shrunk covariance."""
    return defect_score(np.linalg.svd((1 - zeta) * np.cov(points.T) + zeta * stable, compute_uv=False))


def separation(w, counts):
    words = [i for i in np.argsort(counts, kind="stable") if counts[i] > 0]
    n = len(words) // 5
    rare, frequent = w[words[:n]], w[words[-n:]]
    within = [((x - x.mean(0)) ** 2).sum(1).mean() for x in (rare, frequent)]
    return np.linalg.norm(rare.mean(0) - frequent.mean(0)) / np.sqrt(np.mean(within))


def main():
    goldens.start(SEED)
    w = torch.randn(V, D) * torch.linspace(0.3, 2, D) + torch.randn(D)
    counts = torch.randint(0, 40, (V,)).double()
    counts[:3] = 0
    w = w + counts[:, None] / 40 * torch.randn(D)
    hidden, few = torch.randn(N, D) + 1, torch.randn(4, D)
    stable = torch.cov(torch.randn(D, 60))
    log_p = (hidden @ w.T).log_softmax(-1)
    mixed = (0.5 * log_p.exp() + 0.5 * (torch.tanh(hidden) @ w.T).softmax(-1)).log()
    mean = w.mean(0)
    goldens.save(__file__, "geometry.safetensors", SEED, {
        "w": w, "counts": counts, "hidden": hidden, "few": few, "stable": stable, "log_p": log_p, "mixed": mixed,
        "iso_score": iso_score(w.numpy()),
        "iso_score_star": iso_score_star(w.numpy(), np.eye(D), 0.2),
        "iso_score_few": iso_score_star(few.numpy(), stable.numpy(), 0.4),
        "mu_norm": mean.norm(), "mean_share": V * mean.dot(mean) / (w**2).sum(),
        "separation": separation(w.numpy(), counts.numpy()),
        "logit_range": ((hidden @ w.T).amax(1) - (hidden @ w.T).amin(1)).mean(),
        "rank": float(np.linalg.matrix_rank(log_p.numpy())), "rank_mixed": float(np.linalg.matrix_rank(mixed.numpy())),
    })


if __name__ == "__main__":
    main()
