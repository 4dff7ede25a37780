"""Peer: training steps of a Transformer in plain PyTorch, as a careful user writes them.

float32, or products in bfloat16 by autocast, fused attention with masks, tied embeddings, label smoothing, dropout
after the embeddings and on every residual branch, fused Adam, gradients set to
none between steps. Padded rows are left out of the output layer. With compiled the
network and the loss go through torch.compile, and the first answer holds
compile_seconds; with recompute the backward pass computes each layer once more. Protocol and measuring: see harness.py.

Configuration: vocab, d, ffn, heads, encoder_layers, decoder_layers, dropout,
threads, batches; optional: learning_rate, smoothing, pre_norm, half, compiled, recompute, seed.
batches is a list of {"source": rows, "prev": rows, "target": rows},
each a list of equally long lists of ids, padded on the right with 1. `step i`
trains on batch i and also reports loss, the mean over target tokens.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

import torch
import torch.nn.functional as F

from transformer import PAD, Config, Transformer


def tensors(batches):
    return [tuple(torch.tensor(batch[key]) for key in ("source", "prev", "target")) for batch in batches]


def main():
    c = harness.configure(
        ["vocab", "d", "ffn", "heads", "encoder_layers", "decoder_layers", "dropout", "threads", "batches"],
        {"learning_rate": 5e-4, "smoothing": 0.1, "pre_norm": False, "compiled": False, "recompute": False, "seed": 1})
    batches = tensors(c["batches"])
    real = [target_BT.ne(PAD).flatten().nonzero().squeeze(1) for _, _, target_BT in batches]
    model = Transformer(Config(c["vocab"], c["vocab"], c["d"], c["ffn"], c["heads"], c["encoder_layers"],
                               c["decoder_layers"], dropout=c["dropout"], pre_norm=c["pre_norm"], tie="all"))
    model.train()
    model.recompute = c["recompute"]
    adam = torch.optim.Adam(model.parameters(), lr=c["learning_rate"], betas=(0.9, 0.98), eps=1e-8, fused=True)

    def mean_of(source_BS, prev_BT, target_BT, real_N):
        states_BTD = model.decode(prev_BT, *model.encode(source_BS))
        logits_NV = model.decoder.output_projection(states_BTD.flatten(0, 1)[real_N])
        return F.cross_entropy(logits_NV, target_BT.flatten()[real_N], label_smoothing=c["smoothing"])

    step = torch.compile(mean_of) if c["compiled"] else mean_of

    def loss(i):
        with harness.products(c):
            mean = step(*batches[i], real[i])
        return mean, mean

    ready = {"compile_seconds": harness.warm(loss, len(batches), model.parameters())} if c["compiled"] else {}
    harness.serve_training(model.parameters(), adam, loss, len(batches), **ready)


if __name__ == "__main__":
    main()
