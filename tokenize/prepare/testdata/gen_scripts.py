#!/usr/bin/env python3
"""Writes scripts.json: what the scripts of fairseq for IWSLT14 and WMT14 make of artificial text, up to byte-pair encoding.

The steps of both scripts are run with the Perl programs of Moses (commit 3445289, Perl 5.36) and GNU grep, sed and awk.

    python3 gen_scripts.py MOSES > scripts.json       # MOSES is a checkout of mosesdecoder
"""
import json
import os
import random
import subprocess
import sys
import tempfile

moses = os.path.join(os.path.abspath(sys.argv[1]), "scripts")
random.seed(11)

WORDS = {
    "de": "der alte Hund schläft unter dem Tisch und träumt von einem Knochen Äpfel fallen leise z.B. am 3. Mai d.h. heute".split(),
    "en": "the old dog sleeps under the table and dreams of a bone apples fall softly e.g. on No. 3 Mr. Smith's well-known".split(),
}
ODD = ["’", "‘x’", "“q”", "\u00ad", "\u200b", "\x07", "\ufeff", "\u2028", "\u0085", "«\u00a0x\u00a0»", "5 %", "1\u00a0000", 'a,"b"', '".', "–", "—",
       "…", "´´", "`", "nº 3", "\ue000", "x\u200by", "d'un", '"\u00ad.', "&", "|", "<x>", "!!!", "(a) (b)", "1,000.5", "it's don't"]


def sentence(language, longest=12):
    words = [random.choice(WORDS[language]) for _ in range(random.randint(2, longest))]
    if random.random() < 0.4:
        words.insert(random.randint(0, len(words)), random.choice(ODD))
    return " ".join(words) + random.choice([".", "", "?", " !"])


def pairs(n):
    sides = {"de": [], "en": []}
    for _ in range(n):
        pair = {"de": sentence("de"), "en": sentence("en")}
        chance = random.random()
        if chance < 0.05:
            pair[random.choice(["de", "en"])] = random.choice(["", " ", "\u00a0", "\t"])
        elif chance < 0.1:
            times = random.randint(10, 20)
            pair = {language: " ".join([text] * times) for language, text in pair.items()}
        for language, text in pair.items():
            sides[language].append(random.choice(["", " "]) + text)
    return sides


def run(command, text=""):
    return subprocess.run(["bash", "-c", command], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                          env=dict(os.environ, S=moses, LC_ALL="C.UTF-8")).stdout.decode()


def iwslt14():
    inputs, folder = {}, tempfile.mkdtemp()
    text = pairs(400)
    for language in text:
        lines = []
        for i, line in enumerate(text[language]):
            if i % 25 == 0:
                lines += [f"<url>http://talk/{i}</url>", f"<keywords>talks, {language}</keywords>", f"<speaker>Jo {i}</speaker>", f"<talkid>{i}</talkid>",
                          f"<title>{language}: Talk {i}</title>", f"<description>TED Talk: {random.choice(ODD)}.</description>"]
            lines.append(line)
        inputs[f"train.tags.de-en.{language}"] = "\n".join(lines) + "\n"
    sets = ["TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"]
    for name in sets:
        text = pairs(4)
        for language in text:
            segments = "".join(f'<seg id="{i + 1}"> {line.strip() or "x"} it’s &amp; so </seg>\n' for i, line in enumerate(text[language]))
            inputs[f"IWSLT14.{name}.de-en.{language}.xml"] = f'<mteval>\n<refset setid="x">\n<doc docid="1" genre="lectures">\n<title>’</title>\n{segments}</doc>\n</refset>\n</mteval>\n'
    expected = {}
    for language in ("de", "en"):
        tokens = run("grep -v '<url>' | grep -v '<talkid>' | grep -v '<keywords>' | sed -e 's/<title>//g' -e 's/<\\/title>//g' -e 's/<description>//g' -e 's/<\\/description>//g' | "
                     f"perl $S/tokenizer/tokenizer.perl -q -l {language}", inputs[f"train.tags.de-en.{language}"])
        with open(f"{folder}/tok.{language}", "w", newline="") as f:
            f.write(tokens)
    run(f"perl $S/training/clean-corpus-n.perl -ratio 1.5 {folder}/tok de en {folder}/clean 1 175")
    for language in ("de", "en"):
        for name, rows in (("train", "NR%23!=0"), ("valid", "NR%23==0")):
            expected[f"{name}.{language}"] = run(f"perl $S/tokenizer/lowercase.perl < {folder}/clean.{language} | awk '{rows}'")
        expected[f"test.{language}"] = "".join(
            run("grep '<seg id' | sed -e 's/<seg id=\"[0-9]*\">\\s*//g' | sed -e 's/\\s*<\\/seg>\\s*//g' | sed -e \"s/\\’/\\'/g\" | "
                f"perl $S/tokenizer/tokenizer.perl -q -l {language} | perl $S/tokenizer/lowercase.perl", inputs[f"IWSLT14.{name}.de-en.{language}.xml"]) for name in sets)
    return {"inputs": inputs, "expected": expected}


def wmt14():
    inputs, expected = {}, {}
    for name, n in (("europarl-v7.de-en", 250), ("commoncrawl.de-en", 60), ("news-commentary-v9.de-en", 9)):
        text = pairs(n)
        for language in text:
            inputs[f"{name}.{language}"] = "".join(line + random.choice(["\n", "\n", "\r\n"]) for line in text[language])
    for language in ("en", "de"):
        tokens = run(f"perl $S/tokenizer/normalize-punctuation.perl {language} | perl $S/tokenizer/remove-non-printing-char.perl | "
                     f"perl $S/tokenizer/tokenizer.perl -q -a -l {language}", "".join(text for name, text in inputs.items() if name.endswith("." + language)))
        for name, rows in (("train", "NR%100!=0"), ("valid", "NR%100==0")):
            expected[f"{name}.{language}"] = run(f"awk '{rows}'", tokens)
    return {"inputs": inputs, "expected": expected}


json.dump({"iwslt14": iwslt14(), "wmt14": wmt14()}, sys.stdout, ensure_ascii=False, indent=0)
print()
