"""A checkpoint in two shards with its index: shards/.

Versions: Python 3.11, torch 2.11.0, safetensors 0.8.0.
Run: python3 gen_shards.py (writes beside itself).

Matrices in every floating-point type, each beside its values in float32 as
PyTorch converts them: numbers of both signs, the smallest and the largest,
those below the normal range, infinities. The index is laid out as the library
transformers writes it.
"""

import json
import os

import torch
from safetensors.torch import save_file

HALF = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x3555, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x0200, 0x5640, 0xD6C3]
BRAIN = [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x3EAB, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x4049, 0x42C8, 0xC2D8]


def bits(dtype, patterns):
    signed = [p - (1 << 16) if p >> 15 else p for p in patterns]
    return torch.tensor(signed, dtype=torch.int16).view(dtype).reshape(4, 4)


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shards")
    os.makedirs(folder, exist_ok=True)
    half, brain = bits(torch.float16, HALF), bits(torch.bfloat16, BRAIN)
    shards = {
        "model-00001-of-00002.safetensors": {"half": half, "half.float32": half.float(), "ids": torch.tensor([[1, 2], [3, 4]])},
        "model-00002-of-00002.safetensors": {"brain": brain, "brain.float32": brain.float(), "bias": torch.tensor([0.5, 1.5]), "double": torch.tensor([[0.1, 0.2]], dtype=torch.float64)},
    }
    index = {"metadata": {"total_size": 0}, "weight_map": {}}
    for name, tensors in shards.items():
        save_file(tensors, os.path.join(folder, name), metadata={"format": "pt"})
        for tensor, value in tensors.items():
            index["weight_map"][tensor] = name
            index["metadata"]["total_size"] += value.numel() * value.element_size()
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump(index, f, indent=2, sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()
