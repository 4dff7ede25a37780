"""Peer: training steps of a Transformer in plain PyTorch, as a careful user writes them.

float32, fused attention with masks, tied embeddings, label smoothing, dropout
after the embeddings and on every residual branch, fused Adam, gradients set to
none between steps. Protocol and measuring: see harness.py.

Configuration: vocab, d, ffn, heads, encoder_layers, decoder_layers, dropout,
threads, batches; optional: learning_rate, smoothing, pre_norm, seed.
batches names a JSON file: a list of {"source": rows, "prev": rows, "target": rows},
each a list of equally long lists of ids, padded on the right with 1. `step i`
trains on batch i and also reports loss, the mean over target tokens.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import json

import torch
import torch.nn.functional as F

from transformer import PAD, Config, Transformer


def main():
    c = harness.configure(
        ["vocab", "d", "ffn", "heads", "encoder_layers", "decoder_layers", "dropout", "threads", "batches"],
        {"learning_rate": 5e-4, "smoothing": 0.1, "pre_norm": False, "seed": 1})
    with open(c["batches"]) as file:
        batches = [tuple(torch.tensor(batch[key]) for key in ("source", "prev", "target")) for batch in json.load(file)]
    model = Transformer(Config(c["vocab"], c["vocab"], c["d"], c["ffn"], c["heads"], c["encoder_layers"],
                               c["decoder_layers"], dropout=c["dropout"], pre_norm=c["pre_norm"], tie="all"))
    model.train()
    adam = torch.optim.Adam(model.parameters(), lr=c["learning_rate"], betas=(0.9, 0.98), eps=1e-8, fused=True)

    def loss(i):
        source_BS, prev_BT, target_BT = batches[i]
        logits_BTV = model(source_BS, prev_BT)
        mean = F.cross_entropy(logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, label_smoothing=c["smoothing"])
        return mean, mean

    harness.serve_training(model.parameters(), adam, loss, len(batches))


if __name__ == "__main__":
    main()
