"""Goldens of the recurrent translator with attention: attentional_NAME.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_attentional.py (a second; writes beside itself).

NAME          layers of encoder and decoder
paper         1 and 2: the encoder's last state begins both
repository    2 and 2: that of each layer begins its own

nn.LSTM and nn.LSTMCell, word vectors of width 6, states of width 10, 23 source and 19
target types, no dropout, float64. Metadata: config.

    param/*, grad/*       every parameter, and the gradient of loss
    batch/{source [B,S], prev [B,T], target [B,T]}   unsorted, right-padded, pad 1, end 2
    hidden [n,D]          rows of real target words, sentence by sentence
    attention [B,T,S]     of real target words
    nll [n]               by row
    loss []               the sum over words divided by sentences
    losses [10], norms [10]    of ten updates on this batch, each before its update: the
                          gradient's norm is clipped at 1, then Adam with PyTorch's defaults
                          and a rate of 0.02
    trained/*             every parameter after them
"""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../../torch/testdata"), os.path.join(here, "../../runs/bench/peer")]

import torch
import torch.nn.functional as F

import goldens
from attentional import Attentional, named
from transformer import EOS, PAD

SEED, CLIP, RATE, UPDATES = 20261122, 1.0, 0.02, 10
SOURCE_LENGTHS, TARGET_LENGTHS = (4, 7, 1, 5), (5, 3, 6, 1)  # with the end of sentence
READINGS = {
    name: {"source_vocab": 23, "target_vocab": 19, "words": 6, "width": 10, "encoder_layers": layers, "decoder_layers": 2}
    for name, layers in (("paper", 1), ("repository", 2))
}


def padded(lengths, vocabulary):
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(rows, lengths):
        row[:length - 1] = torch.randint(3, vocabulary, (length - 1,))
        row[length - 1] = EOS
    return rows


def evaluate(model, source_BS, prev_BT, target_BT):
    out_BTD, attention_BTS = model.attend(source_BS, prev_BT)
    real_BT = target_BT != PAD
    hidden_nD = out_BTD[real_BT]
    nll_n = F.cross_entropy(model.generator(hidden_nD), target_BT[real_BT], reduction="none")
    return {"hidden": hidden_nD, "attention": attention_BTS * real_BT[:, :, None], "nll": nll_n, "loss": nll_n.sum() / len(source_BS)}


def main():
    for offset, (name, sizes) in enumerate(READINGS.items()):
        goldens.start(SEED + offset)
        model = Attentional(**sizes, bias=False)
        with torch.no_grad():  # larger than they start, so that no nonlinearity looks linear
            for parameter in model.parameters():
                parameter.mul_(5)
        source_BS, target_BT = padded(SOURCE_LENGTHS, sizes["source_vocab"]), padded(TARGET_LENGTHS, sizes["target_vocab"])
        prev_BT = torch.cat([torch.full((len(target_BT), 1), EOS), target_BT[:, :-1]], 1).masked_fill(target_BT == PAD, PAD)
        batch = {"source": source_BS, "prev": prev_BT, "target": target_BT}
        parameters = named(model)

        result = evaluate(model, **{f"{key}_{'BS' if key == 'source' else 'BT'}": value for key, value in batch.items()})
        gradients = torch.autograd.grad(result["loss"], list(parameters.values()))
        tensors = {f"param/{n}": p.detach().clone() for n, p in parameters.items()}
        tensors |= {f"grad/{n}": g for n, g in zip(parameters, gradients)}
        tensors |= {f"batch/{n}": x for n, x in batch.items()} | result

        adam = torch.optim.Adam(model.parameters(), lr=RATE)
        losses, norms = [], []
        for _ in range(UPDATES):
            adam.zero_grad()
            loss = evaluate(model, source_BS, prev_BT, target_BT)["loss"]
            loss.backward()
            norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP))
            adam.step()
            losses.append(loss.detach())
        assert losses[0] == result["loss"] and losses[-1] < losses[0] and norms[0] > CLIP
        tensors |= {"losses": torch.stack(losses), "norms": torch.stack(norms)}
        tensors |= {f"trained/{n}": p for n, p in parameters.items()}
        goldens.save(__file__, f"attentional_{name}.safetensors", SEED + offset, tensors, {"config": sizes})


if __name__ == "__main__":
    main()
