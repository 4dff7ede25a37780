"""Writes significance.json: sacreBLEU's paired tests of two trained translators' outputs.

    python gen_significance.py

needs sacrebleu 2.6.0. Here lie mle.de and spectrum.de, the translations of the built-in sample's test text by two runs,

    go run ./runs/wmt14 -method=mle -seed=1 -steps=1000 -threads=1 -set=train.validate_every=200 -set=schedule.warmup=200
        -set=data.sample_size=3000 -set=train.max_tokens=700 -set=model.encoder_layers=2 -set=model.decoder_layers=2
        -set=model.width=64 -set=model.ffn_width=128 -set=decode.beam=2

and the same with -method=spectrum (samples/test.de of each), and reference.de, the sample's.
"""
import json
import os

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

assert sacrebleu.__version__ == "2.6.0"


def lines(name):
    with open(name, encoding="utf-8", newline="\n") as f:
        return f.read().removesuffix("\n").split("\n")


reference, systems = lines("reference.de"), [("mle", lines("mle.de")), ("spectrum", lines("spectrum.de"))]
out = []
for count in (500, 137):  # all, and a part, so that a p value is large enough to differ
    for seed in (12345, 7):
        os.environ["SACREBLEU_SEED"] = str(seed)
        for metric, make in (("BLEU", BLEU), ("chrF2", CHRF)):
            row = dict(metric=metric, count=count, seed=seed)
            for kind in ("bs", "ar"):
                _, results = PairedTest([(name, hyps[:count]) for name, hyps in systems], {metric: make()}, [reference[:count]], test_type=kind)()
                base, system = (v for k, v in results.items() if k != "System").__next__()
                row["p_" + kind] = system.p_value
                row["scores"] = [float(base.score), float(system.score)]
                if kind == "bs":
                    row["means"], row["cis"] = [float(base.mean), float(system.mean)], [float(base.ci), float(system.ci)]
            out.append(row)
with open("significance.json", "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(row) for row in out) + "\n]\n")
