"""Goldens of methods that act on scores or on W: METHOD.safetensors for each method of METHODS.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_terms.py (about a second; writes beside itself).

Letters: N 23 rows, D 9 width, V 47 words, K 3 components. Targets of 1 are ignored; a loss is a sum over rows plus the
penalty, in float64.

    hidden [N,D]  targets [N] (int64)  column [N] (int64, the sequence of each row)
    weight [V,D]  bias [V]  prior.weight [K,D]  latent.weight [K D,D]  latent.bias [K D]
    FORM/{loss [], nll [N], log_p [N,V], g_hidden, and g_NAME of what the form has}

FORM: softmax, mos (a mixture over the same weight and bias). nll and log_p are those of evaluation. agg has
agg_counts [V] and agg_updates [1] of earlier updates too.
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../torch/testdata"))

import torch
import torch.nn.functional as F

import goldens

SEED, N, D, V, K, IGNORED = 20261124, 23, 9, 47, 3, 1
FORMS = {"softmax": ["weight", "bias"], "mos": ["weight", "bias", "prior.weight", "latent.weight", "latent.bias"]}


def same(z):
    return z


def cross_entropy(log_p_NV, x):
    return F.nll_loss(log_p_NV, x["targets"], reduction="none")


def nothing(p):
    return 0.0


def centre_loss(p):
    mean_D = p["weight"].mean(0)
    return 0.03 * mean_D.dot(mean_D)


def focal(log_p_NV, x):
    p_N = log_p_NV.exp().gather(1, x["targets"][:, None]).squeeze(1)
    return (1 - p_N) ** 2 * cross_entropy(log_p_NV, x)


def unlikelihood(log_p_NV, x):
    """The candidates are a matrix of zeros and ones, as in the authors' program; alpha is 1."""
    y, n = x["targets"], len(x["targets"])
    before_NN = torch.ones(n, n).tril(-1) * (x["column"][:, None] == x["column"]) * x["kept"] * (y[:, None] != y)
    candidates_NV = (before_NN @ F.one_hot(y, V).double() > 0).double()
    one_minus_NV = torch.clamp(1 - log_p_NV.exp(), min=1e-5)
    return cross_entropy(log_p_NV, x) - (one_minus_NV.log() * candidates_NV).sum(1)


def agg(form, p, x):
    """The authors' three losses, whose gradients add up, and the first, which is reported.

    counts and updates are those before; 2 symbols are special. In a mixture each component's scores are gated.
    """
    counts_V, updates, special, alpha = x["counts"], x["updates"], 2, 0.5
    f1_V = counts_V / updates
    f1_V[:special] = 1
    rare_V = f1_V < alpha
    f2_V = torch.clip(counts_V / (counts_V[rare_V].mean() + 1e-7), max=1)
    f1_V, f2_V = f1_V.where(rare_V, 1), f2_V.where(rare_V, 1)
    own_NV = F.one_hot(x["targets"], V).bool()
    gate_NV = torch.where(rare_V[x["targets"]][:, None], f2_V, f1_V).masked_fill(own_NV, 1)

    def gated(z):
        gate = gate_NV if form == "softmax" else gate_NV[:, None]
        return gate * z + (1 - gate) * z.detach()

    held = {name: y if name == "weight" else y.detach() for name, y in p.items()}
    of_states = {**p, "weight": p["weight"].detach()}
    feature_N = cross_entropy(log_probabilities(form, of_states, same), x)
    embedding_N = cross_entropy(log_probabilities(form, held, gated), x)
    rare_N = rare_V[x["targets"]]
    return feature_N + embedding_N.where(rare_N, 0) + embedding_N.where(~rare_N, 0), feature_N


# A method is a transform of the scores, a loss of each row's log-probabilities, and a penalty of the parameters.
METHODS = {
    "softcap": (lambda z: 2 * torch.tanh(z / 2), cross_entropy, nothing),
    "sigsoftmax": (lambda z: torch.log(torch.exp(z) * torch.sigmoid(z)), cross_entropy, nothing),
    "centre-loss": (same, cross_entropy, centre_loss),
    "focal": (same, focal, nothing),
    "unlikelihood": (same, unlikelihood, nothing),
    "agg": (same, agg, nothing),
}


def log_probabilities(form, p, transform):
    if form == "softmax":
        return transform(p["hidden"] @ p["weight"].T + p["bias"]).log_softmax(-1)
    prior_NK = (p["hidden"] @ p["prior.weight"].T).softmax(-1)
    latent_NKD = torch.tanh(p["hidden"] @ p["latent.weight"].T + p["latent.bias"]).view(N, K, D)
    p_NKV = transform(latent_NKD @ p["weight"].T + p["bias"]).softmax(-1)
    return (prior_NK[:, :, None] * p_NKV).sum(1).log()


def main():
    for method, (transform, loss_of, penalty) in METHODS.items():
        goldens.start(SEED)
        tensors = {
            "hidden": torch.randn(N, D), "weight": torch.randn(V, D), "bias": 0.5 * torch.randn(V),
            "prior.weight": torch.randn(K, D), "latent.weight": torch.randn(K * D, D), "latent.bias": torch.randn(K * D),
        }
        x = {"targets": torch.randint(2, 9, (N,)), "column": torch.arange(N) % 3}
        x["targets"][5:9] = torch.tensor([0, 46, 30, 30])
        kept_N = torch.ones(N)
        kept_N[[8, 20]] = 0
        stored = {**tensors, "column": x["column"]}
        if method == "agg":
            x["counts"], x["updates"] = torch.poisson(torch.linspace(6, 0, V)), torch.tensor([5.0])
            stored.update({"agg_counts": x["counts"], "agg_updates": x["updates"]})
        for form, names in FORMS.items():
            leaves = {name: tensors[name].clone().requires_grad_() for name in ["hidden"] + names}
            log_p_NV = log_probabilities(form, leaves, transform)
            if method == "agg":
                whole_N, loss_N = agg(form, leaves, x)
            else:
                whole_N = loss_N = loss_of(log_p_NV, {**x, "kept": kept_N})
            loss, whole = (loss_N * kept_N).sum() + penalty(leaves), (whole_N * kept_N).sum() + penalty(leaves)
            stored.update({f"{form}/loss": loss, f"{form}/nll": cross_entropy(log_p_NV, x) * kept_N, f"{form}/log_p": log_p_NV})
            for name, gradient in zip(leaves, torch.autograd.grad(whole, list(leaves.values()))):
                stored[f"{form}/g_{name}"] = gradient
        stored["targets"] = torch.where(kept_N == 0, IGNORED, x["targets"])
        goldens.save(__file__, f"{method}.safetensors", SEED, stored)


if __name__ == "__main__":
    main()
