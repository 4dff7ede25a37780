"""The recurrent translator of Kumar and Tsvetkov (2019) in plain PyTorch.

A bidirectional nn.LSTM reads the source. The decoder's cells begin with its last state,
both directions side by side, layer by layer, or all with the only one where the encoder
has a single layer. At each step they read a word vector and the attentional state before;
attention scores by a matrix between the two states and sees no padding. A linear layer
scores words. All parameters start uniform between -0.1 and 0.1, the vectors of padding
excepted.

The peers of runs/bench and the generator of the golden values both use this module.

Letters: B sentences, S and T words of source and target, E width of word vectors, D of
states, V vocabulary.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transformer import PAD


class Attentional(nn.Module):
    def __init__(self, source_vocab, target_vocab, words, width, encoder_layers, decoder_layers, bias=True):
        super().__init__()
        self.source = nn.Embedding(source_vocab, words, padding_idx=PAD)
        self.target = nn.Embedding(target_vocab, words, padding_idx=PAD)
        self.encoder = nn.LSTM(words, width // 2, encoder_layers, bidirectional=True)
        self.decoder = nn.ModuleList(nn.LSTMCell(width if i else words + width, width) for i in range(decoder_layers))
        self.query = nn.Linear(width, width, bias=False)
        self.mix = nn.Linear(2 * width, width, bias=False)
        self.generator = nn.Linear(width, target_vocab, bias=bias)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)
        with torch.no_grad():
            self.source.weight[PAD], self.target.weight[PAD] = 0, 0

    def encode(self, source_BS):
        """Outputs [B,S,D], 0 at padding, and lists by layer of the decoder of the h and c [B,D] that it begins with."""
        lengths_B = source_BS.ne(PAD).sum(1).cpu()  # where packing wants them
        x_SBE = self.source(source_BS.t())
        if lengths_B.min() < source_BS.shape[1]:
            packed, state = self.encoder(pack_padded_sequence(x_SBE, lengths_B, enforce_sorted=False))
            out_SBD, _ = pad_packed_sequence(packed)
        else:
            out_SBD, state = self.encoder(x_SBE)
        h, c = (list(part.unflatten(0, (-1, 2)).transpose(1, 2).flatten(2)) for part in state)
        if len(h) < len(self.decoder):
            h, c = h * len(self.decoder), c * len(self.decoder)
        return out_SBD.transpose(0, 1), h, c

    def cells(self, word_RE, out_RD, h, c):
        """The new h and c of all layers; the last one's h is what attention asks with."""
        x, h, c = torch.cat([word_RE, out_RD], 1), list(h), list(c)
        for i, cell in enumerate(self.decoder):
            h[i], c[i] = cell(x, (h[i], c[i]))
            x = h[i]
        return h, c

    def forward(self, source_BS, prev_BT):
        """Attentional states [B,T,D]."""
        return self.attend(source_BS, prev_BT)[0]

    def attend(self, source_BS, prev_BT):
        """Attentional states [B,T,D] and attention [B,T,S]."""
        memory_BSD, h, c = self.encode(source_BS)
        padding_BS = source_BS.eq(PAD)
        outs, all_weights, out_BD = [], [], torch.zeros_like(h[0])
        for word_BE in self.target(prev_BT.t()).unbind(0):
            h, c = self.cells(word_BE, out_BD, h, c)
            scores_BS = torch.bmm(memory_BSD, self.query(h[-1]).unsqueeze(2)).squeeze(2).masked_fill(padding_BS, -torch.inf)
            weights_BS = scores_BS.softmax(1)
            context_BD = torch.bmm(weights_BS.unsqueeze(1), memory_BSD).squeeze(1)
            out_BD = torch.tanh(self.mix(torch.cat([context_BD, h[-1]], 1)))
            outs.append(out_BD)
            all_weights.append(weights_BS)
        return torch.stack(outs, 1), torch.stack(all_weights, 1)


def plain(name):
    """The name here of a parameter of Aperture's."""
    for theirs, ours in (("encoder.embed_tokens.", "source."), ("decoder.embed_tokens.", "target."), ("decoder.output_projection.", "generator.")):
        if name.startswith(theirs):
            return ours + name.removeprefix(theirs)
    return name


def named(model):
    """Parameters by Aperture's names."""
    names = {"source.weight": "encoder.embed_tokens.weight", "target.weight": "decoder.embed_tokens.weight",
             "generator.weight": "decoder.output_projection.weight", "generator.bias": "decoder.output_projection.bias"}
    return {names.get(name, name): parameter for name, parameter in model.named_parameters()}
