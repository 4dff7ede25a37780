"""A file that the safetensors package wrote: safetensors_python.safetensors.

Versions: Python 3.11, torch 2.11.0, safetensors 0.8.0.
Run: python3 gen_safetensors.py (writes beside itself).

Every element type that Aperture reads, with values whose bits conversions
would change: NaNs with payloads, signed zeros, denormal numbers, infinities, the
largest integers; an empty tensor, a scalar, a name that needs escapes in JSON.
"""

import os

import torch
from safetensors.torch import save_file


def bits(dtype, view, *patterns):
    return torch.tensor(patterns, dtype=view).view(dtype)


def main():
    tensors = {
        "float32": bits(torch.float32, torch.int32, 0x7FC12345, -0x400000 + 7, 0x7F800001, 0, -(1 << 31), 1, 0x7F800000, 0x3F800000).reshape(2, 4),
        "float64": bits(torch.float64, torch.int64, 0x7FF8000000ABCDEF, 0x7FF0000000000001, -(1 << 63), 1, 0x3FF0000000000000).reshape(5, 1),
        "bfloat16": bits(torch.bfloat16, torch.int16, 0x7FC1, 0x7F81, -(1 << 15), 1, 0x3F80, 0x4049, 0x7F80),
        "int64": torch.tensor([[0, -1, 1 << 40], [(1 << 63) - 1, -(1 << 63), 7]]),
        "bool": torch.tensor([True, False, True]),
        "empty": torch.empty(3, 0, 5),
        "scalar": torch.tensor(2.5),
        'name "with" <escapes> & \u00e4': torch.arange(3.0),
    }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "safetensors_python.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
