"""Peer: a GPT trained on a text for some minutes in plain PyTorch, and tested; what preset ptb/gpt-small is held against.

nanoGPT's program and recipe: blocks from random places, fused AdamW that decays matrices alone, gradients of norm 1, the
rate up over 200 updates and down by half a cosine, here of the time, to a tenth. Pieces are those of a run of ours, so
that both losses are of the same tokens; the text is tested in windows side by side, as ours is.

    python runs/bench/peer/gpt_train.py TOKENIZER-FOLDER TRAIN TEST MINUTES [THREADS]

needs torch and tokenizers, and prints updates, loss and perplexity a word, where a line's end counts as a word.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import math
import time

import torch
from tokenizers import ByteLevelBPETokenizer

from gpt import GPT

BLOCK, BATCH, RATE, WARMUP, SEED = 128, 16, 1e-3, 200, 1


def main():
    folder, train, test, minutes = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
    torch.set_num_threads(int(sys.argv[5]) if len(sys.argv) > 5 else 2)
    torch.manual_seed(SEED)
    pieces = ByteLevelBPETokenizer(f"{folder}/vocab.json", f"{folder}/merges.txt")
    read = lambda path: open(path, encoding="utf-8", newline="").read()
    encode = lambda lines: torch.tensor(pieces.encode(lines).ids)
    test = read(test)
    text, tested = encode(read(train)), encode(test)
    print(f"{len(text)} pieces to train on, {len(tested)} to test", flush=True)

    config = {"vocab": pieces.get_vocab_size(), "width": 256, "heads": 4, "ffn": 1024, "layers": 4, "positions": BLOCK,
              "dropout": 0.2, "half": False, "recompute": False}
    model = GPT(config)
    for name, p in model.named_parameters():
        if p.dim() == 2:
            deep = name.endswith("proj.weight")
            torch.nn.init.normal_(p, std=0.02 / math.sqrt(2 * config["layers"]) if deep else 0.02)
        elif name.endswith("bias"):
            torch.nn.init.zeros_(p)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    adam = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=RATE,
                             betas=(0.9, 0.99), fused=True)

    begin, updates = time.monotonic(), 0
    while (share := (time.monotonic() - begin) / (60 * minutes)) < 1:
        rate = RATE * (0.1 + 0.45 * (1 + math.cos(math.pi * share)))
        for group in adam.param_groups:
            group["lr"] = rate * min(1, (updates + 1) / WARMUP)
        places = torch.randint(len(text) - BLOCK, (BATCH,))
        block = torch.stack([text[i:i + BLOCK + 1] for i in places]).T
        loss, _, _ = model(block[:-1], block[1:], None)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        updates += 1
        if updates % 500 == 0:
            print(f"update {updates}, loss {loss.item():.4f}, {100 * share:.0f} % of the time", flush=True)

    model.eval()
    total = 0.0
    with torch.no_grad():
        for i in range(0, len(tested) - 1, BLOCK):
            block = tested[i:i + BLOCK + 1].unsqueeze(1)
            total += model(block[:-1], block[1:], None)[0].item() * (len(block) - 1)
    # As ours: the mean over the scored tokens, for all of the text's tokens and words.
    mean, words = total / (len(tested) - 1), len(test.split()) + test.count("\n")
    print(f"{updates} updates; test loss {mean:.4f}, perplexity a word {math.exp(mean * len(tested) / words):.2f}")


if __name__ == "__main__":
    main()
