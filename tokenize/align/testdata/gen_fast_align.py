#!/usr/bin/env python3
"""Writes fast_align.jsonl: what fast_align and atools make of artificial pairs.

    python3 gen_fast_align.py FAST_ALIGN ATOOLS > fast_align.jsonl

FAST_ALIGN and ATOOLS are the two programs, built from fast_align cab1e9a with
g++ 12 -O3. The first line holds the pairs, as fast_align reads them; each
other line the flags of fast_align, and its links or, for atools, those of
grow-diag-final-and of "-d -o -v" in both directions. Pairs are drawn with a
fixed seed: words of a Zipfian vocabulary, most of them translated by a word of
their own, some dropped, some swapped with a neighbour, some translated by two
words.
"""
import json
import random
import subprocess
import sys
import tempfile

fast_align, atools = sys.argv[1:3]
rnd = random.Random(2013)


def pair():
    source, target = [], []
    for _ in range(rnd.randint(1, 14)):
        word = int(120 * rnd.random() ** 2.5)
        source.append(f"s{word}")
        kind = rnd.random()
        if kind < 0.1:
            continue
        target.append(f"t{word if kind < 0.9 else int(120 * rnd.random())}")
        if word % 7 == 0:
            target.append(f"u{word}")
    for i in range(len(target) - 1):
        if rnd.random() < 0.15:
            target[i], target[i + 1] = target[i + 1], target[i]
    return " ".join(source) + " ||| " + " ".join(target or ["t0"])


def run(*command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.split("\n")[:-1]


pairs = [pair() for _ in range(400)]
print(json.dumps(pairs, separators=(",", ":")))
with tempfile.TemporaryDirectory() as folder:
    text = folder + "/pairs"
    with open(text, "w") as out:
        out.write("\n".join(pairs) + "\n")
    kept = {}
    for flags in ["-d -o -v", "-d -o -v -r", "-d", "-d -o -r", "-v", "-d -v -I 1"]:
        kept[flags] = run(fast_align, "-i", text, *flags.split())
        print(json.dumps({"flags": flags, "links": kept[flags]}, separators=(",", ":")))
    for name, flags in [("forward", "-d -o -v"), ("reverse", "-d -o -v -r")]:
        with open(f"{folder}/{name}", "w") as out:
            out.write("\n".join(kept[flags]) + "\n")
    links = run(atools, "-c", "grow-diag-final-and", "-i", f"{folder}/forward", "-j", f"{folder}/reverse")
    print(json.dumps({"flags": "grow-diag-final-and", "links": links}, separators=(",", ":")))
