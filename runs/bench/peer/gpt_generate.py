"""Peer: greedy continuation with transformers' GPT-2 and its cache.

Configuration: folder, of a model in Hugging Face's form; prompts, lists of ids; new, the tokens to add to each; threads;
optional: seed. `step i` continues prompt i and reports ids. Protocol and measuring: see harness.py.
"""

import sys

sys.dont_write_bytecode = True  # a benchmark leaves no files in the checkout

import harness  # before anything that needs torch: it explains a missing one

try:
    from transformers import AutoModelForCausalLM
except ImportError:
    print("install it with: python3 -m pip install transformers==5.24.0", file=sys.stderr)
    sys.exit(3)

import torch


def main():
    c = harness.configure(["folder", "prompts", "new", "threads"], {"seed": 1})
    model = AutoModelForCausalLM.from_pretrained(c["folder"]).to(c["device"]).eval()
    prompts = [torch.tensor([ids]) for ids in c["prompts"]]

    def work(i):
        with torch.inference_mode():
            out = model.generate(prompts[i], attention_mask=torch.ones_like(prompts[i]), do_sample=False, min_new_tokens=c["new"],
                                 max_new_tokens=c["new"], pad_token_id=0)
        return lambda: {"ids": out[0, prompts[i].shape[1]:].tolist()}

    harness.answer(ready=True)
    harness.serve(lambda: None, work, len(prompts))


if __name__ == "__main__":
    main()
