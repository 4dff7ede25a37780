"""Times byte-pair encoding with the tokenizers package on one thread.

    {"work": "apply", "text": ["a.txt"], "codes": "codes"}

codes is a file of subword-nmt, version 0.2. The texts are read once. A round
segments every line into units, or into their ids where the work is "ids", without
what earlier rounds remembered. Protocol: see rounds.py.
"""
import os
import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import rounds

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

try:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
except ImportError:
    rounds.missing("install it with: python3 -m pip install tokenizers")

END = "</w>"


def load(codes, lines):
    with open(codes, encoding="utf-8", newline="\n") as f:
        rows = f.read().rstrip("\n").split("\n")
    if rows[0] != "#version: 0.2":
        print(f"{codes}: want codes of version 0.2", file=sys.stderr)
        sys.exit(2)
    merges = [tuple(row.split(" ")) for row in rows[1:]]
    vocabulary = {"<unk>": 0}
    for character in sorted(set("".join(lines)) - {" "}):
        vocabulary.setdefault(character, len(vocabulary))
        vocabulary.setdefault(character + END, len(vocabulary))
    for left, right in merges:
        for unit in (left, right, left + right):
            vocabulary.setdefault(unit, len(vocabulary))
    model = models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", end_of_word_suffix=END)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(" +"), "removed")
    return tokenizer


def main():
    request = rounds.request()
    lines = rounds.read_lines(request["text"])
    tokenizer = load(request["codes"], lines)
    what = "ids" if request["work"] == "ids" else "tokens"
    rounds.serve(lambda: [getattr(encoding, what) for encoding in tokenizer.encode_batch_fast(lines)], tokenizer.model._clear_cache)


main()
