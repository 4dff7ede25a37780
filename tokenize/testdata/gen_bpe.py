"""Random cases of learning and applying BPE, answered by subword-nmt 0.3.8.

    pip install subword-nmt==0.3.8
    python gen_bpe.py [SEED [CASES]] > bpe_cases.jsonl

Each line is a JSON object: words (with counts), merges, options, the codes that
were learnt, and lines of text with their segmentation. "exact" is false where the
words hold blanks, which subword-nmt takes for borders while it learns.
"""
import io
import json
import random
import sys

from subword_nmt import apply_bpe, learn_bpe

ALPHABETS = [
    "abc",
    "abcdefgh",
    "aäöüßés",
    "012USA",
    "ab\u00a0\t",
    "ал\u4e2d\u6587\U0001f600e\u0301",
    "<>/w",
    "ab@\\.*-",
]


def word(r, alphabet, longest=10):
    return "".join(r.choice(alphabet) for _ in range(r.randint(1, longest)))


def learn(words, merges, minimum, total):
    table = io.StringIO("".join(f"{w} {n}\n" for w, n in words))
    table = [line + "\n" for line in table.getvalue().split("\n") if line]
    out = io.StringIO()
    stderr, sys.stderr = sys.stderr, io.StringIO()
    try:
        learn_bpe.learn_bpe(table, out, merges, minimum, is_dict=True, total_symbols=total)
    finally:
        sys.stderr = stderr
    return out.getvalue()


def case(r):
    alphabet = r.choice(ALPHABETS)
    words = {}
    for _ in range(r.randint(2, 30)):
        words[word(r, alphabet)] = r.choice([1, 1, 2, 3, 5, 8, 50])
    if all(len(w) == 1 for w in words):
        words[alphabet[:2]] = 2
    words = list(words.items())
    merges = r.randint(1, 40)
    minimum = r.choice([1, 2, 2, 2, 4])
    total = r.random() < 0.2
    codes = learn(words, merges, minimum, total)

    o = {"seed": r.choice([0, 1, 12345, 2**32 + 7, -5]), "dropout": 0, "merges": -1,
         "separator": r.choice(["@@", "@@", "@@", "#", "\uffed"]), "glossaries": [], "vocabulary": ""}
    apply_codes = codes
    if r.random() < 0.2:  # version 0.1: the end of a word apart
        body = codes.split("\n", 1)[1].replace("</w>", r.choice(["", " </w>"]))
        rows = [row for row in body.split("\n") if len(row.split(" ")) == 2]
        rows += [f"{c} </w>" for c in alphabet[:3] if c not in "\u00a0\t"]
        r.shuffle(rows)
        apply_codes = "\n".join(rows) + "\n"
    elif r.random() < 0.2:  # out of order, with repetitions
        rows = codes.split("\n")[1:-1]
        rows += rows[: len(rows) // 3]
        r.shuffle(rows)
        apply_codes = "#version: 0.2\n" + "".join(row + "\n" for row in rows)
    if apply_codes.count("\n") < 2:
        apply_codes = "#version: 0.2\na b</w>\n"
    if r.random() < 0.3:
        o["merges"] = r.randint(1, 40)
    if r.random() < 0.3:
        o["dropout"] = r.choice([0.1, 0.5, 0.9, 1.0])
    if r.random() < 0.3:
        g = [r"\d+", "USA", "ab", "a|bc", r"\w", "a*", "[^ab]+", "c$", "^a", r"b\S?", ".a", "<w>"]
        o["glossaries"] = r.sample(g, r.randint(1, 3))

    lines = []
    for _ in range(r.randint(1, 6)):
        known = [w for w, _ in words]
        parts = []
        for _ in range(r.randint(0, 8)):
            parts.append(r.choice(known) if r.random() < 0.6 else word(r, alphabet, 14))
        if r.random() < 0.1:
            parts.append(word(r, alphabet, 200))
        line = "".join(p + r.choice([" ", " ", " ", "  "]) for p in parts)
        if r.random() < 0.7:
            line = line.strip(" ")
        lines.append(" " * r.choice([0, 0, 0, 2]) + line + r.choice(["", "", "", "\r"]))

    separator = o["separator"]
    if r.random() < 0.4:
        plain = apply_bpe.BPE(io.StringIO(apply_codes), -1, separator)
        counts = {}
        for text in [w for w, _ in words] + lines:
            for unit in plain.segment(text).split(" "):
                if unit and unit.strip("\r\n ") == unit:
                    counts[unit] = counts.get(unit, 0) + 1
        kept = [u for u in counts if r.random() < 0.6]
        o["vocabulary"] = "".join(f"{u} {counts[u]}\n" for u in kept)
        o["threshold"] = r.choice([0, 1, 2, 3])
    vocabulary = None
    if o["vocabulary"]:
        rows = [row for row in o["vocabulary"].split("\n") if row]
        vocabulary = apply_bpe.read_vocabulary(rows, o["threshold"])
    bpe = apply_bpe.BPE(io.StringIO(apply_codes), o["merges"], separator, vocabulary, o["glossaries"])
    random.seed(o["seed"])
    segmented = [bpe.process_line(line, o["dropout"]) for line in lines]
    return {"words": words, "learn_merges": merges, "minimum": minimum, "total": total,
            "exact": "\u00a0" not in alphabet, "codes": codes,
            "apply_codes": apply_codes, **o, "lines": lines, "segmented": segmented}


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    for i in range(cases):
        print(json.dumps(case(random.Random(seed * 1000003 + i)), ensure_ascii=True))
