"""Peer: training steps of a recurrent translator with attention and a softmax in plain PyTorch.

float32. The network is that of attentional.py; cross-entropy, summed over words and divided
by sentences, clipping, fused Adam, gradients set to none between steps. Protocol and
measuring: see harness.py.

Configuration: vocab, words (width of word vectors), width, layers, threads, batches,
small; optional: learning_rate, clip, seed. batches are as in transformer_step.py. small is {vocab, words, width, layers, batches, weights}: for the
network in the safetensors file weights and the first of those batches, the first
answer holds loss, the mean over words, and gradients, their norms by name. `step i`
trains on batch i and also reports loss, the mean over words.

Letters: B sentences, S and T words of source and target, N real words of targets, D width
of states.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F

import language
from attentional import Attentional, plain
from transformer import PAD
from transformer_step import tensors


def build(sizes):
    vocab, layers = sizes["vocab"], sizes["layers"]
    return Attentional(vocab, vocab, sizes["words"], sizes["width"], layers, layers)


def loss_of(model, source_BS, prev_BT, target_BT):
    """The loss of a batch, summed over words by sentences, and the mean over words."""
    real_BT = target_BT.ne(PAD)
    states_ND, target_N = model(source_BS, prev_BT)[real_BT], target_BT[real_BT]
    total = F.cross_entropy(model.generator(states_ND), target_N, reduction="sum")
    return total / len(source_BS), total.detach() / len(target_N)


def check(small):
    """Loss and norms of gradients of the small network."""
    model = build(small)
    named = language.load(model, small["weights"], plain)
    loss, mean = loss_of(model, *tensors(small["batches"])[0])
    loss.backward()
    return {"loss": mean.item(), "gradients": {name: parameter.grad.norm().item() for name, parameter in named.items()}}


def main():
    c = harness.configure(["vocab", "words", "width", "layers", "threads", "batches", "small"], {"learning_rate": 5e-4, "clip": 5.0, "seed": 1})
    batches = tensors(c["batches"])
    model = build(c)
    adam = torch.optim.Adam(model.parameters(), lr=c["learning_rate"], fused=True)
    harness.serve_training(model.parameters(), adam, lambda i: loss_of(model, *batches[i]), len(batches), clip=c["clip"], **check(c["small"]))


if __name__ == "__main__":
    main()
