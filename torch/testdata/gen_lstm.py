"""Golden values of an LSTM layer: PyTorch's nn.LSTM, one direction at a time.

Cases: plain, from a given state; ragged, packed columns of different lengths,
and the same backwards. Each holds x [T,B,I], h and c [B,H], the weights by
PyTorch's names, out [T,B,H], h_n, c_n, the gradients seed/out, seed/h and
seed/c that the backward pass starts from, and grad/ of every input.

    python gen_lstm.py
"""

import torch
from torch import nn

import goldens

SEED = 11
T, B, I, H = 7, 4, 5, 9


def case(lengths, reverse):
    lstm = nn.LSTM(I, H, bidirectional=reverse)
    leaves = {"x": torch.randn(T, B, I), "h": torch.randn(B, H), "c": torch.randn(B, H)}
    for leaf in leaves.values():
        leaf.requires_grad_()
    # Of a bidirectional layer, the second half is the one that reads backwards.
    d = 2 if reverse else 1
    suffix = "_l0_reverse" if reverse else "_l0"
    weights = {name: getattr(lstm, name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    state = tuple(torch.stack([leaves[key]] * d) for key in ("h", "c"))
    if lengths is None:
        out, (h_n, c_n) = lstm(leaves["x"], state)
    else:
        packed = nn.utils.rnn.pack_padded_sequence(leaves["x"], lengths, enforce_sorted=False)
        packed, (h_n, c_n) = lstm(packed, state)
        out, _ = nn.utils.rnn.pad_packed_sequence(packed, total_length=T)
    results = {"out": out[..., -H:], "h_n": h_n[-1], "c_n": c_n[-1]}
    seeds = {key: torch.randn_like(value) for key, value in results.items()}
    sum((results[key] * seeds[key]).sum() for key in results).backward()
    tensors = {**leaves, **weights, **results}
    tensors |= {"seed/" + key: value for key, value in seeds.items()}
    tensors |= {"grad/" + key: value.grad for key, value in {**leaves, **weights}.items()}
    if lengths is not None:
        tensors["lengths"] = lengths
    return tensors


def main():
    goldens.start(SEED)
    lengths = torch.tensor([3, 7, 1, 5])
    cases = {"plain": case(None, False), "ragged": case(lengths, False), "reverse": case(lengths, True)}
    goldens.save(__file__, "lstm.safetensors", SEED, {f"{name}/{key}": value for name, tensors in cases.items() for key, value in tensors.items()})


if __name__ == "__main__":
    main()
