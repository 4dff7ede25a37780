"""Golden values of a small GRU language model, from torch.nn.GRU.

Two layers of different widths over two chunks with the state carried. It holds
param/ in the model's names, words [V,D], ids [2,T,B], hidden/0 and 1 [T B,H],
state/0 and 1 [B,H] after the last chunk, seed [T B,H], and grad/ of every
parameter and of words, of the weighted sum of the last chunk's states.

    python gen_gru.py
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../torch/testdata"))

import torch

import goldens

SEED = 7
V, D, H, T, B = 11, 5, 9, 6, 3

goldens.start(SEED)
layers = [torch.nn.GRU(D, H), torch.nn.GRU(H, D)]
words = torch.randn(V, D).requires_grad_()
ids = torch.randint(V, (2, T, B))
seed = torch.randn(T * B, D)
states = [None, None]
tensors = {"words": words, "ids": ids, "seed": seed}
for chunk in range(2):
    x = words[ids[chunk]]
    for i, layer in enumerate(layers):
        x, state = layer(x, None if states[i] is None else states[i].detach())
        states[i] = state
    tensors[f"hidden/{chunk}"] = x.reshape(T * B, D)
(tensors["hidden/1"] * seed).sum().backward()
tensors["grad/words"] = words.grad
for i, layer in enumerate(layers):
    tensors[f"state/{i}"] = states[i][0]
    for name, p in layer.named_parameters():
        ours = f"rnns.{i}.module." + ("weight_hh_l0_raw" if name == "weight_hh_l0" else name)
        tensors["param/" + ours], tensors["grad/" + ours] = p, p.grad
goldens.save(__file__, "gru.safetensors", SEED, tensors)
