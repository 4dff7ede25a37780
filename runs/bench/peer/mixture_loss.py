"""Peer: an output layer that is a mixture of softmaxes, forward and backward, in plain PyTorch.

float32. Latent states are tanh of a linear map of the hidden states, the prior is
another, without a bias; every component scores with the same weight. Gradients for
the hidden states and all weights. peak_delta is the peak above the level
before the piece, gradients that come out included. Protocol and measuring: see
harness.py.

Configuration: rows (N), width (D), vocab (V), components (K), threads; optional:
form, seed. form says how the likelihood is written:

    plain     log of the weighted sum of softmaxes, [N,K,V] to [N,V], as the
              authors' program does
    target    cross-entropy of every component, then log-sum-exp of the targets'
              log-probabilities [N,K]: all that training needs

Every piece is the same work, so `step 0` serves; it also reports loss, the mean
over the rows.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F

from transformer import PAD


def plain(logits_NKV, prior_NK, targets_N):
    p_NV = (F.softmax(logits_NKV, -1) * F.softmax(prior_NK, -1).unsqueeze(-1)).sum(1)
    return F.nll_loss((p_NV + 1e-8).log(), targets_N)


def target(logits_NKV, prior_NK, targets_N):
    n, k, v = logits_NKV.shape
    nll_NK = F.cross_entropy(logits_NKV.view(n * k, v), targets_N.repeat_interleave(k), reduction="none").view(n, k)
    return -torch.logsumexp(F.log_softmax(prior_NK, -1) - nll_NK, -1).mean()


def main():
    c = harness.configure(["rows", "width", "vocab", "components", "threads"], {"form": "plain", "seed": 1})
    n, d, v, k = c["rows"], c["width"], c["vocab"], c["components"]
    likelihood = {"plain": plain, "target": target}[c["form"]]
    hidden_ND = torch.randn(n, d).requires_grad_()
    weight_VD = (torch.randn(v, d) * d ** -0.5).requires_grad_()
    latent = torch.nn.Linear(d, k * d)
    prior = torch.nn.Linear(d, k, bias=False)
    leaves = [hidden_ND, weight_VD, *latent.parameters(), *prior.parameters()]
    targets_N = torch.randint(PAD + 1, v, (n,))

    def loss():
        latent_NKD = torch.tanh(latent(hidden_ND)).view(n, k, d)
        return likelihood(F.linear(latent_NKD, weight_VD), prior(hidden_ND), targets_N)

    harness.serve_loss(leaves, loss)


if __name__ == "__main__":
    main()
