"""The Transformer that others publish numbers with, in plain PyTorch.

The equations are fairseq's: embeddings times sqrt(d) plus positions that count
from pad + 1, post-norm or pre-norm layers, biases on every map but the output,
which is the (possibly tied) target embedding. Parameter names are fairseq's too,
and a tied matrix has one name in a file: decoder.embed_tokens.weight.

The peers of runs/bench and the generator of the golden values both use this
module, so that the equations stand once in Python.

Letters: B sentences, S source length, T target length, D width, F inner width,
H heads, K width of a head, V vocabulary, L layers.
"""

import json
import math
import struct
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

PAD, EOS = 1, 2


@dataclass
class Config:
    source_vocab: int
    target_vocab: int
    d: int
    ffn: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    dropout: float = 0.0  # after embeddings and on every residual branch
    pre_norm: bool = False
    learned_positions: bool = False
    max_positions: int = 1024
    tie: str = "all"  # all: three matrices are one; decoder: target embedding and output; none


def plain_attention(q_BHTK, k_BHSK, v_BHSK, blocked):
    """Attention spelt out; returns the values and the probabilities [B,H,T,S].

    blocked, true where a query must not look, broadcasts to [B,H,T,S].
    """
    scores_BHTS = (q_BHTK * q_BHTK.shape[-1] ** -0.5) @ k_BHSK.transpose(-1, -2)
    if blocked is not None:
        scores_BHTS = scores_BHTS.masked_fill(blocked, -math.inf)
    weights_BHTS = scores_BHTS.softmax(-1)
    return weights_BHTS @ v_BHSK, weights_BHTS


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.plain = False  # spelt out, and keeping its probabilities
        self.weights_BHTS = None
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))
        for part in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.xavier_uniform_(part.weight, gain=2 ** -0.5)
        nn.init.xavier_uniform_(self.out_proj.weight)
        nn.init.zeros_(self.out_proj.bias)

    def split(self, x_BTD):
        return x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, x_BSD):
        return self.split(self.k_proj(x_BSD)), self.split(self.v_proj(x_BSD))

    def forward(self, x_BTD, k_BHSK, v_BHSK, allowed=None, causal=False):
        """allowed, true where a query may look, broadcasts to [B,H,T,S]."""
        q_BHTK = self.split(self.q_proj(x_BTD))
        if self.plain:
            blocked = None if allowed is None else ~allowed
            if causal:
                t = x_BTD.shape[1]
                blocked = torch.ones(t, t, dtype=torch.bool, device=x_BTD.device).triu(1)
            y_BHTK, self.weights_BHTS = plain_attention(q_BHTK, k_BHSK, v_BHSK, blocked)
        else:
            y_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSK, attn_mask=allowed, is_causal=causal)
        return self.out_proj(y_BHTK.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of either stack; with cross attention it is a decoder's."""

    def __init__(self, c, cross):
        super().__init__()
        self.pre_norm, self.dropout = c.pre_norm, c.dropout
        self.self_attn = Attention(c.d, c.heads)
        self.self_attn_layer_norm = nn.LayerNorm(c.d)
        if cross:
            self.encoder_attn = Attention(c.d, c.heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(c.d)
        self.fc1, self.fc2 = nn.Linear(c.d, c.ffn), nn.Linear(c.ffn, c.d)
        self.final_layer_norm = nn.LayerNorm(c.d)

    def residual(self, x_BTD, norm, branch):
        y_BTD = branch(norm(x_BTD) if self.pre_norm else x_BTD)
        x_BTD = x_BTD + F.dropout(y_BTD, self.dropout, self.training)
        return x_BTD if self.pre_norm else norm(x_BTD)

    def look_at_itself(self, x_BTD, allowed=None, causal=False):
        def branch(y_BTD):
            return self.self_attn(y_BTD, *self.self_attn.keys_values(y_BTD), allowed, causal)
        return self.residual(x_BTD, self.self_attn_layer_norm, branch)

    def look_at_source(self, x_BTD, k_BHSK, v_BHSK, allowed):
        def branch(y_BTD):
            return self.encoder_attn(y_BTD, k_BHSK, v_BHSK, allowed)
        return self.residual(x_BTD, self.encoder_attn_layer_norm, branch)

    def feed_forward(self, x_BTD):
        return self.residual(x_BTD, self.final_layer_norm, lambda y_BTD: self.fc2(F.relu(self.fc1(y_BTD))))


def sinusoids(length, d, dtype=torch.float64):
    """Positions 0..length-1; sines first, then cosines; the row of pad is zero."""
    half = d // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float64) * -(math.log(10000) / (half - 1)))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    table = torch.cat([angles.sin(), angles.cos()], 1)
    table[PAD] = 0
    return table.to(dtype)


def embedding(rows, d):
    table = nn.Embedding(rows, d, padding_idx=PAD)
    nn.init.normal_(table.weight, std=d ** -0.5)
    nn.init.zeros_(table.weight[PAD])
    return table


class Stack(nn.Module):
    """What encoder and decoder share: the way in, the layers, the last norm."""

    def __init__(self, c, tokens, layers, cross):
        super().__init__()
        self.scale, self.dropout, self.learned = math.sqrt(c.d), c.dropout, c.learned_positions
        self.embed_tokens = tokens
        rows = c.max_positions + PAD + 1
        if self.learned:
            self.embed_positions = embedding(rows, c.d)
        else:
            self.register_buffer("positions", sinusoids(rows, c.d, torch.get_default_dtype()), persistent=False)
        self.layers = nn.ModuleList(Layer(c, cross) for _ in range(layers))
        if c.pre_norm:
            self.layer_norm = nn.LayerNorm(c.d)

    def embed(self, ids_BT, places_BT):
        x_BTD = self.scale * self.embed_tokens(ids_BT)
        x_BTD = x_BTD + (self.embed_positions(places_BT) if self.learned else self.positions[places_BT])
        return F.dropout(x_BTD, self.dropout, self.training)

    def finish(self, x_BTD):
        return self.layer_norm(x_BTD) if hasattr(self, "layer_norm") else x_BTD


def places(ids_BT):
    """The n-th real token, counting from 1, stands at PAD + n; pads at PAD."""
    real_BT = ids_BT.ne(PAD)
    return real_BT.cumsum(1) * real_BT + PAD


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.recompute = False  # whether layers are computed once more in the backward pass
        target = embedding(c.target_vocab, c.d)
        source = target if c.tie == "all" else embedding(c.source_vocab, c.d)
        self.encoder = Stack(c, source, c.encoder_layers, cross=False)
        self.decoder = Stack(c, target, c.decoder_layers, cross=True)
        self.decoder.output_projection = nn.Linear(c.d, c.target_vocab, bias=False)
        if c.tie == "none":
            nn.init.normal_(self.decoder.output_projection.weight, std=c.d ** -0.5)
        else:
            self.decoder.output_projection.weight = target.weight

    def piece(self, f, *x):
        return checkpoint(f, *x, use_reentrant=False) if self.recompute else f(*x)

    def attentions(self):
        return [m for m in self.modules() if isinstance(m, Attention)]

    def encode(self, source_BS):
        """Returns states [B,S,D] and, true at real tokens, a mask [B,1,1,S]."""
        real_BS = source_BS.ne(PAD)
        x_BSD = self.encoder.embed(source_BS, places(source_BS)) * real_BS[:, :, None]
        allowed = real_BS[:, None, None, :]
        for layer in self.encoder.layers:
            x_BSD = self.piece(lambda x, layer=layer: layer.feed_forward(layer.look_at_itself(x, allowed)), x_BSD)
        return self.encoder.finish(x_BSD), allowed

    def decode(self, prev_BT, states_BSD, allowed):
        """Hidden states [B,T,D]. Targets are padded on the right only, so that
        looking backwards never meets a pad."""
        x_BTD = self.decoder.embed(prev_BT, places(prev_BT))
        for layer in self.decoder.layers:
            def f(x_BTD, states_BSD, layer=layer):
                x_BTD = layer.look_at_itself(x_BTD, causal=True)
                x_BTD = layer.look_at_source(x_BTD, *layer.encoder_attn.keys_values(states_BSD), allowed)
                return layer.feed_forward(x_BTD)

            x_BTD = self.piece(f, x_BTD, states_BSD)
        return self.decoder.finish(x_BTD)

    def forward(self, source_BS, prev_BT):
        """Logits [B,T,V]."""
        return self.decoder.output_projection(self.decode(prev_BT, *self.encode(source_BS)))

    def load(self, path):
        """Reads a safetensors file in these names; a tied matrix may stand under any of its names."""
        stored = read_safetensors(path)
        groups = {}
        for name, parameter in self.named_parameters(remove_duplicate=False):
            groups.setdefault(parameter, []).append(name)
        with torch.no_grad():
            for parameter, names in groups.items():
                found = next((n for n in names if n in stored), None)
                if found is None:
                    raise ValueError(f"{path}: no tensor named {names[0]}")
                if stored[found].shape != parameter.shape:
                    raise ValueError(f"{path}: {found} is {list(stored[found].shape)}, want {list(parameter.shape)}")
                parameter.copy_(stored[found])


def read_safetensors(path):
    """All tensors of a file, so that peers need nothing but torch."""
    kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool}
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(bytearray(body[begin:end]), dtype=kinds[entry["dtype"]]) if end > begin else torch.empty(0)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
