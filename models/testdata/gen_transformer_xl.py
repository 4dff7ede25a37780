"""Golden values of a small Transformer-XL, written from the paper's equations.

Dai et al. 2019: post-norm layers whose attention adds a content score
(q_i + u) k_j and a distance score (q_i + v) W_r R(distance of i and j), the
distance looked up pair by pair, without the shift that fast programs use.
Each case reads three chunks with the memory carried, and differentiates a
weighted sum of the last chunk's states.

Cases: plain; clamped, with distances clamped and the same number of keys for
all steps. Each holds param/ in the model's names, words [V,D], ids [3,T,B],
hidden/0 to 2 [T B,D], seed [T B,D], and grad/ of every parameter and of words.

    python gen_transformer_xl.py
"""

import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../torch/testdata"))

import torch
import torch.nn.functional as F

import goldens

SEED = 5
V, D, H, K, INNER, LAYERS, T, B, MEMORY = 11, 6, 2, 3, 10, 2, 4, 3, 5


def parameters():
    p = {"r_w_bias": (H, 1, K), "r_r_bias": (H, 1, K)}
    for i in range(LAYERS):
        a, f = f"layers.{i}.dec_attn.", f"layers.{i}.pos_ff."
        p |= {a + "qkv_net.weight": (3 * H * K, D), a + "r_net.weight": (H * K, D), a + "o_net.weight": (D, H * K),
              a + "layer_norm.weight": (D,), a + "layer_norm.bias": (D,), f + "CoreNet.0.weight": (INNER, D), f + "CoreNet.0.bias": (INNER,),
              f + "CoreNet.3.weight": (D, INNER), f + "CoreNet.3.bias": (D,), f + "layer_norm.weight": (D,), f + "layer_norm.bias": (D,)}
    return {name: (torch.randn(shape) * 0.5).requires_grad_() for name, shape in p.items()}


def position(distance):
    angles = distance * 10000 ** (-2 * torch.arange(D // 2) / D)
    return torch.cat([angles.sin(), angles.cos()])


def attend(p, prefix, x_TBD, seen_SBD, clamp, same_length):
    memory = len(seen_SBD) - len(x_TBD)
    wq, wk, wv = p[prefix + "qkv_net.weight"].chunk(3)
    split = lambda x, w: (x @ w.T).unflatten(-1, (H, K))
    q, k, v = split(x_TBD, wq), split(seen_SBD, wk), split(seen_SBD, wv)
    first = len(x_TBD) - max(len(seen_SBD) - MEMORY, 0)
    rows = []
    for i in range(len(x_TBD)):
        scores, values = [], []
        for j in range(len(seen_SBD)):
            distance = memory + i - j
            if distance < 0 or (same_length and j <= i - first):
                continue
            r = (position(min(distance, clamp) if clamp else distance) @ p[prefix + "r_net.weight"].T).view(H, K)
            u, w = p["r_w_bias"][:, 0], p["r_r_bias"][:, 0]
            scores.append((((q[i] + u) * k[j]).sum(-1) + ((q[i] + w) * r).sum(-1)) / math.sqrt(K))
            values.append(v[j])
        weights = torch.stack(scores).softmax(0)
        rows.append((weights[..., None] * torch.stack(values)).sum(0).flatten(1))
    return torch.stack(rows) @ p[prefix + "o_net.weight"].T


def chunk(p, words, ids, memory, clamp, same_length):
    x, after = words[ids] * math.sqrt(D), []
    for i in range(LAYERS):
        a, f = f"layers.{i}.dec_attn.", f"layers.{i}.pos_ff."
        seen = torch.cat([memory[i], x]) if memory else x
        after.append(seen[-MEMORY:].detach())
        x = F.layer_norm(x + attend(p, a, x, seen, clamp, same_length), (D,), p[a + "layer_norm.weight"], p[a + "layer_norm.bias"])
        inner = F.relu(F.linear(x, p[f + "CoreNet.0.weight"], p[f + "CoreNet.0.bias"]))
        x = F.layer_norm(x + F.linear(inner, p[f + "CoreNet.3.weight"], p[f + "CoreNet.3.bias"]), (D,), p[f + "layer_norm.weight"], p[f + "layer_norm.bias"])
    return x.flatten(0, 1), after


def case(clamp, same_length):
    p, words = parameters(), torch.randn(V, D, requires_grad=True)
    ids, memory, tensors = torch.randint(V, (3, T, B)), None, {}
    for n in range(3):
        hidden, memory = chunk(p, words, ids[n], memory, clamp, same_length)
        tensors[f"hidden/{n}"] = hidden
    seed = torch.randn_like(hidden)
    (hidden * seed).sum().backward()
    tensors |= {"words": words, "ids": ids, "seed": seed, "grad/words": words.grad}
    for name, x in p.items():
        tensors |= {"param/" + name: x, "grad/" + name: x.grad}
    return tensors


def main():
    goldens.start(SEED)
    cases = {"plain": case(0, False), "clamped": case(3, True)}
    tensors = {f"{name}/{key}": value for name, values in cases.items() for key, value in values.items()}
    goldens.save(__file__, "transformer_xl.safetensors", SEED, tensors)


if __name__ == "__main__":
    main()
