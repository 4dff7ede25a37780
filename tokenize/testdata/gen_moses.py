#!/usr/bin/env python3
"""Writes moses.jsonl: what the Moses scripts make of difficult lines.

    python3 gen_moses.py MOSES MOSES_2017 > moses.jsonl

MOSES is the folder "scripts" of mosesdecoder (commit 3445289), MOSES_2017 that
of December 2017 (the folder scripts/moses-3a0631a of Multi30k's repository).
Made with Perl 5.36 (Unicode 14) and Python 3.11.

Each line of the result is [tool, flags, input, output], the flags being those
of runs/text. Lines are drawn at random with a fixed seed, and the switches in
turn. A pattern file is one flag with the patterns in it, separated by spaces.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

current, december = sys.argv[1:3]
os.environ["PERL_HASH_SEED"] = "0"  # ties in the truecase model come out the same each time
rnd = random.Random(20171201)

ASCII = list(".,'`\"-()[]{}<>|&;:!?%$@#*/\\_=+~^")
TYPOGRAPHIC = list("„“”‘’‚…–—´«»¿¡·º°²½€£§¶•†™\u00a0\u2009\u200b\u00ad\u0301\u2028\u0085\u3000")
WIDE = list("äöüßéàçÄÉœñøłžşİıΣσςдЖ中文字日本한국アイｱ①Ⓐⅰ Ⅰ٣३ªǅ𝐀😀")
WORDS = (
    "No Art pp Mr Dr z.B d.h etc usw e.g i.e U.S l'homme don't it's 1990's 3 14 5,300 3.14 a b s A the The der die und "
    "c.-à-d vs XX xx 99 100 Rs x.y ... .. .' ' '' ,, &amp; &apos; &quot; &lt; &#91; &amp;lt; &bar; @-@ @@ "
    "http://x.org/a me@x.org well-known N.Y aujourd'hui <b> </b>").split()
JOINTS = [" ", " ", " ", "", ".", ",", "'", ". ", ", ", "' ", "'s ", "-", '"', '".', '",', " .", ".  ", "('", '"<', ")("]


def line():
    kind, out = rnd.random(), []
    if kind < 0.4:
        for _ in range(rnd.randint(1, 10)):
            out += [rnd.choice(WORDS), rnd.choice(JOINTS)]
    elif kind < 0.65:
        out = [rnd.choice("ab s5.,'-\" ") for _ in range(rnd.randint(2, 20))]
    elif kind < 0.8:
        pools = [ASCII, TYPOGRAPHIC, list("abcXYZ012 "), [" "], ["\u00a0"]]
        out = [rnd.choice(rnd.choice(pools)) for _ in range(rnd.randint(2, 22))]
    elif kind < 0.95:
        pools = [ASCII, TYPOGRAPHIC, WIDE, list("abcXYZ s012 ")]
        out = [rnd.choice(rnd.choice(pools)) for _ in range(rnd.randint(2, 20))]
    else:
        while len(out) < 12:
            low, high = rnd.choice([(0, 0x20), (0x20, 0x250), (0x250, 0x3000), (0x3000, 0x10000), (0x10000, 0x20000)])
            c = chr(rnd.randrange(low, high))
            if c != "\n" and unicodedata.category(c) not in ("Cs", "Cn"):
                out.append(c)
    return "".join(out)


def perl(script, flags, lines):
    text = "".join(l + "\n" for l in lines)
    done = subprocess.run(["perl", script] + flags, input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True)
    out = done.stdout.decode().split("\n")
    assert out.pop() == "" and len(out) == len(lines), script
    return out


def emit(tool, flags, lines, outputs):
    for a, b in zip(lines, outputs):
        print(json.dumps([tool, flags, a, b], ensure_ascii=False))


def tokenized(lines):
    return perl(current + "/tokenizer/tokenizer.perl", ["-q"], lines)


folder = tempfile.mkdtemp()
for root, version in (current, "current"), (december, "2017"):
    for language in "en", "de", "fr":
        script = root + "/tokenizer/tokenizer.perl"
        base = f"-l {language} -moses {version}"
        for switches in [], ["-a"], ["-no-escape"], ["-a", "-no-escape"]:
            lines = [line() for _ in range(30)]
            emit("tokenize", " ".join([base] + switches), lines, perl(script, ["-q", "-l", language] + switches, lines))
        for patterns in r"[\w\-\_\.]+\@([\w\-\_]+\.)+[a-zA-Z]{2,} http[s]?:\/\/[^:\/\s]+(\/\w+)*\/[\w\-\.]*(\/)?", r"\d+['.] [a-c]+\W <\/?\S+\/?>":
            file = os.path.join(folder, "patterns")
            with open(file, "w") as f:
                f.write("\n".join(patterns.split()) + "\n")
            lines = [line() for _ in range(15)]
            emit("tokenize", f"{base} -protected {patterns}", lines,
                 perl(script, ["-q", "-l", language, "-protected", file], lines))
        lines = [line() for _ in range(50)]
        emit("normalize", base, lines, perl(root + "/tokenizer/normalize-punctuation.perl", ["-l", language], lines))
for language in "cs", "es", "it":
    lines = [line() for _ in range(30)]
    emit("normalize", f"-l {language} -moses current", lines,
         perl(current + "/tokenizer/normalize-punctuation.perl", ["-l", language], lines))
for language in "en", "de", "fr", "it":
    lines = [line() for _ in range(40)]
    lines += tokenized([line() for _ in range(40)])
    emit("detokenize", f"-l {language}", lines,
         perl(current + "/tokenizer/detokenizer.perl", ["-q", "-l", language], lines))
lines = [line() for _ in range(60)]
emit("lower", "", lines, perl(current + "/tokenizer/lowercase.perl", [], lines))
emit("remove-non-printing", "", lines, perl(current + "/tokenizer/remove-non-printing-char.perl", [], lines))
emit("detruecase", "", lines, perl(current + "/recaser/detruecase.perl", [], lines))

# A truecase model from all lines of the corpus, and what it does to them.
corpus, model = os.path.join(folder, "corpus"), os.path.join(folder, "model")
lines = [line() for _ in range(60)] + tokenized([line() for _ in range(60)])
lines += ["The A a a <b> The THE the a|X the|<b> . The", "a the A the : A b <b c> The", "( The a The b"]
with open(corpus, "w") as f:
    f.write("".join(l + "\n" for l in lines))
subprocess.run(["perl", current + "/recaser/train-truecaser.perl", "--corpus", corpus, "--model", model], check=True)
with open(model, newline="\n") as f:
    rows = sorted(f.read().split("\n")[:-1])
emit("truecase-corpus", "", lines, lines)
emit("truecase-model", "", rows, rows)
emit("truecase", "", lines, perl(current + "/recaser/truecase.perl", ["--model", model], lines))


def side():
    pool = ["a", "Haus", "x" * rnd.randint(8, 16), "ä" * rnd.randint(8, 16), "<b>", '<b a="1">', "</b>", "|", "a|b", "\u00a0", "."]
    words = [rnd.choice(pool) for _ in range(rnd.choice([0, 1, 2, 3, 4, 5, 8]))]
    return rnd.choice(["", " ", "\t"]) + rnd.choice([" ", "  ", "\t "]).join(words) + rnd.choice(["", " ", "\r"])


# Cleaning: input and output are [source, target]; an output of null is a dropped pair.
for switches in "-min 1 -max 5 -ratio 1.5", "-min 2 -max 100 -ratio 9 -max-word-length 10", "-min 1 -max 6 -ratio 2 -ignore-xml -lowercase":
    words = switches.split()
    options = [w for i, w in enumerate(words) if not (w in ("-min", "-max") or i and words[i - 1] in ("-min", "-max"))]
    low, high = words[words.index("-min") + 1], words[words.index("-max") + 1]
    pairs = [("A b", "a")] + [(side(), side()) for _ in range(50)]
    for i, name in enumerate(("l1", "l2")):
        with open(f"{folder}/in.{name}", "w", newline="") as f:
            f.write("".join(p[i] + "\n" for p in pairs))
    subprocess.run(["perl", current + "/training/clean-corpus-n.perl"] + options +
                   [folder + "/in", "l1", "l2", folder + "/out", low, high, folder + "/kept"],
                   check=True, stderr=subprocess.DEVNULL)

    def read(name):
        with open(f"{folder}/{name}", newline="\n") as f:
            return f.read().split("\n")[:-1]

    kept = dict(zip(map(int, read("kept")), zip(read("out.l1"), read("out.l2"))))
    emit("clean", switches, [list(p) for p in pairs], [kept.get(i + 1) for i in range(len(pairs))])
