"""Makes the models, the random lines and the goldens of this folder.

    python gen_spm.py MULTI30K_FOLDER PTB_FOLDER

Versions: sentencepiece 0.2.3, Python 3.11. The goldens are SHA-256 sums over the pieces of all lines of a text, since
the texts themselves are not part of the repository; cases.jsonl has a few lines to look at.
"""

import gzip
import hashlib
import io
import json
import os
import random
import sys
import unicodedata

import sentencepiece as spm

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = [f"{split}.{language}" for split in ("train", "val", "test_2016_flickr") for language in ("en", "de")]
PTB = ["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"]
COMMON = dict(num_threads=1, minloglevel=2, hard_vocab_limit=False)
MODELS = {
    "unigram": dict(model_type="unigram", vocab_size=1000),
    "bpe": dict(model_type="bpe", vocab_size=1000),
    "unigram_bytes": dict(
        model_type="unigram", vocab_size=900, normalization_rule_name="identity", byte_fallback=True,
        user_defined_symbols=["<sep>", "ein Mann", "str", "Straß"], remove_extra_whitespaces=False),
    "bpe_bytes": dict(
        model_type="bpe", vocab_size=900, normalization_rule_name="identity", byte_fallback=True,
        user_defined_symbols=["<sep>", "ein Mann", "str", "Straß"]),
    "unigram_suffix": dict(
        model_type="unigram", vocab_size=600, normalization_rule_name="nfkc_cf", treat_whitespace_as_suffix=True),
    "bpe_plain": dict(
        model_type="bpe", vocab_size=600, normalization_rule_name="nmt_nfkc_cf", add_dummy_prefix=False,
        character_coverage=0.98, unk_surface="?"),
}

# Ways to split that are equally probable, or nearly: which one it is depends on how sums are rounded.
TIES = ["||--lll --", "enlllnn--- ||", "00tterlllss ||000ereeoo",
        "er||...   erlll|| schoo", "1100lll er||000 aa", "--||ttlll||"]


def random_lines():
    """3,000 lines: words of both languages among characters of all planes, with odd spaces and marks."""
    rng = random.Random(35)
    ranges = [(0x20, 0x7F), (0xA0, 0x180), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80), (0x1100, 0x1200),
              (0x1E00, 0x2000), (0x2000, 0x2070), (0x2070, 0x2C00), (0x3000, 0x3400), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4),
              (0xF900, 0xFB50), (0xFB50, 0xFE00), (0xFE00, 0x10000), (0x10000, 0x10400), (0x1D400, 0x1D800), (0x1F300, 0x1FA00),
              (0xE000, 0xE100), (0x1, 0x20), (0x7F, 0xA0)]
    words = "ein Mann in einem blauen Hemd steht auf der Straße zwei <sep> </s> <unk> <0x41> the girls étude ﬁn ① ｶﾞ ㌔ e\u0301 ▁ ⁇ Straß str".split()
    lines = []
    while len(lines) < 3000:
        parts = []
        for _ in range(rng.randint(1, 12)):
            if rng.random() < 0.4:
                parts.append(rng.choice(words))
            else:
                low, high = rng.choice(ranges)
                parts.append("".join(chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 6))))
            parts.append(rng.choice(["", " ", " ", "  ", "\u3000", "\u00a0", "\u200b", "\t"]))
        line = "".join(c for c in "".join(parts) if c not in "\n\x00" and unicodedata.category(c) != "Cs")
        lines.append(line)
    return lines


def sums(model, lines):
    pieces, text = hashlib.sha256(), hashlib.sha256()
    for line in lines:
        encoded = model.encode(line, out_type=str)
        pieces.update((" ".join(encoded) + "\n").encode())
        text.update((model.decode(encoded) + "\n").encode())
    return {"pieces": pieces.hexdigest(), "text": text.hexdigest()}


def main(multi30k, ptb):
    read = lambda path: open(path, encoding="utf-8", newline="\n").read().removesuffix("\n").split("\n")
    texts = {name: read(os.path.join(multi30k, name)) for name in FILES}
    texts |= {name: read(os.path.join(ptb, name)) for name in PTB}
    texts["random"] = random_lines()
    with gzip.GzipFile(os.path.join(HERE, "random.txt.gz"), "w", mtime=0) as f:
        f.write("".join(line + "\n" for line in texts["random"]).encode())
    training = [line for name in ("train.en", "train.de") for line in texts[name][:4000]]
    goldens, cases = {}, []
    for name, options in MODELS.items():
        writer = io.BytesIO()
        spm.SentencePieceTrainer.train(sentence_iterator=iter(training), model_writer=writer, **COMMON, **options)
        with gzip.GzipFile(os.path.join(HERE, name + ".model.gz"), "w", mtime=0) as f:
            f.write(writer.getvalue())
        model = spm.SentencePieceProcessor(model_proto=writer.getvalue())
        goldens[name] = {text: sums(model, lines) for text, lines in texts.items()}
        for line in texts["test_2016_flickr.de"][:2] + texts["random"][:6] + TIES:
            pieces = model.encode(line, out_type=str)
            cases.append({"model": name, "line": line, "pieces": pieces, "text": model.decode(pieces)})
    with open(os.path.join(HERE, "sums.json"), "w") as f:
        json.dump(goldens, f, indent=1)
        f.write("\n")
    with open(os.path.join(HERE, "cases.jsonl"), "w") as f:
        for case in cases:
            f.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
