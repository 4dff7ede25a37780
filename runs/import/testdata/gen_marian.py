"""Writes marian.zip, a small model with random weights as an archive of OPUS-MT holds it, and marian.json, what NumPy
computes with it in float64 after marian-dev's src/models/transformer.h.

numpy 2.4.6, sentencepiece 0.2.3.

    python3 gen_marian.py
"""
import io
import json
import os
import tempfile
import zipfile

import numpy as np
import sentencepiece

D, F, HEADS, ENC, DEC = 16, 24, 4, 2, 2
rng = np.random.default_rng(5)

sentences = ["a man in a blue shirt is standing on a ladder", "two young men are outside near many bushes",
             "a little girl climbs into a wooden playhouse", "people are fixing the roof of a house",
             "ein mann in einem blauen hemd steht auf einer leiter", "zwei junge männer sind im freien in der nähe von büschen",
             "ein kleines mädchen klettert in ein spielhaus aus holz", "leute reparieren das dach eines hauses"] * 4

with tempfile.TemporaryDirectory() as folder:
    text, prefix = os.path.join(folder, "text"), os.path.join(folder, "model")
    with open(text, "w", encoding="utf-8") as f:
        f.write("\n".join(sentences))
    sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=prefix, vocab_size=90, minloglevel=2,
                                             normalization_rule_name="identity")
    with open(prefix + ".model", "rb") as f:
        spm = f.read()
model = sentencepiece.SentencePieceProcessor(model_proto=spm)
tokens = ["</s>", "<unk>"] + sorted({model.id_to_piece(i) for i in range(len(model))} - {"<s>", "</s>", "<unk>"})
V = len(tokens)

yml = f"""bert-train-type-embeddings: true
dec-depth: {DEC}
dim-emb: {D}
dim-vocabs:
  - {V}
  - {V}
enc-depth: {ENC}
layer-normalization: false
max-length: 100
tied-embeddings-all: true
transformer-decoder-autoreg: self-attention
transformer-dim-ffn: {F}
transformer-ffn-activation: swish
transformer-ffn-depth: 2
transformer-heads: {HEADS}
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-postprocess-top: ""
transformer-preprocess: ""
transformer-tied-layers:
  []
transformer-train-position-embeddings: false
type: transformer
version: v1.9.0 2020-05-14
"""

arrays = {"special:model.yml": np.frombuffer(yml.encode() + b"\0", dtype=np.int8)}


def add(name, *shape, mean=0.0):
    arrays[name] = (mean + 0.4 * rng.standard_normal(shape)).astype(np.float32)


add("Wemb", V, D)
add("decoder_ff_logit_out_b", 1, V)


def add_norm(name):
    add(name + "_ln_scale", 1, D, mean=1.0)
    add(name + "_ln_bias", 1, D)


for side, depth in ("encoder", ENC), ("decoder", DEC):
    for layer in range(1, depth + 1):
        for attention in ["self"] + ["context"] * (side == "decoder"):
            for part in "qkvo":
                add(f"{side}_l{layer}_{attention}_W{part}", D, D)
                add(f"{side}_l{layer}_{attention}_b{part}", 1, D)
            add_norm(f"{side}_l{layer}_{attention}_Wo")
        add(f"{side}_l{layer}_ffn_W1", D, F)
        add(f"{side}_l{layer}_ffn_b1", 1, F)
        add(f"{side}_l{layer}_ffn_W2", F, D)
        add(f"{side}_l{layer}_ffn_b2", 1, D)
        add_norm(f"{side}_l{layer}_ffn_ffn")

p = {k: v.astype(np.float64) for k, v in arrays.items()}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def norm(x, name):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-9)
    return y * p[name + "_ln_scale"] + p[name + "_ln_bias"]


def attend(queries, keys, name, causal):
    def split(x, part):
        y = x @ p[f"{name}_W{part}"] + p[f"{name}_b{part}"]
        return y.reshape(len(x), HEADS, D // HEADS).transpose(1, 0, 2)
    q, k, v = split(queries, "q"), split(keys, "k"), split(keys, "v")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(D // HEADS)
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -np.inf)
    y = (softmax(scores) @ v).transpose(1, 0, 2).reshape(len(queries), D)
    return norm(queries + y @ p[name + "_Wo"] + p[name + "_bo"], name + "_Wo")


def inner(x, name):
    h = x @ p[name + "_W1"] + p[name + "_b1"]
    h = h / (1 + np.exp(-h))  # swish
    return norm(x + h @ p[name + "_W2"] + p[name + "_b2"], name + "_ffn")


def positions(n):
    half = D // 2
    angles = np.arange(n)[:, None] * np.exp(-np.log(10000.0) * np.arange(half) / (half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def log_probability(source, target):
    """Of a target and its end after a source, both as ids without their ends."""
    source, target = source + [0], target + [0]
    x = p["Wemb"][source] * np.sqrt(D) + positions(len(source))
    for layer in range(1, ENC + 1):
        x = inner(attend(x, x, f"encoder_l{layer}_self", False), f"encoder_l{layer}_ffn")
    shifted = np.concatenate([np.zeros((1, D)), p["Wemb"][target[:-1]]])
    y = shifted * np.sqrt(D) + positions(len(target))
    for layer in range(1, DEC + 1):
        y = attend(y, y, f"decoder_l{layer}_self", True)
        y = inner(attend(y, x, f"decoder_l{layer}_context", False), f"decoder_l{layer}_ffn")
    z = y @ p["Wemb"].T + p["decoder_ff_logit_out_b"]
    z = z - z.max(-1, keepdims=True)
    z = z - np.log(np.exp(z).sum(-1, keepdims=True))
    return z[np.arange(len(target)), target].sum()


ids = {t: i for i, t in enumerate(tokens)}
golden = []
for source, target in zip(sentences[:4], sentences[4:8]):
    encoded = [[ids.get(t, 1) for t in model.encode(x, out_type=str)] for x in (source, target)]
    golden.append({"source": source, "target": target, "log_probability": log_probability(*encoded)})

npz = io.BytesIO()
np.savez(npz, **arrays)


def quoted(token):
    return '"' + token.replace("\\", "\\\\").replace('"', '\\"') + '"'


here = os.path.dirname(os.path.abspath(__file__))
with zipfile.ZipFile(os.path.join(here, "marian.zip"), "w", zipfile.ZIP_DEFLATED) as z:
    def write(name, data):
        z.writestr(zipfile.ZipInfo(name, (2020, 2, 26, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    write("opus.model1.npz.best-perplexity.npz", npz.getvalue())
    write("opus.vocab.yml", "".join(f"{quoted(t)}: {i}\n" for i, t in enumerate(tokens)))
    write("source.spm", spm)
    write("target.spm", spm)
    write("preprocess.sh", "#!/bin/bash\n")
    write("decoder.yml", "relative-paths: true\nmodels:\n  - opus.model1.npz.best-perplexity.npz\nvocabs:\n"
          "  - opus.vocab.yml\n  - opus.vocab.yml\nbeam-size: 6\nnormalize: 1\nmini-batch: 1\n")
with open(os.path.join(here, "marian.json"), "w", encoding="utf-8") as f:
    json.dump(golden, f, ensure_ascii=False, indent=1)
    f.write("\n")
