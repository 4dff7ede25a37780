"""Runs what export wrote in the program that it is for, for peers_test.go.

ctranslate2 4.8.5, transformers 5.23.0 with torch 2.11.0, argostranslate 1.11.0 with sacremoses 0.2.0.

    python3 peers.py ctranslate2|hf|argos PATH < cases.json > answers.json

Cases are [{"line", "pieces", "source": ids, "target": ids, "target_pieces", "logprobs": [positions][V]}].
"""
import json
import math
import os
import sys
import types


def ctranslate2_answers(path, cases):
    import ctranslate2

    t = ctranslate2.Translator(path, compute_type="float32", intra_threads=1)
    scored = t.score_batch([c["pieces"] for c in cases], [c["target_pieces"] for c in cases])
    worst = 0.0
    for c, s in zip(cases, scored):
        ids = c["target"] + [2]
        # Padding and <s> have no probability there.
        want = [row[i] - math.log1p(-math.exp(row[0]) - math.exp(row[1])) for row, i in zip(c["logprobs"], ids)]
        worst = max([worst] + [abs(a - b) for a, b in zip(want, s.log_probs)])
    found = t.translate_batch([c["pieces"] for c in cases], beam_size=5, length_penalty=1, max_decoding_length=20,
                              return_scores=True)
    never = t.translate_batch([c["pieces"] for c in cases], beam_size=20, num_hypotheses=20, max_decoding_length=6)
    words = {w for r in never for h in r.hypotheses for w in h}
    return {"worst": worst, "pieces": [r.hypotheses[0] for r in found], "chosen": sorted(words)}


def hf_answers(path, cases):
    import torch
    from transformers import AutoModelForSeq2SeqLM, FSMTTokenizer

    torch.set_num_threads(1)
    model, loading = AutoModelForSeq2SeqLM.from_pretrained(path, output_loading_info=True)
    model.eval()
    missing = [k for k in loading["missing_keys"] if "embed_positions" not in k]
    tokenizer = FSMTTokenizer.from_pretrained(path)
    worst, ids, sources, lines = 0.0, [], [], []
    for c in cases:
        source = torch.tensor([c["source"] + [2]])
        previous = torch.tensor([[2] + c["target"]])
        with torch.no_grad():  # with a cache, FSMT takes one position at a time and masks none
            got = model(input_ids=source, decoder_input_ids=previous, use_cache=False).logits[0].log_softmax(-1)
        worst = max(worst, float((got - torch.tensor(c["logprobs"])).abs().max()))
        made = model.generate(source, max_new_tokens=21)[0].tolist()
        ids.append([i for i in made[1:] if i != 2])
        sources.append(tokenizer(c["line"])["input_ids"])
        lines.append(tokenizer.decode(made, skip_special_tokens=True))
    return {"class": type(model).__name__, "missing": missing, "unexpected": list(loading["unexpected_keys"]),
            "worst": worst, "ids": ids, "sources": sources, "lines": lines}


def argos_answers(path, cases):
    os.environ["ARGOS_PACKAGES_DIR"] = path + ".installed"

    class Lines:  # the splitter's own model would be downloaded; a line is a sentence here
        def __init__(self, package):
            pass

        def split_sentences(self, text):
            return [text]

    for name in "stanza", "minisbd":
        sys.modules[name] = types.ModuleType(name)
    sys.modules["minisbd"].SBDetect = None
    sys.modules["minisbd"].models = types.SimpleNamespace(list_models=lambda: ["en"])
    from argostranslate import package, translate

    translate.MiniSBDSentencizer = Lines
    package.install_from_path(path)
    t = translate.get_translation_from_codes("en", "de")
    return {"lines": [t.translate(c["line"]) for c in cases]}


answers = {"ctranslate2": ctranslate2_answers, "hf": hf_answers, "argos": argos_answers}[sys.argv[1]]
result = answers(sys.argv[2], json.load(sys.stdin))
json.dump(result, sys.stdout)
