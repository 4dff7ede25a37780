"""Peer: training steps of Transformer-XL in plain PyTorch, as a careful user writes them.

float32, or products in bfloat16 by autocast, post-norm, attention with relative positions over the chunk and the
remembered inputs of each layer, adaptive softmax whose rows are those of the word
vectors, tails for the targets that are in them only, clipping, fused Adam, gradients
set to none between steps.

Configuration: vocab, width, heads, ffn, layers, memory, cutoffs (ranks parted by
commas), dropout, threads, chunks, weights, learning_rate, clip; optional: half, compiled, seed.
Chunks, weights and answers: see language.py. Protocol and measuring: see harness.py.

Letters: T steps, B columns, M remembered steps, S = M + T keys, N = T B, D width, H
heads, K width of a head, V vocabulary.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import math

import torch
import torch.nn.functional as F
from torch import nn

import language


def shift(x_BHTS):
    """Scores by distance, S-1 down to 0, to scores by key: row i moves T-1-i to the left.
    What comes in on the right belongs to keys in the future."""
    b, h, t, s = x_BHTS.shape
    return F.pad(x_BHTS, (1, 0)).view(b, h, s + 1, t)[:, :, 1:].reshape(b, h, t, s)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.heads = c["width"], c["heads"]
        self.qkv_net = nn.Linear(d, 3 * d, bias=False)
        self.r_net = nn.Linear(d, d, bias=False)
        self.o_net = nn.Linear(d, d, bias=False)
        self.layer_norm = nn.LayerNorm(d)

    def split(self, x_TBD):
        return x_TBD.unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3)

    def forward(self, x_TBD, seen_SBD, r_SD, blocked_TS, u_H1K, v_H1K, dropout):
        d = x_TBD.shape[-1]
        q_BHTK = self.split(F.linear(x_TBD, self.qkv_net.weight[:d]))
        k_BHSK, v_BHSK = (self.split(y) for y in F.linear(seen_SBD, self.qkv_net.weight[d:]).chunk(2, -1))
        r_HSK = self.r_net(r_SD).unflatten(-1, (self.heads, -1)).transpose(0, 1)
        scale = q_BHTK.shape[-1] ** -0.5
        content_BHTS = ((q_BHTK + u_H1K) * scale) @ k_BHSK.mT
        distance_BHTS = ((q_BHTK + v_H1K) * scale) @ r_HSK.mT
        p_BHTS = (content_BHTS + shift(distance_BHTS)).masked_fill_(blocked_TS, -math.inf).softmax(-1)
        read_TBD = (p_BHTS @ v_BHSK).permute(2, 0, 1, 3).flatten(2)
        return self.layer_norm(x_TBD + F.dropout(self.o_net(read_TBD), dropout, self.training))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        p = c["dropout"]
        self.CoreNet = nn.Sequential(nn.Linear(c["width"], c["ffn"]), nn.ReLU(), nn.Dropout(p), nn.Linear(c["ffn"], c["width"]), nn.Dropout(p))
        self.layer_norm = nn.LayerNorm(c["width"])

    def forward(self, x_TBD):
        return self.layer_norm(x_TBD + self.CoreNet(x_TBD))


class Adaptive(nn.Module):
    """Adaptive softmax whose rows are given: a shortlist with a row for each cluster
    behind it, and the clusters."""

    def __init__(self, c):
        super().__init__()
        edges = [int(rank) for rank in c["cutoffs"].split(",")]
        self.ranges = list(zip(edges, edges[1:] + [c["vocab"]]))
        self.bias = nn.Parameter(torch.empty(c["vocab"]))
        self.clusters = nn.Linear(c["width"], len(edges))

    def forward(self, h_ND, weight_VD, targets_N):
        """The mean negative log-likelihood."""
        sizes = [self.ranges[0][0]] + [high - low for low, high in self.ranges]
        (weight, *weights), (bias, *biases) = weight_VD.split(sizes), self.bias.split(sizes)
        own_N, total = targets_N.clone(), 0
        for i, (low, high) in enumerate(self.ranges):
            rows = ((targets_N >= low) & (targets_N < high)).nonzero().squeeze(1)
            own_N[rows] = sizes[0] + i
            total = total + F.cross_entropy(F.linear(h_ND[rows], weights[i], biases[i]), targets_N[rows] - low, reduction="sum")
        head = F.linear(h_ND, torch.cat([weight, self.clusters.weight]), torch.cat([bias, self.clusters.bias]))
        return (total + F.cross_entropy(head, own_N, reduction="sum")) / len(targets_N)


class TransformerXL(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        head = (c["heads"], 1, c["width"] // c["heads"])
        self.encoder = nn.Embedding(c["vocab"], c["width"])
        self.r_w_bias, self.r_r_bias = nn.Parameter(torch.empty(head)), nn.Parameter(torch.empty(head))
        self.layers = nn.ModuleList(nn.ModuleDict({"dec_attn": Attention(c), "pos_ff": FeedForward(c)}) for _ in range(c["layers"]))
        self.decoder = Adaptive(c)
        self.rates = torch.exp(torch.arange(0, c["width"], 2) * -(math.log(10000) / c["width"]))

    def dropped(self, x):
        return F.dropout(x, self.c["dropout"], self.training)

    def forward(self, ids_TB, targets_TB, carried):
        t, d = len(ids_TB), self.c["width"]
        remembered = len(carried[0]) if carried else 0
        x_TBD = self.dropped(self.encoder(ids_TB) * math.sqrt(d))
        angles = torch.arange(remembered + t - 1, -1, -1, device=ids_TB.device)[:, None] * self.rates
        r_SD = self.dropped(torch.cat([angles.sin(), angles.cos()], 1))
        blocked_TS = torch.ones(t, remembered + t, dtype=torch.bool, device=ids_TB.device).triu(remembered + 1)
        after = []
        for i, layer in enumerate(self.layers):
            seen_SBD = torch.cat([carried[i], x_TBD]) if carried else x_TBD
            after.append(seen_SBD[-self.c["memory"]:].detach())
            x_TBD = layer["dec_attn"](x_TBD, seen_SBD, r_SD, blocked_TS, self.r_w_bias, self.r_r_bias, self.c["dropout"])
            x_TBD = layer["pos_ff"](x_TBD)
        nll = self.decoder(self.dropped(x_TBD).flatten(0, 1), self.encoder.weight, targets_TB.flatten())
        return nll, nll.detach(), after


def main():
    c = harness.configure(["vocab", "width", "heads", "ffn", "layers", "memory", "cutoffs", "dropout", "threads", "chunks", "weights",
                           "learning_rate", "clip"], {"compiled": False, "seed": 1})
    model = TransformerXL(c)
    adam = torch.optim.Adam(model.parameters(), lr=c["learning_rate"], fused=True)
    language.serve(c, model, adam)


if __name__ == "__main__":
    main()
