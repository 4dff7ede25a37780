"""Golden values of a small GPT-2 of transformers: gpt_NAME.safetensors.

Cases: gelu_tanh, with gelu_new; gelu, the exact one; and rotary, where no position vectors are added and queries and
keys are multiplied by complex numbers of length one (Su et al. 2021). Each holds param/ in this project's names, word vectors as
words, ids [T,B], logits [T B,V], loss, the mean cross-entropy of the next word of each column, and grad/ of every
parameter. Linear maps of transformers' GPT-2 are [in, out] and hold q, k and v side by side.

Versions: Python 3.11, torch 2.11.0, transformers 5.24.0.
Run: python3 gen_gpt.py (seconds; writes three files).
"""

import functools
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../torch/testdata"))

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import goldens

SEED, V, D, H, INNER, LAYERS, P, T, B = 37, 11, 12, 3, 20, 2, 16, 7, 3

NAMES = {"ln_1": "self_attn_layer_norm", "ln_2": "final_layer_norm", "attn.c_proj": "self_attn.out_proj",
         "mlp.c_fc": "fc1", "mlp.c_proj": "fc2"}


def ours(tensors):
    """A dictionary of GPT-2's parameters, or of their gradients, by this project's names."""
    out = {}
    for name, x in tensors.items():
        name = name.removeprefix("transformer.")
        if name == "wte.weight":
            out["words"] = x
        elif name == "wpe.weight":
            out["embed_positions.weight"] = x
        elif name.startswith("ln_f."):
            out["layer_norm." + name.removeprefix("ln_f.")] = x
        else:
            _, layer, rest = name.split(".", 2)
            module, kind = rest.rsplit(".", 1)
            x = x.T if kind == "weight" and not module.startswith("ln") else x
            if module == "attn.c_attn":
                for part, piece in zip("qkv", x.chunk(3)):
                    out[f"layers.{layer}.self_attn.{part}_proj.{kind}"] = piece
            else:
                out[f"layers.{layer}.{NAMES[module]}.{kind}"] = x
    return out


def rotated(x_BTHK):
    """Element i of a head is the real part, and i + K/2 the imaginary one, of a number that turns with the position."""
    k = x_BTHK.shape[-1]
    z = torch.complex(*x_BTHK.chunk(2, -1))
    angles = torch.arange(x_BTHK.shape[1])[:, None] * 10000.0 ** (-2 * torch.arange(k // 2) / k)
    z = z * torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.cat([z.real, z.imag], -1)


def attend(module, x_BTD, **_):
    """GPT-2's attention with rotary positions, in place of its own."""
    split = lambda x: x.unflatten(-1, (H, D // H))
    q, k, v = (split(x) for x in module.c_attn(x_BTD).chunk(3, -1))
    scores = torch.einsum("bihk,bjhk->bhij", rotated(q), rotated(k)) / (D // H) ** 0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    read = torch.einsum("bhij,bjhk->bihk", scores.masked_fill(future, -torch.inf).softmax(-1), v)
    return module.c_proj(read.flatten(2)), None


for name, activation in [("gelu_tanh", "gelu_new"), ("gelu", "gelu"), ("rotary", "gelu_new")]:
    goldens.start(SEED)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=V, n_positions=P, n_embd=D, n_layer=LAYERS, n_head=H, n_inner=INNER, activation_function=activation,
        initializer_range=0.3, bos_token_id=0, eos_token_id=0)).double().eval()
    for norm in model.modules():
        if isinstance(norm, torch.nn.LayerNorm):
            torch.nn.init.normal_(norm.weight, 1, 0.3)
            torch.nn.init.normal_(norm.bias, 0, 0.3)
    if name == "rotary":
        model.transformer.wpe.weight = torch.nn.Parameter(torch.zeros(P, D))
        for block in model.transformer.h:
            block.attn.forward = functools.partial(attend, block.attn)
    ids = torch.randint(V, (T, B))
    logits = model(input_ids=ids.T).logits  # [B,T,V]
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, V), ids.T[:, 1:].reshape(-1))
    loss.backward()
    named = dict(model.named_parameters())
    if name == "rotary":
        del named["transformer.wpe.weight"]
    out = {"ids": ids, "logits": logits.transpose(0, 1).reshape(-1, V), "loss": loss}
    out |= {"param/" + key: x for key, x in ours({key: x.detach() for key, x in named.items()}).items()}
    out |= {"grad/" + key: x for key, x in ours({key: x.grad for key, x in named.items()}).items()}
    goldens.save(__file__, f"gpt_{name}.safetensors", SEED, out, {"transformers": "5.24.0"})
