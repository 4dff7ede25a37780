"""Writes score.json, the scores that sacreBLEU and multi-bleu.perl give.

Made with Python 3.11, sacrebleu 2.6.0, numpy 2.4.6, regex 2026.11.15 and perl
5.36. Run it in this folder with the path of Moses' multi-bleu.perl:

    python gen_score.py .../scripts/generic/multi-bleu.perl
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.significance import PairedTest

assert sacrebleu.__version__ == "2.6.0"
rng = random.Random(7)

WORDS = ("der die das ein eine kleiner Hund Frau springt läuft über den nassen Rasen , . ! ? und neben "
         "3.5 1,000 10-20 2018. U.S. isn't „Haus“ »so« — € $5 50% x² ½ don't (rot) [a/b] l' d'or naïve "
         "Größe İstanbul ΟΔΟΣ ΣΑΣ. Straße ŒUVRE 数学 。 ، ؟ 𝔘𝔫𝔦 👩‍🚀 é e\u0301 &amp; &quot;ja&quot; &lt;b&gt; "
         "<skipped> a.,b 1.,2 --- ... 7-, -7 a-1 1-a ... ,,").split()
SPACES = [" "] * 20 + ["  ", "\t", "\u00a0", "\u2003", "\x1c", "\x1f", "\x85", "\u200b", "\u3000"]

EASY = ("der die ein eine mann frau hund kind springt läuft steht sitzt auf neben in dem "
        "der straße park wasser und mit roten blauen hut . ,").split()


def sentence(words, low, high, odd=False):
    n = rng.randint(low, high)
    out = ""
    for i in range(n):
        if i:
            out += rng.choice(SPACES) if odd else " "
        out += rng.choice(words)
    return out


def noisy(line, words, rate):
    tokens = line.split(" ")
    out = []
    for t in tokens:
        x = rng.random()
        if x < rate / 3:
            continue
        if x < 2 * rate / 3:
            t = rng.choice(words)
        elif x < rate:
            out.append(rng.choice(words))
        out.append(t)
    return " ".join(out)


def corpora():
    out = {}
    ref = [sentence(EASY, 6, 16) for _ in range(40)]
    out["easy"] = ([noisy(r, EASY, 0.3) for r in ref], [ref])
    out["easier"] = ([noisy(r, EASY, 0.25) for r in ref], [ref])
    ref = [sentence(WORDS, 0, 12, odd=True) for _ in range(40)]
    out["odd"] = ([noisy(r, WORDS, 0.4) for r in ref], [ref])
    refs = [[sentence(WORDS, 1, 14) for _ in range(30)]]
    for _ in range(2):
        refs.append([noisy(r, WORDS, 0.5) for r in refs[0]])
    hyps = [noisy(r, WORDS, 0.5) for r in refs[1]]
    out["three"] = (hyps, refs)
    out["var"] = (hyps, [refs[0]] + [[None if (i + k) % 3 == 0 else r for i, r in enumerate(stream)]
                                     for k, stream in enumerate(refs[1:])])
    out["nothing"] = ([sentence(["q", "w"], 1, 5) for _ in range(5)], [[sentence(["x", "y"], 2, 6) for _ in range(5)]])
    out["empty hypotheses"] = (["", " ", ""], [["a b c", "d", ""]])
    out["empty references"] = (["a b c", "d", ""], [["", " ", ""]])
    out["short"] = (["a b c", "a b"], [["a b c", "a b"]])
    out["few matches"] = (["a b x y z", "c q d r"], [["a b c d e", "c d e f"]])
    out["ties"] = (["a b c d"], [["a b c d e", ], ["a b c"]])
    out["capitals"] = (["The ΟΔΟΣ in İstanbul IS wet", "GROẞ und Straße"], [["the οδος in i̇stanbul is WET", "groß UND straße"]])
    out["readme"] = (["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."],
                     [["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
                      ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."]])
    return out


CORPORA = corpora()
BLEU_OPTIONS = [dict(tokenize=t) for t in ("13a", "intl", "none", "char")] + [
    dict(smooth_method="floor"), dict(smooth_method="floor", smooth_value=0.5), dict(smooth_method="add-k"),
    dict(smooth_method="add-k", smooth_value=0.25), dict(smooth_method="none"), dict(lowercase=True),
    dict(lowercase=True, tokenize="char"), dict(effective_order=True), dict(max_ngram_order=6), dict(max_ngram_order=2),
    dict(effective_order=True, smooth_method="none"), dict(effective_order=True, smooth_method="add-k")]
CHRF_OPTIONS = [dict(), dict(word_order=2), dict(lowercase=True), dict(whitespace=True), dict(eps_smoothing=True),
                dict(word_order=2, eps_smoothing=True, whitespace=True), dict(char_order=4, word_order=1, beta=3)]


def entry(metric, corpus, options, samples=1):
    hyps, refs = CORPORA[corpus]
    score = metric.corpus_score(hyps, refs, n_bootstrap=samples)
    signature = metric.get_signature()
    out = dict(corpus=corpus, options=options, score=float(score.score), text=score.format(1, False, str(signature)))
    if samples > 1 or corpus in ("var", "short", "nothing"):
        out.update(short=signature.format(short=True), wide=score.format(2, False, str(signature)),
                   json=score.format(1, False, str(signature), True))
    if samples > 1:
        out.update(samples=samples, mean=float(score._mean), ci=float(score._ci))
    return out


def scores(kind, every):
    out = []
    for corpus in CORPORA:
        for options in every:
            out.append(entry(kind(**options), corpus, options))
    return out


def intervals(kind, every):
    return [entry(kind(**options), corpus, options, samples)
            for corpus, samples in (("easy", 1000), ("odd", 200), ("three", 39), ("short", 50)) for options in every]


def sentences(kind, every):
    out = []
    for corpus in ("easy", "odd", "three", "readme"):
        hyps, refs = CORPORA[corpus]
        for options in every:
            metric = kind(**options, **(dict(effective_order=True) if kind is BLEU else {}))
            out.append(dict(corpus=corpus, options=options, scores=[
                float(metric.sentence_score(h, list(r)).score) for h, *r in zip(hyps, *refs)]))
    return out


def pairs():
    out = []
    for samples in (1000, 300, 130, 60, 5):
        refs = CORPORA["easy"][1]
        systems = [("Baseline", CORPORA["easy"][0]), ("System", CORPORA["easier"][0])]
        for name, metric, options in (("BLEU", BLEU(), {}), ("chrF2", CHRF(), {}), ("chrF2++", CHRF(word_order=2), dict(word_order=2))):
            signatures, results = PairedTest(systems, {name: metric}, refs, test_type="bs", n_samples=samples)()
            (column,) = (v for k, v in results.items() if k != "System")
            base, system = column
            out.append(dict(metric=name, options=options, samples=samples, p=system.p_value,
                            means=[float(base.mean), float(system.mean)], cis=[float(base.ci), float(system.ci)]))
    return out


def multi_bleu(script):
    out = []
    for corpus in CORPORA:
        hyps, refs = CORPORA[corpus]
        if any(line is None or "\r" in line for stream in refs for line in stream):
            continue
        if not "".join(hyps).strip():
            continue
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for k, stream in enumerate(refs):
                names.append(os.path.join(folder, "ref" + "abc"[k]))
                with open(names[-1], "w", encoding="utf-8", newline="") as f:
                    f.write("".join(line + "\n" for line in stream))
            for lc in (False, True):
                run = subprocess.run(["perl", script] + ["-lc"] * lc + names, capture_output=True,
                                     input="".join(line + "\n" for line in hyps).encode(), env={"LC_ALL": "C"})
                out.append(dict(corpus=corpus, lowercase=lc, line=run.stdout.decode().strip()))
    return out


def tokens():
    lines = ["Hello, world! It's 3.5, isn't it?",
             """1,000.50 a.b,c 10-20 well-known A-1 'x' "q" $5 50% e.g. (a/b)""",
             "end 2018.", "&apos;", "&amp;lt;b&amp;gt;", "a<skipped>b -\nc\nd", ".,.,.", "a.,b", "1.,2", "«¿Qué?»", "", " ", "x\u2028y\x1dz"]
    lines += [sentence(WORDS, 1, 8, odd=True) for _ in range(20)]
    lines += ["".join(rng.choice("ab1٣½.,-'’!€+_ ·ª。𝟙\u0301") for _ in range(rng.randint(1, 20))) for _ in range(60)]
    return [dict(line=line, **{t: _get_tokenizer(t)()(line.rstrip()).split() for t in ("13a", "intl", "char", "none")}) for line in lines]


def lowers():
    parts = ["Σ", "Σ", "Α", "β", "'", ".", "İ", "ß", " ", "\u0301", "1", "Ǆ", "ʰ", "-", "ẞ"]
    lines = ["".join(rng.choice(parts) for _ in range(rng.randint(1, 9))) for _ in range(80)]
    return [dict(line=line, lower=line.lower()) for line in lines]


def draws():
    out = []
    for seed in (12345, 1, 2**32, 2**63 + 12345):
        for n in (1, 2, 7, 1000, 2**31 + 5, 3 * 10**9):
            out.append(dict(seed=str(seed), n=n, draws=np.random.default_rng(seed).choice(n, size=(3, 7)).ravel().tolist()))
    return out


golden = dict(
    corpora={k: dict(hyps=h, refs=r) for k, (h, r) in CORPORA.items()},
    bleu=scores(BLEU, BLEU_OPTIONS), chrf=scores(CHRF, CHRF_OPTIONS),
    bleu_intervals=intervals(BLEU, [dict(), dict(smooth_method="add-k", smooth_value=0.3), dict(smooth_method="floor", tokenize="char")]),
    chrf_intervals=intervals(CHRF, [dict(), dict(word_order=2), dict(eps_smoothing=True)]),
    bleu_sentences=sentences(BLEU, [dict(), dict(tokenize="intl"), dict(smooth_method="floor"), dict(smooth_method="add-k")]),
    chrf_sentences=sentences(CHRF, [dict(), dict(word_order=2)]),
    pairs=pairs(), multi_bleu=multi_bleu(sys.argv[1]), tokens=tokens(), lowers=lowers(), draws=draws())
with open("score.json", "w", encoding="utf-8") as f:
    f.write("{\n" + ",\n".join(
        json.dumps(k) + ": " + (
            "[\n" + ",\n".join(json.dumps(x, ensure_ascii=False) for x in v) + "\n]" if isinstance(v, list) else
            json.dumps(v, ensure_ascii=False))
        for k, v in golden.items()) + "\n}\n")
