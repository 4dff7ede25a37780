"""Makes vocab.json, merges.txt and the goldens of this folder.

    python gen_bytebpe.py MULTI30K_FOLDER PTB_FOLDER

Versions: tokenizers 0.23.3, Python 3.11. The random lines are those of ../../spm/testdata/random.txt.gz. The goldens are
SHA-256 sums over the ids of all lines of a text; cases.jsonl has a few to look at. learnt.json has the SHA-256 sums of
the files that ByteLevelBPETokenizer learns from each of some texts, with their line feeds, and the number of merges.
"""

import gzip
import hashlib
import json
import os
import sys
import tempfile

from tokenizers import ByteLevelBPETokenizer, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = [f"{split}.{language}" for split in ("train", "val", "test_2016_flickr") for language in ("en", "de")]
PTB = ["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"]
CASES = ["Hello world", "  two  spaces ", "don't you've they'll 'S", "x\u00a0\u3000y 12½ ②", "a\n\n b\r\n", "€\U0001F600 naïve", " ", "\t\tx"]


def main(multi30k, ptb):
    read = lambda path: open(path, encoding="utf-8", newline="\n").read().removesuffix("\n").split("\n")
    texts = {name: read(os.path.join(multi30k, name)) for name in FILES}
    texts |= {name: read(os.path.join(ptb, name)) for name in PTB}
    with gzip.open(os.path.join(HERE, "../../spm/testdata/random.txt.gz")) as f:
        texts["random"] = f.read().decode().removesuffix("\n").split("\n")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts["train.en"][:8000] + texts["train.de"][:8000], trainer)
    tokenizer.model.save(HERE)
    goldens = {}
    for name, lines in texts.items():
        ids, text = hashlib.sha256(), hashlib.sha256()
        for encoding in tokenizer.encode_batch(lines):
            ids.update((" ".join(map(str, encoding.ids)) + "\n").encode())
            text.update((tokenizer.decode(encoding.ids) + "\n").encode())
            # Every other unit: bytes that are no characters.
            text.update((tokenizer.decode(encoding.ids[::2]) + "\n").encode())
        goldens[name] = {"ids": ids.hexdigest(), "text": text.hexdigest()}
    with open(os.path.join(HERE, "sums.json"), "w") as f:
        json.dump(goldens, f, indent=1)
        f.write("\n")
    learnt = {}
    for name, size in [("ptb.train.txt", 8000), ("train.de", 5000), ("random", 600)]:
        learner = ByteLevelBPETokenizer()
        lines = [line + "\n" for line in texts[name]]
        learner.train_from_iterator(lines, vocab_size=size, min_frequency=2, show_progress=False)
        with tempfile.TemporaryDirectory() as folder:
            learner.save_model(folder)
            data = {file: open(os.path.join(folder, file), "rb").read() for file in ("vocab.json", "merges.txt")}
        learnt[name] = {"size": size, "merges": data["merges.txt"].count(b"\n") - 1}
        learnt[name] |= {file: hashlib.sha256(content).hexdigest() for file, content in data.items()}
    with open(os.path.join(HERE, "learnt.json"), "w") as f:
        json.dump(learnt, f, indent=1)
        f.write("\n")
    with open(os.path.join(HERE, "cases.jsonl"), "w") as f:
        for line in CASES + texts["random"][:40]:
            ids = tokenizer.encode(line).ids
            case = {"line": line, "ids": ids, "text": tokenizer.decode(ids), "half": tokenizer.decode(ids[::2])}
            f.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
