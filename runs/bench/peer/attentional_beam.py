"""Peer: batched beam search with a recurrent translator with attention in plain PyTorch.

The network is that of attentional.py, the search that of translate_beam.py. What attention
compares the decoder's states with, memory W_a, is computed once per sentence, and a
sentence's beams share it; finished sentences leave the batch. Protocol and measuring: see
harness.py.

Configuration: model (a safetensors file in Aperture's names), vocab, words (width of word
vectors), width, layers, and otherwise that of translate_beam.py, without heads.

Letters: B sentences, S words of the longest source, R = B x beam hypotheses, E width of word
vectors, D of states, V vocabulary.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch

import language
import translate_beam
from attentional import Attentional, plain
from transformer import PAD


class State:
    """What decoding carries: of sentences memory, keys and padding, of hypotheses the layers' states and the attentional one."""

    def __init__(self, model, source_BS, beam):
        self.memory, h, c = model.encode(source_BS)
        self.keys = self.memory @ model.query.weight
        self.padding = source_BS.eq(PAD)[:, None, :]
        self.h, self.c = ([x.repeat_interleave(beam, 0) for x in part] for part in (h, c))
        self.out = torch.zeros_like(self.h[0])

    def reorder(self, rows):
        self.h, self.c = ([x.index_select(0, rows) for x in part] for part in (self.h, self.c))
        self.out = self.out.index_select(0, rows)

    def keep(self, sentences):
        self.memory, self.keys, self.padding = (x.index_select(0, sentences) for x in (self.memory, self.keys, self.padding))


def next_log_probs(model, state, last_Bb, _):
    """Log-probabilities [B,beam,V] of what follows these words."""
    b, beam = last_Bb.shape
    state.h, state.c = model.cells(model.target(last_Bb.flatten()), state.out, state.h, state.c)
    top_RD = state.h[-1]
    scores_BbS = torch.bmm(top_RD.view(b, beam, -1), state.keys.transpose(1, 2)).masked_fill(state.padding, -torch.inf)
    context_RD = torch.bmm(scores_BbS.softmax(2), state.memory).flatten(0, 1)
    state.out = torch.tanh(model.mix(torch.cat([context_RD, top_RD], 1)))
    return model.generator(state.out).log_softmax(-1).view(b, beam, -1)


def main():
    c = translate_beam.configure(["model", "vocab", "words", "width", "layers"])
    model = Attentional(c["vocab"], c["vocab"], c["words"], c["width"], c["layers"], c["layers"])
    language.load(model, c["model"], plain)
    translate_beam.serve(c, model, lambda source_BS: State(model, source_BS, c["beam"]), next_log_probs, c["max_positions"])


if __name__ == "__main__":
    main()
