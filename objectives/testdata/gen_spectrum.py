"""Goldens of spectrum control and of isotropy: spectrum.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_spectrum.py (about a second; writes beside itself).

Letters: V 47 words, D 7 width; W = U diag(s) V^T. float64.

Penalties: penalty/NAME/{value, grad} with inputs u [V,D], v [D,D], s [D], w [V,D].
    frobenius_u, frobenius_v    |U^T U - I|_F^2, |V^T V - I|_F^2
    spectral_u, spectral_v      squared spectral norm of the same, from eigenvalues
    *_orthonormal               the same at q [V,D], whose columns are orthonormal:
                                value 0 (no gradient of the spectral norm there)
    spectral_wide               at `wide` [V,D], where the eigenvalue of largest size
                                is negative
    exponential, polynomial     sum_k (s_k - prior_k)^2; prior/NAME [D]
    d_optimal                   -mean_k log s_k
    cosine                      (|sum_i w_i/|w_i||^2 - V) / V^2
normalised/s                    s / max|s|
proximal/{s, rate, weight}      (s + 2 rate weight prior) / (1 + 2 rate weight), polynomial prior
The metadata key "priors" holds c1, c2 and gamma.

Measures: measure/MATRIX/{w, i1, i2, i1_both_signs, i2_both_signs, mean_cosine,
frobenius, singular_values, sigma_ratio, effective_rank} for MATRIX random
(47 x 7), narrow (rows in a cone, large scores), published (3 x 2), zero.
Z(a) = sum_i exp(w_i . a) over the unit eigenvectors a of W^T W; i1 = min Z / max Z,
i2 = standard deviation (population) / mean of Z. An eigenvector's sign is such
that its largest component is positive; both signs takes a and -a. Undefined
measures of the zero matrix are left out.
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../torch/testdata"))

import torch

import goldens

SEED, V, D = 20260121, 47, 7
PRIORS = {"exponential": {"c1": 3.0, "c2": 0.4, "gamma": 0.75}, "polynomial": {"c1": 3.0, "gamma": 0.6}}
RATE, WEIGHT = 0.3, 1.5


def excess(x):
    return x.T @ x - torch.eye(x.shape[1])


def frobenius(x):
    return excess(x).square().sum()


def spectral(x):
    return torch.linalg.eigvalsh(excess(x)).abs().max().square()


def prior(kind):
    c = PRIORS[kind]
    k = torch.arange(1, D + 1, dtype=torch.float64)
    if kind == "exponential":
        return c["c1"] * torch.exp(-c["c2"] * k ** c["gamma"])
    return c["c1"] * k ** -c["gamma"]


def cosine(w):
    unit = w / w.norm(dim=1, keepdim=True)
    return (unit.sum(0).square().sum() - len(w)) / len(w) ** 2


def spread(log_z):
    """i1 and i2 from log Z, so that large scores do not overflow."""
    z = torch.exp(log_z - log_z.max())
    return z.min() / z.max(), z.std(correction=0) / z.mean()


def measures(w):
    vectors = torch.linalg.eigh(w.T @ w).eigenvectors.T  # a row each
    largest = vectors.gather(1, vectors.abs().argmax(1, keepdim=True))
    vectors = vectors * largest.sign()
    log_z = (w @ vectors.T).logsumexp(0)
    result = {"w": w}
    result["i1"], result["i2"] = spread(log_z)
    result["i1_both_signs"], result["i2_both_signs"] = spread(torch.cat([log_z, (-w @ vectors.T).logsumexp(0)]))
    result["frobenius"] = w.norm()
    result["singular_values"] = s = torch.linalg.svdvals(w)
    if s[0] > 0:
        result["mean_cosine"] = cosine(w) * len(w) / (len(w) - 1)
        result["sigma_ratio"] = s[-1] / s[0]
        share = s / s.sum()
        result["effective_rank"] = torch.exp(-(share * share.log()).sum())
    return result


def check_known_values(published):
    got = measures(published)
    for key, want in (("i1", 0.419344), ("i2", 0.409102), ("i1_both_signs", 0.098029), ("i2_both_signs", 0.714325)):
        assert abs(got[key].item() - want) < 1e-6, key
    assert torch.allclose(got["singular_values"].square(), torch.tensor([14.43547, 4.81453]), atol=1e-5)
    w = published.clone().requires_grad_()
    value = cosine(w)
    (gradient,) = torch.autograd.grad(value, w)
    assert abs(value.item() + 0.2383475) < 1e-7
    want = torch.tensor([[0.00122333, -0.00061166], [0.02029451, 0.06088353], [0.02351609, 0.09406437]])
    assert torch.allclose(gradient, want, atol=1e-8)
    unit = published / published.norm(dim=1, keepdim=True)
    brute = ((unit @ unit.T).sum() - 3) / 6  # over i != j
    assert abs(got["mean_cosine"] - brute) < 1e-12


def main():
    goldens.start(SEED)
    published = torch.tensor([[1, 2], [3, -1], [-2, 0.5]])
    check_known_values(published)
    q = torch.linalg.qr(torch.randn(V, D)).Q
    u = q + 0.05 * torch.randn(V, D)
    v = torch.linalg.qr(torch.randn(D, D)).Q + 0.05 * torch.randn(D, D)
    s = torch.linspace(3, 0.5, D) + 0.1 * torch.randn(D)
    w = torch.randn(V, D) + 0.5
    wide = 0.7 * q + 0.01 * torch.randn(V, D)
    assert torch.linalg.eigvalsh(excess(wide)).abs().argmax() == 0  # the most negative one
    tensors = {"u": u, "v": v, "s": s, "w": w, "q": q, "wide": wide}

    penalties = {
        "frobenius_u": (frobenius, u), "frobenius_v": (frobenius, v), "frobenius_orthonormal": (frobenius, q),
        "spectral_u": (spectral, u), "spectral_v": (spectral, v), "spectral_wide": (spectral, wide),
        "exponential": (lambda x: (x - prior("exponential")).square().sum(), s),
        "polynomial": (lambda x: (x - prior("polynomial")).square().sum(), s),
        "d_optimal": (lambda x: -x.log().mean(), s), "cosine": (cosine, w),
    }
    for name, (penalty, at) in penalties.items():
        leaf = at.clone().requires_grad_()
        value = penalty(leaf)
        tensors[f"penalty/{name}/value"] = value
        (tensors[f"penalty/{name}/grad"],) = torch.autograd.grad(value, leaf)
    tensors["penalty/spectral_orthonormal/value"] = spectral(q)
    assert torch.allclose(tensors["penalty/frobenius_u/grad"], 4 * u @ excess(u), atol=1e-12)

    for kind in PRIORS:
        tensors[f"prior/{kind}"] = prior(kind)
    tensors["normalised/s"] = s / s.abs().max()
    tensors["proximal/rate"], tensors["proximal/weight"] = torch.tensor(RATE), torch.tensor(WEIGHT)
    tensors["proximal/s"] = (s + 2 * RATE * WEIGHT * prior("polynomial")) / (1 + 2 * RATE * WEIGHT)

    narrow = 12 * torch.nn.functional.normalize(torch.randn(V, D) + 4 * torch.randn(D), dim=1)
    for name, matrix in (("random", w), ("narrow", narrow), ("published", published), ("zero", torch.zeros(V, D))):
        for key, value in measures(matrix).items():
            tensors[f"measure/{name}/{key}"] = value
    assert tensors["measure/zero/i1"] == 1 and tensors["measure/zero/i2"] == 0
    goldens.save(__file__, "spectrum.safetensors", SEED, tensors, {"priors": PRIORS})


if __name__ == "__main__":
    main()
