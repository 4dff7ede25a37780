"""How many operators one training update of a plain PyTorch program launches on a device.

The programs are the peers of runs/bench, with the sizes and noise of this package's tests: forward pass,
backward pass, clipping and optimizer. Two that runs/bench has no peer for stand here: the Transformer whose
output layer is spectrum control's, and the one that predicts vectors by the von Mises-Fisher density, whose
normaliser is the approximation that its authors' program has (Kumar and Tsvetkov 2019, logcmkappox).

An operator counts where it computes: a kernel or a product that a GPU would be asked for. Views and changes of
shape, empty tensors, and what comes from the host do not count. Two counts are written for each program:

    checked   its tensors live on the checked device (torch/checked), which counts our programs' operators in
              the test: the same rule by the same counter. A program of one's own has an LSTM's products for all
              steps in one operator on neither side, since that device has no cuDNN. What libtorch launches inside
              cuDNN's layer is not counted.
    profiler  its tensors live on the CPU, and torch.profiler lists what was called. Counted is the outermost operator that
              has a kernel for CUDA or calls nothing further, and is not in NOTHING. nn.LSTM is one operator
              here, and dropout three, as the CPU has them.

    ./build.sh checked && python gen_operators.py   # PyTorch 2.11
"""

import ctypes
import functools
import json
import math
import os
import sys
import types
from dataclasses import dataclass

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "../../../..")
sys.path.insert(0, os.path.join(root, "runs/bench/peer"))

import torch
import torch.nn.functional as F
from torch import nn

from attentional import Attentional
from awd_lstm import AWDLSTM
from transformer import PAD, Config, Transformer

# Operators that compute nothing: they view, allocate, or ask.
NOTHING = {"aten::" + name for name in """
    view _unsafe_view reshape _reshape_alias as_strided expand expand_as transpose t permute slice narrow select unsqueeze squeeze
    unflatten flatten split split_with_sizes chunk unbind detach detach_ alias view_as diagonal empty empty_like empty_strided
    new_empty resize_ result_type is_nonzero item _local_scalar_dense lift_fresh cudnn_is_acceptable resolve_conj resolve_neg set_data
    """.split()}

B, S, T = 4, 7, 6  # a batch's sentences, and words of source and target
V, D, FFN, HEADS = 40, 16, 32, 2
M = 300  # components of a target vector, as in the paper
DEPTH = 6  # layers of encoder and of decoder


@dataclass
class Update:
    """A program's update: loss() gives the loss to minimise, and penalties() what is added once an update."""
    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: callable
    clip: float = 0.0

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(list(self.model.parameters()), self.clip, foreach=True)
        self.optimizer.step()


def batch(device):
    """Ids that are padded on the right, and the places of real target words, which are known on the host."""
    source_BS, target_BT = torch.randint(4, V, (B, S)), torch.randint(4, V, (B, T))
    source_BS[0, -2:], target_BT[0, -2:] = PAD, PAD
    prev_BT = torch.cat([torch.full((B, 1), 2), target_BT[:, :-1]], 1)
    real_N = target_BT.ne(PAD).flatten().nonzero().squeeze(1)
    return [x.to(device) for x in (source_BS, prev_BT, target_BT.flatten()[real_N], real_N)]


def config():
    return Config(V, V, D, FFN, HEADS, DEPTH, DEPTH, dropout=0.1, tie="all")


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-8, fused=True)


def transformer(device):
    model = Transformer(config()).to(device).train()
    source_BS, prev_BT, target_N, real_N = batch(device)

    def loss():
        states_ND = model.decode(prev_BT, *model.encode(source_BS)).flatten(0, 1)[real_N]
        return F.cross_entropy(model.decoder.output_projection(states_ND), target_N, label_smoothing=0.1)

    return Update(model, adam(model), loss)


class Factored(nn.Module):
    """W = U diag(s) V^T as an embedding; both sides look words up in it and the output layer scores by it."""

    def __init__(self):
        super().__init__()
        k = min(V, D)
        self.u = nn.Parameter(nn.init.orthogonal_(torch.empty(V, k)))
        self.s = nn.Parameter(torch.ones(k))
        self.v = nn.Parameter(nn.init.orthogonal_(torch.empty(D, k)))
        self.register_buffer("prior", torch.linspace(1, 0.5, k))

    def forward(self, ids):
        return F.embedding(ids, self.u, PAD) * self.s @ self.v.t()

    def scores(self, h_ND):
        return (h_ND @ self.v * self.s) @ self.u.t()

    def penalty(self):
        total = (self.s - self.prior).square().sum()
        for x in (self.u, self.v):
            total = total + (x.t() @ x - torch.eye(x.shape[1], device=x.device)).square().sum()
        return total


def spectrum(device):
    model = Transformer(config())
    words = Factored()
    model.encoder.embed_tokens = model.decoder.embed_tokens = words
    model.decoder.output_projection = nn.Identity()
    model = model.to(device).train()
    source_BS, prev_BT, target_N, real_N = batch(device)

    def loss():
        states_ND = model.decode(prev_BT, *model.encode(source_BS)).flatten(0, 1)[real_N]
        return F.cross_entropy(words.scores(states_ND), target_N, label_smoothing=0.1) + words.penalty()

    return Update(model, adam(model), loss)


def vmf(device):
    model = Transformer(config())
    model.decoder.output_projection = nn.Linear(D, M, bias=False)
    model = model.to(device).train()
    table_VM = F.normalize(torch.randn(V, M), dim=1).to(device)
    source_BS, prev_BT, target_N, real_N = batch(device)

    def minus_log_c(kappa_N):
        v = M / 2 - 1
        root_N = torch.sqrt((v + 1) ** 2 + kappa_N.square())
        return root_N - (v - 1) * torch.log(v - 1 + root_N)

    def loss():
        states_ND = model.decode(prev_BT, *model.encode(source_BS)).flatten(0, 1)[real_N]
        h_NM, e_NM = model.decoder.output_projection(states_ND), F.embedding(target_N, table_VM)
        kappa_N = h_NM.norm(dim=1)
        return (-minus_log_c(kappa_N) * -1 - 0.1 * (h_NM * e_NM).sum(1) + 0.02 * kappa_N).mean()

    return Update(model, adam(model), loss)


class GatedUnits(nn.GRU):
    """nn.GRU with the signature of nn.LSTM."""

    def forward(self, x_TBD, carried=None):
        out_TBH, last = super().forward(x_TBD, carried[0] if carried else None)
        return out_TBH, (last,)


def gru(device):
    return awd_lstm(device, layers=2, kind=GatedUnits)


def awd_lstm(device, layers=3, kind=nn.LSTM):
    c = dict(vocab=V, width=12, hidden=16, last=12, layers=layers, components=0, input=0.1, layer=0.1, output=0.1, embedding=0.1, weight=0.2,
             latent=0.0, ar=2.0, tar=1.0)
    model = AWDLSTM(c)
    model.rnns = nn.ModuleList(kind(rnn.input_size, rnn.hidden_size) for rnn in model.rnns)
    nn.init.zeros_(model.decoder.bias)
    model = model.to(device).train()
    ids_TB, targets_TB = torch.randint(V, (10, 4)).to(device), torch.randint(V, (10, 4)).to(device)
    carried = None

    def loss():
        nonlocal carried
        with torch.device(device):
            total, _, carried = model(ids_TB, targets_TB, carried)
        return total

    return Update(model, torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=1.2e-6, fused=True), loss, clip=0.25)


def attentional(device):
    model = Attentional(V, V, 12, D, 1, 1).to(device).train()
    _, prev_BT, target_N, real_N = batch(device)
    source_BS = torch.randint(4, V, (B, S)).to(device)  # of one length, so that nothing is packed on the host

    def loss():
        with torch.device(device):
            states_ND = model(source_BS, prev_BT).flatten(0, 1)[real_N]
        return F.cross_entropy(model.generator(states_ND), target_N, reduction="sum") / B

    return Update(model, torch.optim.Adam(model.parameters(), lr=5e-4, fused=True), loss, clip=5.0)


def checked_counter():
    """Loads the checked device, and returns a function that counts what another function launches."""
    library = ctypes.CDLL(os.path.join(root, "third_party/lib/obj/libchecked.so"), mode=ctypes.RTLD_GLOBAL)
    library.checked_names.restype = ctypes.c_char_p
    module = types.ModuleType("torch.checked")  # what torch asks the module of a device for
    module.is_available, module.device_count, module.current_device = lambda: True, lambda: 1, lambda: 0
    module._is_in_bad_fork, module._lazy_init, module.is_initialized = lambda: False, lambda: None, lambda: True
    torch._register_device_module("checked", module)

    def count(f):
        library.checked_reset()
        f()
        three = (ctypes.c_int64 * 3)()
        library.checked_counts(three)
        if os.environ.get("NAMES"):
            print(library.checked_names().decode())
        return three[0]

    return count


@functools.cache
def kernels():
    """The operators that a GPU has a kernel for, whatever they call on the CPU."""
    return {name.split(".")[0] for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")}


def profiled(f):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        f()
    names = {}

    def count(event):
        if event.name in NOTHING:
            return
        calls = [child for child in event.cpu_children if child.name.startswith("aten::") and child.name not in NOTHING]
        if event.name.startswith("aten::") and (event.name in kernels() or not calls):
            names[event.name] = names.get(event.name, 0) + 1
            return
        for child in event.cpu_children:
            count(child)

    for event in profile.events():
        if event.cpu_parent is None:
            count(event)
    if os.environ.get("NAMES"):
        print("\n".join(f"{n} {name}" for name, n in sorted(names.items(), key=lambda item: -item[1])))
    return sum(names.values())


def main():
    torch.set_num_threads(1)
    count = checked_counter()
    out = {}
    for program in (transformer, spectrum, vmf, awd_lstm, gru, attentional):
        torch.manual_seed(1)
        on_cpu, on_device = program("cpu"), program("checked:0")
        for update in (on_cpu, on_device):
            update()  # makes what lasts, such as the optimizer's state
            update()
        out[program.__name__] = {"checked": count(on_device), "profiler": profiled(on_cpu)}
    with open(os.path.join(here, "operators.json"), "w") as file:
        file.write(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
