"""Goldens of what sampling leaves of a distribution: sampling.json, by transformers' own processors.

Versions: Python 3.11, torch 2.11.0, transformers 5.24.0.
Run: python3 gen_sampling.py (some seconds; writes beside itself).

A case has the options of a draw and the probabilities [V] that they leave; log_probs [V] and seen are those of all.
"""

import json
import os

import torch
from transformers import (
    LogitsProcessorList, MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper,
    TopPLogitsWarper, TypicalLogitsWarper)

V = 23
CASES = [
    {},
    {"temperature": 0.7},
    {"repetition": 1.3},
    {"typical": 0.2},
    {"typical": 0.9},
    {"min_p": 0.1},
    {"min_p": 1.0},
    {"top_k": 7, "typical": 0.5},
    {"top_p": 0.8, "min_p": 0.15},
    {"temperature": 1.6, "repetition": 2.0, "top_k": 15, "top_p": 0.95, "min_p": 0.05, "typical": 0.8},
]


def processors(case):
    """In the order in which transformers' generate has them."""
    make = [("repetition", lambda x: RepetitionPenaltyLogitsProcessor(penalty=x)), ("temperature", TemperatureLogitsWarper),
            ("top_k", TopKLogitsWarper), ("top_p", TopPLogitsWarper), ("min_p", MinPLogitsWarper),
            ("typical", lambda x: TypicalLogitsWarper(mass=x))]
    return LogitsProcessorList([f(case[name]) for name, f in make if name in case])


def main():
    torch.manual_seed(20261124)
    torch.set_default_dtype(torch.float64)
    log_probs = (2 * torch.randn(V)).log_softmax(0).float().double()
    seen = [3, 3, 11, int(log_probs.argmax())]
    out = {"log_probs": log_probs.tolist(), "seen": seen, "cases": []}
    for case in CASES:
        left = processors(case)(torch.tensor([seen]), log_probs[None].clone())
        out["cases"].append({**case, "left": left.softmax(-1)[0].tolist()})
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "sampling.json"), "w") as file:
        json.dump(out, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
