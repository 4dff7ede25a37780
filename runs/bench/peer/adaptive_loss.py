"""Peer: PyTorch's adaptive softmax (torch.nn.AdaptiveLogSoftmaxWithLoss), forward and backward.

float32; gradients for the hidden states and all weights. Weights start so that scores vary as ours do. peak_delta is
the peak above the level before the piece, gradients that come out included. Protocol and measuring: see harness.py.

Configuration: rows (N), width (D), vocab (V), cutoffs, divisor, targets (N of them, the most frequent words first),
threads; optional: seed. Every piece is the same work, so `step 0` serves; it also reports loss, the mean over the rows.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch


def main():
    c = harness.configure(["rows", "width", "vocab", "cutoffs", "divisor", "targets", "threads"], {"seed": 1})
    hidden_ND = torch.randn(c["rows"], c["width"]).requires_grad_()
    targets_N = torch.tensor(c["targets"])
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(c["width"], c["vocab"], c["cutoffs"], div_value=c["divisor"], head_bias=True)
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, std=weight.shape[-1] ** -0.5 if weight.dim() == 2 else 0.0)
    with torch.no_grad():
        layer.head.weight[c["cutoffs"][0]:].normal_(std=0.02)  # clusters

    harness.serve_loss([hidden_ND, *layer.parameters()], lambda: layer(hidden_ND, targets_N).loss)


if __name__ == "__main__":
    main()
