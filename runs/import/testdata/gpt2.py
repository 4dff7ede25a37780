"""Makes a folder of a small random GPT-2 with transformers, and says what it makes of lines.

    python gpt2.py TOKENIZER_FOLDER FOLDER

Prints {"cases": [{"line", "ids", "logprobs": of the next id behind each but the last, "next": 10 greedy ids}]}.

Versions: transformers 5.24.0, torch 2.11.0.
"""

import json
import os
import shutil
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

pieces, folder = sys.argv[1:]
torch.set_num_threads(1)
torch.manual_seed(3)
model = GPT2LMHeadModel(GPT2Config(vocab_size=2000, n_positions=64, n_embd=24, n_layer=2, n_head=3, initializer_range=0.2,
                                   bos_token_id=0, eos_token_id=0)).eval()
model.save_pretrained(folder)
for name in ("vocab.json", "merges.txt"):
    shutil.copy(os.path.join(pieces, name), folder)
tokenizer = GPT2TokenizerFast(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"))
cases = []
for line in ["Ein Mann schläft.", "Two dogs run\n\n  on grass ", "€ 12½"]:
    ids = tokenizer(line)["input_ids"]
    with torch.no_grad():
        rows = model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        more = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False, max_new_tokens=10,
                              min_new_tokens=10, eos_token_id=None, pad_token_id=0)
    cases.append({"line": line, "ids": ids, "next": more[0, len(ids):].tolist(),
                  "logprobs": rows.gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()})
print(json.dumps({"cases": cases}))
