"""Times byte-pair encoding with subword-nmt.

    python3 bpe_subword_nmt.py '{"work": "apply", "text": ["a.txt"], "codes": "codes"}'
    python3 bpe_subword_nmt.py '{"work": "learn", "text": ["a.txt", "b.txt"], "merges": 10000}'

The texts are read once. For each line "go" on standard input the work is done
anew, without what earlier rounds remembered, and its seconds are printed as one
line. Learning counts the words, learns and formats the codes; applying segments
every line.
"""
import io
import json
import os
import sys
import time

try:
    from subword_nmt import apply_bpe, learn_bpe
except ImportError:
    print("install it with: python3 -m pip install subword-nmt==0.3.8", file=sys.stderr)
    sys.exit(3)


def read_lines(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as f:
            lines.extend(f)
    return lines


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


def applying(lines, codes):
    with open(codes, encoding="utf-8") as f:
        bpe = apply_bpe.BPE(f)

    def work():
        bpe.cache.clear()
        return [bpe.process_line(line) for line in lines]

    return work


def main():
    request = json.loads(sys.argv[1])
    lines = read_lines(request["text"])
    if request["work"] == "learn":
        work = learning(lines, request["merges"])
    else:
        work = applying(lines, request["codes"])
    for command in sys.stdin:
        if command.strip() != "go":
            print(f"unknown request {command.strip()!r}: want go", file=sys.stderr)
            sys.exit(2)
        begin = time.perf_counter()
        work()
        print(time.perf_counter() - begin, flush=True)


main()
