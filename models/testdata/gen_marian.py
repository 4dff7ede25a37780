"""Makes marian_ACTIVATION.safetensors: a small random MarianMTModel, its hidden states and gradients.

    python gen_marian.py

Versions: transformers 5.23.0, torch 2.11.0, Python 3.11. Marian's ids, </s> 0, <unk> 1, ..., padding V, become
<s> 0 (a row of zeros), padding 1, </s> 2, <unk> 3, ...
"""

import os

import torch
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel

V, D = 23, 12


def moved(ids):
    return torch.where(ids == V, 1, ids + 2)


for activation, name in [("swish", "swish"), ("gelu", "gelu"), ("gelu_new", "gelu_tanh")]:
    torch.manual_seed(35)
    model = MarianMTModel(MarianConfig(
        vocab_size=V + 1, pad_token_id=V, eos_token_id=0, decoder_start_token_id=V, forced_eos_token_id=0, d_model=D,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=20,
        decoder_ffn_dim=20, activation_function=activation, max_position_embeddings=32, scale_embedding=True,
        dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, init_std=0.3)).double().eval()
    for norm in model.modules():
        if isinstance(norm, torch.nn.LayerNorm):
            norm.eps = 1e-3
            torch.nn.init.normal_(norm.weight, 1, 0.3)
            torch.nn.init.normal_(norm.bias, 0, 0.3)
    source = torch.tensor([[5, 7, 2, 9, 0], [3, 11, 0, V, V]])
    prev = torch.tensor([[V, 4, 6, 1, 12, 22], [V, 8, 21, 8, 5, 2]])
    hidden = model.model(input_ids=source, attention_mask=source != V, decoder_input_ids=prev).last_hidden_state
    factor = torch.randn(hidden.shape, dtype=torch.double)
    (hidden * factor).sum().backward()
    out = {"source": moved(source), "prev": moved(torch.where(prev == V, 0, prev)), "hidden": hidden.reshape(-1, D),
           "factor": factor.reshape(-1, D)}
    for key, x in model.named_parameters():
        key = key.removeprefix("model.")
        if key.startswith(("final_logits_bias", "lm_head")) or "embed_positions" in key:
            continue
        for kind, x in [("param/", x.detach()), ("grad/", x.grad)]:
            if key == "shared.weight":
                x = torch.cat([torch.zeros(1, D, dtype=torch.double), x[V:], x[:V]])
            out[kind + key.replace("shared.", "decoder.embed_tokens.")] = x
    here = os.path.dirname(os.path.abspath(__file__))
    save_file({k: x.contiguous() for k, x in out.items()}, os.path.join(here, f"marian_{name}.safetensors"))
