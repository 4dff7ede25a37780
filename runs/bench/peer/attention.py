"""Peer: causal scaled dot-product attention, forward and backward, in plain PyTorch.

Operands in bfloat16, [B,T,H,K] in memory as a layer's maps give them. Protocol and measuring: see harness.py.

Configuration: columns (B), steps (T), heads (H), width (K), threads; optional: half, seed. Every piece is the same
work, so `step 0` serves; it also reports loss, the sum of the results.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F


def main():
    c = harness.configure(["columns", "steps", "heads", "width", "threads"], {"seed": 1})
    dtype = torch.bfloat16 if c["half"] else torch.float32
    leaves = [torch.randn(c["columns"], c["steps"], c["heads"], c["width"], dtype=dtype).requires_grad_() for _ in range(3)]

    def loss():
        with harness.products(c):
            heads_BHTK = [leaf.transpose(1, 2) for leaf in leaves]
            return F.scaled_dot_product_attention(*heads_BHTK, is_causal=True).sum().float()

    harness.serve_loss(leaves, loss)


if __name__ == "__main__":
    main()
