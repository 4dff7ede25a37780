"""Goldens of beam search: beam.json, from a search that keeps nothing and batches nothing.

Versions: Python 3.11, torch 2.11.0.
Run: python3 gen_beam.py (some minutes; writes beside itself).

The models are models/testdata/transformer_NAME_trained.safetensors in float64, with
the output matrix multiplied by SHARPEN, so that choices are clear: a source is
taken only where float32 finds the same translations and scores of competing
hypotheses are at least MARGIN apart.

beam.json: a list of {model, beam, lenpen, min_len, max_len_a, max_len_b, sharpen, cases: [{source: ids
without end of sentence, hypotheses: [{ids, score, log_prob, token_log_probs}], best first}]}.

Where the peer of the benchmark has a setting (one hypothesis, min_len 1, batches of
sentences of one length), its batched and cached search must agree.
"""

import json
import math
import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "../../..")
sys.path[:0] = [os.path.join(root, "runs/bench/peer")]

import torch

import translate_beam
from transformer import EOS, PAD, Transformer

SHARPEN, MARGIN, CASES = 4.0, 1e-4, 6
SETTINGS = [  # model, beam, lenpen, min_len, max_len_a, max_len_b
    ("postnorm_tied", 1, 1.0, 1, 0, 200),
    ("postnorm_tied", 2, 0.0, 1, 1.5, 3),
    ("postnorm_tied", 5, 1.0, 1, 0, 12),
    ("postnorm_tied", 5, 0.6, 4, 1, 2),
    ("prenorm_learned", 1, 0.6, 3, 0, 200),
    ("prenorm_learned", 2, 1.0, 1, 2.3, 1),
    ("prenorm_learned", 5, 0.0, 1, 0, 200),
    ("prenorm_learned", 5, 1.0, 6, 0, 7),
    ("postnorm_separate", 1, 0.0, 0, 0, 9),
    ("postnorm_separate", 2, 0.6, 2, 0.7, 5),
    ("postnorm_separate", 5, 1.0, 0, 1, 0),
    ("postnorm_separate", 5, 0.6, 1, 0, 20),
]


def load(name, dtype):
    path = os.path.join(root, f"models/testdata/transformer_{name}_trained.safetensors")
    torch.set_default_dtype(torch.float64)
    sizes = translate_beam.read_config(path, 2, 1024)
    model = Transformer(sizes)
    model.load(path)
    weight = model.decoder.output_projection.weight
    model.decoder.output_projection.weight = torch.nn.Parameter(weight.detach() * SHARPEN)
    return model.eval().to(dtype), sizes


def search(model, source, beam, lenpen, min_len, max_len):
    """All finished hypotheses of one sentence, best first, and the smallest gap between a choice and its rival."""
    states, allowed = model.encode(torch.tensor([source]))
    open_, finished, gap = [([], [], 0.0)], [], math.inf
    for t in range(max_len + 1):
        rivals = []
        for ids, parts, total in open_:
            hidden = model.decode(torch.tensor([[EOS] + ids]), states, allowed)[0, -1]
            log_probs = model.decoder.output_projection(hidden).log_softmax(0).tolist()
            for v, lp in enumerate(log_probs):
                if v == PAD or (v != EOS if t == max_len else v == EOS and t < min_len):
                    continue
                rivals.append((total + lp, v, ids, parts + [lp]))
        rivals.sort(key=lambda r: -r[0])
        gap = min([gap] + [a[0] - b[0] for a, b in zip(rivals, rivals[1:2 * beam + 1])])
        open_ = []
        for rank, (total, v, ids, parts) in enumerate(rivals[:2 * beam]):
            if v != EOS:
                open_.append((ids + [v], parts, total))
            elif rank < beam and len(finished) < beam:
                finished.append({"ids": ids, "score": total / (t + 1) ** lenpen, "log_prob": total, "token_log_probs": parts})
        open_ = open_[:beam]
        if len(finished) == beam:
            break
    finished.sort(key=lambda h: -h["score"])
    gap = min([gap] + [a["score"] - b["score"] for a, b in zip(finished, finished[1:])])
    return finished, gap


def cases(name, beam, lenpen, min_len, a, b):
    exact, sizes = load(name, torch.float64)
    rounded, _ = load(name, torch.float32)
    out = []
    while len(out) < CASES:
        source = torch.randint(3, sizes.source_vocab, (int(torch.randint(1, 9, ())),)).tolist()
        max_len = min(int(a * (len(source) + 1) + b), sizes.max_positions - 1)
        want, gap = search(exact, source + [EOS], beam, lenpen, min_len, max_len)
        same, _ = search(rounded, source + [EOS], beam, lenpen, min_len, max_len)
        if gap < MARGIN or [h["ids"] for h in want] != [h["ids"] for h in same]:
            continue
        if min_len == 1:
            [(score, ids)] = translate_beam.search(exact, torch.tensor([source + [EOS]]), beam, lenpen, max_len)
            assert ids == want[0]["ids"] and abs(score - want[0]["score"]) < 1e-9
        out.append({"source": source, "hypotheses": want})
    return out


@torch.inference_mode()
def main():
    torch.manual_seed(20260119)
    goldens = []
    for setting in SETTINGS:
        name, beam, lenpen, min_len, a, b = setting
        goldens.append({"model": name, "beam": beam, "lenpen": lenpen, "min_len": min_len, "max_len_a": a, "max_len_b": b,
                        "sharpen": SHARPEN, "cases": cases(*setting)})
        lengths = [len(h["ids"]) for case in goldens[-1]["cases"] for h in case["hypotheses"]]
        print(setting, "lengths", min(lengths), "to", max(lengths), "hypotheses", len(lengths))
    with open(os.path.join(here, "beam.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(g) for g in goldens) + "\n]\n")


main()
