"""Runs what export wrote in the program that it is for, for peers_test.go.

ctranslate2 4.8.5, transformers 5.24.0 with torch 2.11.0, argostranslate 1.11.0 with sacremoses 0.2.0.

Reads requests, a line each: the JSON list of a function's name, the path of what was exported and the cases; prints the
function's answer as a line. Cases of translators are [{"line", "pieces", "source": ids, "target": ids, "target_pieces",
"logprobs": [positions][V]}], those of a GPT [{"line", "ids", "logprobs": [ids][V], "next": greedy ids}].
"""
import json
import math
import os
import sys
import types


def ctranslate2(path, cases):
    from ctranslate2 import Translator

    t = Translator(path, compute_type="float32", intra_threads=1)
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


def hf(path, cases):
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


def argos(path, cases):
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


def gpt(path, cases):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path).eval()
    out = {"class": type(model).__name__, "worst": 0.0, "ids": [], "text": [], "next": []}
    with torch.no_grad():
        for case in cases:
            ids = torch.tensor([case["ids"]])
            logprobs = model(ids).logits[0].log_softmax(-1)
            out["worst"] = max(out["worst"], (logprobs - torch.tensor(case["logprobs"])).abs().max().item())
            out["ids"].append(tokenizer(case["line"])["input_ids"])
            out["text"].append(tokenizer.decode(case["ids"]))
            more = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False,
                                  max_new_tokens=len(case["next"]))
            out["next"].append(more[0, ids.shape[1]:].tolist())
    return out


answers, sys.stdout = sys.stdout, sys.stderr  # libraries print, too
for request in sys.stdin:
    function, *arguments = json.loads(request)
    print(json.dumps(globals()[function](*arguments)), file=answers, flush=True)
