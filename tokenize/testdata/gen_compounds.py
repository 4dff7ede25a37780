"""Writes compounds.jsonl: lines, and what Perl's substitution of the published scripts makes of them.

python3 gen_compounds.py > compounds.jsonl    (Perl 5.36, Python 3.11)
"""

import itertools
import json
import subprocess

PROGRAM = r"s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g"  # get_ende_bleu.sh of tensor2tensor, compound_split_bleu.sh of fairseq

lines = [
    "", "-", "a", "a-b", "-a", "a-", "a -b", "a- b", "a - b", "a-b-c", "ab-cd-ef", "a-b-c-d-e", "a--b", "a---b", "----", "--a--",
    "rich-text format", "Die E-Mail-Adresse der Nord-Süd-Achse", "1-2-3", "ä-ö-ü", "a-ä-b", "ä-b-ö", "größen-ähnlich-übrig",
    "@-@", "rich @-@ text", "rich ##AT##-##AT## text", "a\tb-c\td", "a\u00a0-b", "a-\u00a0b", "\u2003-a", "a\x0b-b", "a\x0c-b", "a\x1c-b",
    "a\x85-b", "a\r-b", "x\u2010y", "x\u2013y", "x\u00ady", "日本-語-版", "a-&quot;b&quot;-c", "'-'", "\U0001f600-\U0001f601-\U0001f602",
]
lines += ["".join(p) for n in (3, 4, 5) for p in itertools.product("a- ", repeat=n)]
lines += ["".join(p) for p in itertools.product("aé- ", repeat=4)]
for line in lines:
    out = subprocess.run(["perl", "-ple", PROGRAM], input=(line + "\n").encode(), capture_output=True, check=True, env={"LC_ALL": "C"})
    print(json.dumps({"line": line, "split": out.stdout.decode()[:-1]}, ensure_ascii=False))
