"""Times byte-pair encoding with subword-nmt.

    {"work": "apply", "text": ["a.txt"], "codes": "codes"}
    {"work": "learn", "text": ["a.txt", "b.txt"], "merges": 10000}

The texts are read once. A round of learning counts the words, learns and formats
the codes; one of applying segments every line, without what earlier rounds
remembered. Protocol: see rounds.py.
"""
import io
import os
import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import rounds

try:
    from subword_nmt import apply_bpe, learn_bpe
except ImportError:
    rounds.missing("install it with: python3 -m pip install subword-nmt==0.3.8")


def learning(lines, merges):
    silent = open(os.devnull, "w")

    def work():
        stderr, sys.stderr = sys.stderr, silent  # its progress bar
        try:
            learn_bpe.learn_bpe(lines_as_file(lines), io.StringIO(), merges)
        finally:
            sys.stderr = stderr

    return work


class lines_as_file(list):
    """Lines that learn_bpe can iterate over as over an open file."""

    name = "<stdin>"


def main():
    request = rounds.request()
    lines = rounds.read_lines(request["text"])
    if request["work"] == "learn":
        rounds.serve(learning(lines, request["merges"]))
        return
    with open(request["codes"], encoding="utf-8") as f:
        bpe = apply_bpe.BPE(f)
    rounds.serve(lambda: [bpe.process_line(line) for line in lines], bpe.cache.clear)


main()
