"""Writes golden files: what every gen_*.py of this project shares.

A golden file is a safetensors file of float64, float32 and int64 tensors, under
300 kB, whose metadata names its generator, PyTorch's version and the seed.
Everything runs on one thread, because sums change with the thread count, and
the file is written here, with sorted keys, so that a second run gives the same
bytes.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
"""

import json
import os
import struct

import torch

LARGEST = 300_000  # bytes: goldens are read by people who clone, so they stay small
STORED = {torch.float64: "F64", torch.int64: "I64", torch.float32: "F32"}


def start(seed):
    """Fixes threads, the default dtype and the random stream of a generator."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)


def save(generator, name, seed, tensors, notes=None):
    """Writes tensors to name beside generator (its __file__).

    Values may be tensors or numbers; booleans become int64. notes maps a key of
    the metadata to what belongs beside the tensors: a dictionary or list is
    stored as JSON, a string as it is.
    """
    stored = {}
    for key, value in tensors.items():
        value = torch.as_tensor(value).detach()
        if value.dtype == torch.bool:
            value = value.long()
        if value.dtype not in STORED:
            raise TypeError(f"{key}: {value.dtype} is not stored in golden files")
        stored[key] = value.contiguous()
    metadata = {"generator": os.path.basename(generator), "torch": torch.__version__.split("+")[0], "seed": str(seed)}
    for key, note in (notes or {}).items():
        metadata[key] = note if isinstance(note, str) else json.dumps(note, sort_keys=True)

    header, body = {"__metadata__": metadata}, b""
    for key, value in sorted(stored.items(), key=lambda item: (-item[1].element_size(), item[0])):
        data = value.numpy().tobytes()
        header[key] = {"dtype": STORED[value.dtype], "shape": list(value.shape),
                       "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    content = struct.pack("<Q", len(text)) + text + body
    if len(content) > LARGEST:
        raise ValueError(f"{name}: {len(content)} bytes; golden files stay under {LARGEST}")
    with open(os.path.join(os.path.dirname(os.path.abspath(generator)), name), "wb") as file:
        file.write(content)
    print(f"{name}: {len(stored)} tensors, {len(content)} bytes")
