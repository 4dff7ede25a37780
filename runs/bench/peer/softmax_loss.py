"""Peer: a linear output layer and cross-entropy, forward and backward, in plain PyTorch.

float32, or products in bfloat16 by autocast; gradients for the hidden states, the weight and, if there is one, the
bias. peak_delta is the peak above the level before the piece: logits and
their gradient, and the gradients that come out. Protocol and measuring: see
harness.py.

Configuration: rows (N), width (D), vocab (V), threads; optional: half, smoothing, bias,
ignored (the fraction of rows whose target is padding), seed. Every piece is the
same work, so `step 0` serves; it also reports loss, the mean over the rows that
count.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F

from transformer import PAD


def main():
    c = harness.configure(["rows", "width", "vocab", "threads"],
                          {"smoothing": 0.0, "bias": False, "ignored": 0.0, "seed": 1})
    hidden_ND = torch.randn(c["rows"], c["width"]).requires_grad_()
    weight_VD = (torch.randn(c["vocab"], c["width"]) * c["width"] ** -0.5).requires_grad_()
    bias_V = torch.zeros(c["vocab"], requires_grad=True) if c["bias"] else None
    targets_N = torch.randint(PAD + 1, c["vocab"], (c["rows"],))
    targets_N[torch.rand(c["rows"]) < c["ignored"]] = PAD

    leaves = [leaf for leaf in (hidden_ND, weight_VD, bias_V) if leaf is not None]

    def loss():
        with harness.products(c):
            logits_NV = F.linear(hidden_ND, weight_VD, bias_V)
            return F.cross_entropy(logits_NV, targets_N, ignore_index=PAD, label_smoothing=c["smoothing"])

    harness.serve_loss(leaves, loss)


if __name__ == "__main__":
    main()
