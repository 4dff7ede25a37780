"""Peer: training steps of a GPT in plain PyTorch, of nanoGPT's shape, as a careful user writes them.

float32, or autocast to bfloat16; one map for queries, keys and values, fused causal attention, GELU by tanh, tied word
vectors, clipping, fused AdamW that decays matrices and vectors alike, gradients set to none between steps. With compiled
the network and its loss go through torch.compile; with recompute the backward pass computes each layer once more.

Configuration: vocab, width, heads, ffn, layers, positions, dropout, decay, beta2, threads, chunks, weights,
learning_rate, clip; optional: half, compiled, recompute, seed. Chunks, weights and answers: see language.py. Protocol and measuring: see
harness.py.

Letters: T steps, B columns, N = B T, D width, H heads, K width of a head, V vocabulary.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import language
from transformer import read_safetensors


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, f, self.heads, self.dropout = c["width"], c["ffn"], c["heads"], c["dropout"]
        self.ln_1, self.c_attn, self.c_proj = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ln_2, self.c_fc, self.mlp_proj = nn.LayerNorm(d), nn.Linear(d, f), nn.Linear(f, d)

    def forward(self, x_BTD):
        split = lambda y_BTD: y_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = (split(y) for y in self.c_attn(self.ln_1(x_BTD)).split(x_BTD.shape[-1], dim=2))
        read_BTD = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x_BTD = x_BTD + F.dropout(self.c_proj(read_BTD), self.dropout, self.training)
        inner = F.gelu(self.c_fc(self.ln_2(x_BTD)), approximate="tanh")
        return x_BTD + F.dropout(self.mlp_proj(inner), self.dropout, self.training)


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.wte, self.wpe = nn.Embedding(c["vocab"], c["width"]), nn.Embedding(c["positions"], c["width"])
        self.h = nn.ModuleList(Block(c) for _ in range(c["layers"]))
        self.ln_f = nn.LayerNorm(c["width"])

    def states(self, ids_BT):
        x_BTD = self.wte(ids_BT) + self.wpe(torch.arange(ids_BT.shape[1], device=ids_BT.device))
        x_BTD = F.dropout(x_BTD, self.c["dropout"], self.training)
        for block in self.h:
            x_BTD = checkpoint(block, x_BTD, use_reentrant=False) if self.c["recompute"] else block(x_BTD)
        return self.ln_f(x_BTD)

    def forward(self, ids_TB, targets_TB, _):
        logits_NV = F.linear(self.states(ids_TB.T).flatten(0, 1), self.wte.weight)
        nll = F.cross_entropy(logits_NV, targets_TB.T.flatten())
        return nll, nll.detach(), None


class Rows:
    """Some rows of a parameter, whose gradient is that of these."""

    def __init__(self, parameter, i):
        self.parameter, self.i = parameter, i

    @property
    def grad(self):
        return self.parameter.grad.chunk(3)[self.i]


def load(model, path):
    """Copies the weights of a file into the model; returns what has their gradients by the file's names."""
    named, parameters = {}, dict(model.named_parameters())
    whole = {"encoder": "wte", "embed_positions": "wpe", "layer_norm": "ln_f"}
    inner = {"self_attn_layer_norm": "ln_1", "self_attn.out_proj": "c_proj", "final_layer_norm": "ln_2", "fc1": "c_fc",
             "fc2": "mlp_proj"}
    for name, value in read_safetensors(path).items():
        module, kind = name.rsplit(".", 1)
        if module in whole:
            target, part = parameters[f"{whole[module]}.{kind}"], None
        else:
            _, layer, module = module.split(".", 2)
            part = {"self_attn.q_proj": 0, "self_attn.k_proj": 1, "self_attn.v_proj": 2}.get(module)
            target = parameters[f"h.{layer}.{inner.get(module, 'c_attn')}.{kind}"]
        with torch.no_grad():
            (target if part is None else target.chunk(3)[part]).copy_(value)
        named[name] = target if part is None else Rows(target, part)
    return named


def main():
    c = harness.configure(["vocab", "width", "heads", "ffn", "layers", "positions", "dropout", "decay", "beta2", "threads",
                           "chunks", "weights", "learning_rate", "clip"], {"compiled": False, "recompute": False, "seed": 1})
    model = GPT(c)
    adam = torch.optim.AdamW(model.parameters(), lr=c["learning_rate"], betas=(0.9, c["beta2"]), weight_decay=c["decay"],
                             fused=True)
    language.serve(c, model, adam, reader=load)


if __name__ == "__main__":
    main()
