"""Writes wordf1.json: F1 of words by how often the training text has them.

Written from the definition (Kumar and Tsvetkov 2019, section 6, table 5): for every sentence and every
word type of its reference or its output, the smaller of the two counts goes to the matches, the reference's
count to the base of recall and the output's to the base of precision, all of them in the bucket of the
type's count in the training text. Buckets are 0, 1, 2, 3, 4, 5-9, 10-99, 100-999, 1000 and more. A measure
whose base is empty is null.

    python3 gen_wordf1.py > wordf1.json

needs Python 3.9 or newer and nothing else. The texts are drawn: word number r of 400 about in proportion to
1/r, and the output is the reference with words dropped, doubled and replaced.
"""

import json
import random
from collections import Counter

NAMES = ["0", "1", "2", "3", "4", "5-9", "10-99", "100-999", "1000+"]


def name(count):
    if count < 5:
        return str(count)
    for limit, bucket in ((10, "5-9"), (100, "10-99"), (1000, "100-999")):
        if count < limit:
            return bucket
    return "1000+"


def scores(hyps, refs, training):
    seen = Counter(word for line in training for word in line.split())
    matches, recall_base, precision_base = Counter(), Counter(), Counter()
    for hyp, ref in zip(hyps, refs):
        out, gold = Counter(hyp.split()), Counter(ref.split())
        for word in set(out) | set(gold):
            bucket = name(seen[word])
            matches[bucket] += min(out[word], gold[word])
            recall_base[bucket] += gold[word]
            precision_base[bucket] += out[word]
    rows = []
    for bucket in NAMES:
        m, r, p = matches[bucket], recall_base[bucket], precision_base[bucket]
        recall = m / r if r else None
        precision = m / p if p else None
        if not r and not p:
            f1 = None
        elif m == 0:
            f1 = 0.0
        else:
            f1 = 2 * precision * recall / (precision + recall)
        rows.append(dict(name=bucket, reference=r, output=p, matches=m, precision=precision, recall=recall, f1=f1))
    return rows


def drawn(random, sentences, words):
    ranks = range(1, words + 1)
    weights = [1 / r for r in ranks]
    return [" ".join(f"w{r}" for r in random.choices(ranks, weights, k=random.randint(3, 12))) for _ in range(sentences)]


def changed(random, line):
    out = []
    for word in line.split():
        action = random.random()
        if action < 0.1:
            continue
        if action < 0.2:
            out.append(word)
        out.append(f"w{random.randint(1, 450)}" if action > 0.75 else word)
    return " ".join(out)


def main():
    r = random.Random(1)
    training = drawn(r, 1200, 400)
    refs = drawn(r, 60, 430)
    hyps = [changed(r, line) for line in refs]
    hyps[5] = ""
    small = [["rare new", ""], ["rare rare", "other"], ["rare the the"]]
    cases = [dict(hyps=hyps, refs=refs, training=training), dict(hyps=small[0], refs=small[1], training=small[2])]
    for case in cases:
        case["rows"] = scores(case["hyps"], case["refs"], case["training"])
    print(json.dumps(cases, indent=0))


if __name__ == "__main__":
    main()
