"""Loads an exported GPT with transformers and says what it makes of lines.

Reads CASES, a JSON list of {"line", "ids", "logprobs": the log-probabilities behind each id, "next": greedy ids}, and
prints {"class", "worst": the largest difference of a log-probability, "ids", "text": the ids decoded, "next"}.

    python gpt2.py FOLDER CASES

Versions: transformers 5.24.0, torch 2.11.0.
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, path = sys.argv[1:]
torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder).eval()
out = {"class": type(model).__name__, "worst": 0.0, "ids": [], "text": [], "next": []}
with open(path) as f, torch.no_grad():
    for case in json.load(f):
        ids = torch.tensor([case["ids"]])
        logprobs = model(ids).logits[0].log_softmax(-1)
        out["worst"] = max(out["worst"], (logprobs - torch.tensor(case["logprobs"])).abs().max().item())
        out["ids"].append(tokenizer(case["line"])["input_ids"])
        out["text"].append(tokenizer.decode(case["ids"]))
        more = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=len(case["next"]))
        out["next"].append(more[0, ids.shape[1]:].tolist())
print(json.dumps(out))
