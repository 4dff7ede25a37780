"""Times the usual way from raw text to ids: the Moses tokenizer, subword-nmt, and a
plain binariser in Python, one after the other.

    {"folder": "DIR", "languages": ["en", "de"], "codes": "codes", "vocabularies": ["vocabulary.en", "vocabulary.de"]}

A round reads DIR/train.LANGUAGE of each language and writes DIR/peer.LANGUAGE, ids of
16 bits with the end of sentence. vocabularies are files of fairseq. The tokenizer is
found, or stood in for, as in moses_tokenizer.py. Protocol: see rounds.py.
"""
import array
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import moses_tokenizer
import rounds

try:
    from subword_nmt import apply_bpe
except ImportError:
    rounds.missing("install it with: python3 -m pip install subword-nmt==0.3.8")

END, UNKNOWN, SPECIAL = 2, 3, 4


def tokenizer(language):
    """What is timed, and a function from the path of a text to its tokenised lines."""
    script = moses_tokenizer.script_below(os.environ.get("MOSES", ""))
    if script:
        def run(path):
            with open(path, "rb") as text:
                done = subprocess.run(["perl", script, "-q", "-l", language], stdin=text, stdout=subprocess.PIPE, check=True)
            return done.stdout.decode().rstrip("\n").split("\n")

        return f"timing {script}", run
    try:
        from sacremoses import MosesTokenizer
    except ImportError:
        rounds.missing("no tokenizer.perl: set MOSES to a copy of mosesdecoder, or install the stand-in with: "
                       "python3 -m pip install sacremoses==0.2.0")
    moses = MosesTokenizer(lang=language)
    return moses_tokenizer.STAND_IN, lambda path: [moses.tokenize(line, return_str=True) for line in rounds.read_lines([path])]


def read_vocabulary(path):
    return {line.rsplit(" ", 1)[0]: SPECIAL + i for i, line in enumerate(rounds.read_lines([path]))}


def main():
    request = rounds.request()
    folder = request["folder"]
    with open(request["codes"], encoding="utf-8") as f:
        bpe = apply_bpe.BPE(f)
    sides = [(language, *tokenizer(language), read_vocabulary(path)) for language, path in zip(request["languages"], request["vocabularies"])]

    def work():
        for language, _, tokenise, ids in sides:
            with open(os.path.join(folder, f"peer.{language}"), "wb") as out:
                for line in tokenise(os.path.join(folder, f"train.{language}")):
                    units = bpe.process_line(line).split()
                    array.array("H", [ids.get(unit, UNKNOWN) for unit in units] + [END]).tofile(out)

    rounds.serve(work, bpe.cache.clear, sides[0][1])


main()
