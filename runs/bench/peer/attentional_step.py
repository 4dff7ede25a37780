"""Peer: training steps of a recurrent translator with attention and a softmax in plain PyTorch.

float32. A bidirectional nn.LSTM reads the source. The decoder's cells begin with its
last state, both directions side by side, and at each step read a word vector and the
attentional state before; attention scores by a matrix between the two states. A
linear layer with cross-entropy, summed over words and divided by sentences, clipping,
fused Adam, gradients set to none between steps. Protocol and measuring: see
harness.py.

Configuration: vocab, words (width of word vectors), width, layers, threads, batches,
small; optional: learning_rate, clip, seed. batches names a JSON file as in
transformer_step.py. small is {vocab, words, width, layers, batches, weights}: for the
network in the safetensors file weights and the first of those batches, the first
answer holds loss, the mean over words, and gradients, their norms by name. `step i`
trains on batch i and also reports loss, the mean over words.

Letters: B sentences, S and T words of source and target, N real words of targets, E
width of word vectors, D of states, L layers, V vocabulary.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import language
from transformer import PAD


class Attentional(nn.Module):
    def __init__(self, vocab, words, width, layers):
        super().__init__()
        self.source = nn.Embedding(vocab, words, padding_idx=PAD)
        self.target = nn.Embedding(vocab, words, padding_idx=PAD)
        self.encoder = nn.LSTM(words, width // 2, layers, bidirectional=True)
        self.decoder = nn.ModuleList(nn.LSTMCell(width if i else words + width, width) for i in range(layers))
        self.query = nn.Linear(width, width, bias=False)
        self.mix = nn.Linear(2 * width, width, bias=False)
        self.generator = nn.Linear(width, vocab)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def encode(self, source_BS):
        """Outputs [B,S,D], and lists by layer of the last h and c [B,D]."""
        lengths_B = source_BS.ne(PAD).sum(1)
        x_SBE = self.source(source_BS.t())
        if lengths_B.min() < source_BS.shape[1]:
            packed, state = self.encoder(pack_padded_sequence(x_SBE, lengths_B, enforce_sorted=False))
            out_SBD, _ = pad_packed_sequence(packed)
        else:
            out_SBD, state = self.encoder(x_SBE)
        h, c = (list(part.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2)) for part in state)
        return out_SBD.transpose(0, 1), h, c

    def forward(self, source_BS, prev_BT):
        """Attentional states [B,T,D]."""
        memory_BSD, h, c = self.encode(source_BS)
        padding_BS = source_BS.eq(PAD)
        outs, out_BD = [], torch.zeros_like(h[0])
        for word_BE in self.target(prev_BT.t()).unbind(0):
            x = torch.cat([word_BE, out_BD], 1)
            for i, cell in enumerate(self.decoder):
                h[i], c[i] = cell(x, (h[i], c[i]))
                x = h[i]
            scores_BS = torch.bmm(memory_BSD, self.query(x).unsqueeze(2)).squeeze(2).masked_fill(padding_BS, -torch.inf)
            context_BD = torch.bmm(scores_BS.softmax(1).unsqueeze(1), memory_BSD).squeeze(1)
            out_BD = torch.tanh(self.mix(torch.cat([context_BD, x], 1)))
            outs.append(out_BD)
        return torch.stack(outs, 1)

    def loss(self, source_BS, prev_BT, target_BT):
        """The loss of a batch, summed over words by sentences, and the mean over words."""
        real_BT = target_BT.ne(PAD)
        states_ND, target_N = self(source_BS, prev_BT)[real_BT], target_BT[real_BT]
        total = F.cross_entropy(self.generator(states_ND), target_N, reduction="sum")
        return total / len(source_BS), total.detach() / len(target_N)


SIZES = ["vocab", "words", "width", "layers"]


def read_batches(path):
    with open(path) as file:
        return [tuple(torch.tensor(batch[key]) for key in ("source", "prev", "target")) for batch in json.load(file)]


def check(small):
    """Loss and norms of gradients of the small network."""
    model = Attentional(*(small[key] for key in SIZES))
    named = language.load(model, small["weights"], lambda name: name)
    loss, mean = model.loss(*read_batches(small["batches"])[0])
    loss.backward()
    return {"loss": mean.item(), "gradients": {name: parameter.grad.norm().item() for name, parameter in named.items()}}


def main():
    c = harness.configure(SIZES + ["threads", "batches", "small"], {"learning_rate": 5e-4, "clip": 5.0, "seed": 1})
    batches = read_batches(c["batches"])
    model = Attentional(*(c[key] for key in SIZES))
    adam = torch.optim.Adam(model.parameters(), lr=c["learning_rate"], fused=True)
    harness.serve_training(model.parameters(), adam, lambda i: model.loss(*batches[i]), len(batches), clip=c["clip"], **check(c["small"]))


if __name__ == "__main__":
    main()
