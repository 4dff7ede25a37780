"""Peer: training steps of AWD-LSTM in plain PyTorch, as a careful user writes them.

float32, one nn.LSTM a layer that is called with the dropped recurrent matrix,
locked dropout, embedding dropout by word, tied output with cross-entropy,
activation regularisation, clipping, fused SGD, gradients set to none between
steps, and the state carried from chunk to chunk. Protocol and measuring: see
harness.py.

Configuration: vocab, width, hidden, layers, threads, chunks; the rates input,
layer, output, embedding and weight; optional: ar, tar, learning_rate, clip,
decay, seed. chunks names a JSON file: a list of {"input": rows, "target": rows},
one row of ids a time step. `step i` trains on chunk i and also reports loss, the
mean over tokens.

Letters: T steps, B columns, D width of the embedding, H of a layer, V vocabulary.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def mask(p, *shape):
    return torch.empty(shape).bernoulli_(1 - p).div_(1 - p)


def locked(x_TBD, p):
    return x_TBD * mask(p, 1, *x_TBD.shape[1:])


class AWDLSTM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.encoder = nn.Embedding(c["vocab"], c["width"])
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        self.bias_V = nn.Parameter(torch.zeros(c["vocab"]))
        widths = [c["width"]] + [c["hidden"]] * (c["layers"] - 1) + [c["width"]]
        self.rnns = nn.ModuleList(nn.LSTM(i, h) for i, h in zip(widths, widths[1:]))

    def forward(self, ids_TB, carried):
        """Dropped and raw states [T,B,D] of the last layer, and the new state."""
        c, after = self.c, []
        x_TBD = self.encoder(ids_TB) * mask(c["embedding"], c["vocab"], 1)[ids_TB]
        x_TBD = locked(x_TBD, c["input"])
        for i, rnn in enumerate(self.rnns):
            if i > 0:
                x_TBD = locked(x_TBD, c["layer"])
            dropped = F.dropout(rnn.weight_hh_l0, c["weight"])
            x_TBD, state = functional_call(rnn, {"weight_hh_l0": dropped}, (x_TBD, carried[i] if carried else None))
            after.append(tuple(part.detach() for part in state))
        return locked(x_TBD, c["output"]), x_TBD, after


def main():
    c = harness.configure(["vocab", "width", "hidden", "layers", "threads", "chunks", "input", "layer", "output", "embedding", "weight"],
                          {"ar": 2.0, "tar": 1.0, "learning_rate": 30.0, "clip": 0.25, "decay": 1.2e-6, "seed": 1})
    with open(c["chunks"]) as file:
        chunks = [(torch.tensor(chunk["input"]), torch.tensor(chunk["target"])) for chunk in json.load(file)]
    model = AWDLSTM(c)
    sgd = torch.optim.SGD(model.parameters(), lr=c["learning_rate"], weight_decay=c["decay"], fused=True)
    carried = None

    def step(i):
        nonlocal carried
        input_TB, target_TB = chunks[i]
        dropped_TBD, raw_TBD, carried = model(input_TB, carried)
        nll = F.cross_entropy(F.linear(dropped_TBD.flatten(0, 1), model.encoder.weight, model.bias_V), target_TB.flatten())
        loss = nll + c["ar"] * dropped_TBD.square().mean() + c["tar"] * (raw_TBD[1:] - raw_TBD[:-1]).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), c["clip"], foreach=True)
        sgd.step()
        return lambda: {"loss": nll.item()}

    harness.answer(ready=True, params=sum(p.numel() for p in model.parameters()), chunks=len(chunks))
    harness.serve(lambda: sgd.zero_grad(set_to_none=True), step, len(chunks))


if __name__ == "__main__":
    main()
