"""Writes small fastText models and what fastText itself says of their words.

    python gen_fasttext.py        # fasttext-wheel 0.9.2, numpy 2.4

fasttext-{a,b,c}.bin are models; fasttext-{a,b,c}.vec has get_word_vector of words that the model has and of words that it
lacks, as a word and its numbers, in hexadecimal so that none is rounded. a has n-grams as by default, b of 1 and 2 characters,
c has none. fasttext-labels is a classifier of text, and
fasttext-q.ftz the same quantised. Training has one thread, but its numbers depend on the processor.
"""

import os
import random
import tempfile

import fasttext

here = os.path.dirname(os.path.abspath(__file__))
known = "der die das hund katze läuft schläft über straße größe naïve 東京 привет 🙂 a ß x1 &quot; Straßenbahn".split()
unseen = "hunde katzen läufst Überläufer straßenbahnen 京 ü привета 🙂🙂 b €5 unbekannt".split()
random.seed(15)
text = tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False, encoding="utf-8")
with text:
    for _ in range(300):
        text.write(" ".join(random.choices(known, k=random.randint(4, 9))) + "\n")

models = {
    "a": dict(minn=3, maxn=6, bucket=300),
    "b": dict(minn=1, maxn=2, bucket=97),
    "c": dict(minn=0, maxn=0, bucket=0),
}
for name, options in models.items():
    model = fasttext.train_unsupervised(text.name, model="skipgram", dim=7, minCount=1, epoch=3, thread=1, verbose=0, **options)
    base = os.path.join(here, "fasttext-" + name)
    model.save_model(base + ".bin")
    with open(base + ".vec", "w", encoding="utf-8") as out:
        for word in known + unseen + ["</s>"]:
            out.write(" ".join([word] + [float(x).hex() for x in model.get_word_vector(word)]) + "\n")

labelled = tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False, encoding="utf-8")
with labelled:
    for i in range(300):
        labelled.write("__label__%d %s\n" % (i % 2, " ".join(random.choices(known, k=6))))
model = fasttext.train_supervised(labelled.name, dim=4, minn=2, maxn=3, bucket=300, epoch=1, thread=1, verbose=0)
model.save_model(os.path.join(here, "fasttext-labels.bin"))
with open(os.path.join(here, "fasttext-labels.vec"), "w", encoding="utf-8") as out:
    for word in known + unseen:
        out.write(" ".join([word] + [float(x).hex() for x in model.get_word_vector(word)]) + "\n")
model.quantize(input=labelled.name, qnorm=True, retrain=False)
model.save_model(os.path.join(here, "fasttext-q.ftz"))
