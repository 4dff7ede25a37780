"""Peer: the loop over time of a decoder with input feeding and attention in plain PyTorch.

float32. At each step the first nn.LSTMCell reads a word vector and the attentional state
before, the others the layer below; attention scores by a matrix between the decoder's
state and the encoder's outputs. The loss is the mean square of the attentional states,
whose gradients go to all weights, words, encoder outputs and the state at the start.
Protocol and measuring: see harness.py.

Configuration: layers, threads, operands; optional: seed. operands names a safetensors
file with the values of all parameters of Loop.

Letters: B sentences, S words of a source, T steps, E width of word vectors, D of states,
L layers.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
from torch import nn

import language
from transformer import read_safetensors


class Loop(nn.Module):
    def __init__(self, words_TBE, memory_BSD, layers):
        super().__init__()
        words, width = words_TBE.shape[2], memory_BSD.shape[2]
        self.words, self.memory = nn.Parameter(words_TBE), nn.Parameter(memory_BSD)
        self.h = nn.Parameter(torch.empty(layers, len(memory_BSD), width))
        self.c = nn.Parameter(torch.empty(layers, len(memory_BSD), width))
        self.decoder = nn.ModuleList(nn.LSTMCell(width if i else words + width, width) for i in range(layers))
        self.query = nn.Linear(width, width, bias=False)
        self.mix = nn.Linear(2 * width, width, bias=False)

    def forward(self):
        """Attentional states [T,B,D]."""
        h, c = list(self.h.unbind(0)), list(self.c.unbind(0))
        outs, out_BD = [], torch.zeros_like(h[0])
        for word_BE in self.words.unbind(0):
            x = torch.cat([word_BE, out_BD], 1)
            for i, cell in enumerate(self.decoder):
                h[i], c[i] = cell(x, (h[i], c[i]))
                x = h[i]
            scores_BS = torch.bmm(self.memory, self.query(x).unsqueeze(2)).squeeze(2)
            context_BD = torch.bmm(scores_BS.softmax(1).unsqueeze(1), self.memory).squeeze(1)
            out_BD = torch.tanh(self.mix(torch.cat([context_BD, x], 1)))
            outs.append(out_BD)
        return torch.stack(outs)


def main():
    c = harness.configure(["layers", "threads", "operands"], {"seed": 1})
    operands = {name: value.to(c["device"]) for name, value in read_safetensors(c["operands"]).items()}
    model = Loop(operands["words"], operands["memory"], c["layers"])
    language.load(model, c["operands"], lambda name: name)
    harness.serve_loss(list(model.parameters()), lambda: model().square().mean())


if __name__ == "__main__":
    main()
