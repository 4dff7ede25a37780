"""Peer: training steps of AWD-LSTM in plain PyTorch, as a careful user writes them.

float32, or products in bfloat16 by autocast, one nn.LSTM a layer that is called with the dropped recurrent matrix,
locked dropout, embedding dropout by word, tied output, activation regularisation,
clipping, fused SGD, gradients set to none between steps, and the state carried from
chunk to chunk. The output layer is a softmax with cross-entropy or, where
components is not 0, the mixture of softmaxes as its authors write it.

Configuration: vocab, width, hidden, last (width of the last layer), layers,
components, threads, chunks, weights; the rates input, layer, output, embedding,
weight and latent; ar, tar, learning_rate, clip, decay; optional: half, compiled, seed. Chunks,
weights and answers: see language.py. Protocol and measuring: see harness.py.

Letters: T steps, B columns, N = T B, D width of the embedding, H of a layer, V
vocabulary, K components.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import language
import mixture_loss


class AWDLSTM(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.encoder = nn.Embedding(c["vocab"], c["width"])
        widths = [c["width"]] + [c["hidden"]] * (c["layers"] - 1) + [c["last"]]
        self.rnns = nn.ModuleList(nn.LSTM(i, h) for i, h in zip(widths, widths[1:]))
        self.decoder = nn.Module()
        self.decoder.bias = nn.Parameter(torch.empty(c["vocab"]))
        if c["components"]:
            self.decoder.prior = nn.Linear(c["last"], c["components"], bias=False)
            self.decoder.latent = nn.Linear(c["last"], c["components"] * c["width"])

    def mask(self, rate, *shape):
        return torch.empty(shape, device=self.encoder.weight.device).bernoulli_(1 - self.c[rate]).div_(1 - self.c[rate])

    def locked(self, x_TBD, rate):
        return x_TBD * self.mask(rate, 1, *x_TBD.shape[1:]) if self.training else x_TBD

    def states(self, ids_TB, carried):
        """Dropped and raw states [T,B,H] of the last layer, and the new carried ones."""
        x_TBD, after = self.encoder(ids_TB), []
        if self.training:
            x_TBD = x_TBD * self.mask("embedding", self.c["vocab"], 1)[ids_TB]
        x_TBD = self.locked(x_TBD, "input")
        for i, rnn in enumerate(self.rnns):
            if i > 0:
                x_TBD = self.locked(x_TBD, "layer")
            dropped = F.dropout(rnn.weight_hh_l0, self.c["weight"], self.training)
            x_TBD, state = functional_call(rnn, {"weight_hh_l0": dropped}, (x_TBD, carried[i] if carried else None))
            after.append(tuple(part.detach() for part in state))
        return self.locked(x_TBD, "output"), x_TBD, after

    def nll(self, h_TBH, targets_N):
        h_NH, weight_VD = h_TBH.flatten(0, 1), self.encoder.weight
        if not self.c["components"]:
            return F.cross_entropy(F.linear(h_NH, weight_VD, self.decoder.bias), targets_N)
        latent = self.locked(torch.tanh(self.decoder.latent(h_TBH)), "latent")
        latent_NKD = latent.view(len(targets_N), self.c["components"], self.c["width"])
        return mixture_loss.plain(F.linear(latent_NKD, weight_VD, self.decoder.bias), self.decoder.prior(h_NH), targets_N)

    def forward(self, ids_TB, targets_TB, carried):
        dropped_TBH, raw_TBH, after = self.states(ids_TB, carried)
        nll = self.nll(dropped_TBH, targets_TB.flatten())
        ar, tar = dropped_TBH.square().mean(), (raw_TBH[1:] - raw_TBH[:-1]).square().mean()
        return nll + self.c["ar"] * ar + self.c["tar"] * tar, nll.detach(), after


def main():
    c = harness.configure(["vocab", "width", "hidden", "last", "layers", "components", "threads", "chunks", "weights",
                           "input", "layer", "output", "embedding", "weight", "latent", "ar", "tar", "learning_rate", "clip", "decay"], {"compiled": False, "seed": 1})
    model = AWDLSTM(c)
    sgd = torch.optim.SGD(model.parameters(), lr=c["learning_rate"], weight_decay=c["decay"], fused=True)
    language.serve(c, model, sgd, lambda name: name.replace(".module", "").replace("_raw", ""))


if __name__ == "__main__":
    main()
