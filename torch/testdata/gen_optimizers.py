"""Goldens of optimizers and gradient clipping: optimizers.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_optimizers.py (about a second; writes beside itself).

Two tensors, a [4,7] and b [31], take ten updates with given gradients; the
learning rate differs from update to update. float64.

    start/{a,b}, gradients/{a [10,4,7], b [10,31]}
    NAME/rate [10]            learning rate of each update
    NAME/{a,b} [10,...]       parameters after each update
    NAME/STATE/{a,b} [10,...] state after each update: exp_avg and exp_avg_sq
                              (Adam family), momentum (SGD), ax (averaged, ASGD)
    clip/CASE/{in,out}/{a,b}, clip/CASE/{norm, largest}

The metadata key NAME holds the settings as JSON.

fairseq_adam adds eps to sqrt(v) before the bias correction, which goes into the
step: rate sqrt(1 - beta2^t) / (1 - beta1^t), and its weight decay shrinks the
weights by rate x decay before the step. Its first rate is zero, as the warm-up
of that code base has it. PyTorch's Adam divides by sqrt(v / (1 - beta2^t)) + eps.
radam is PyTorch's too, which adds eps where fairseq_adam does.
asgd follows PyTorch: the rate that acts is that of the update before (the first
acts at once), and the average ax is the parameters themselves up to update t0 + 2.
"""

import math
import sys

sys.dont_write_bytecode = True

import torch

import goldens

SEED, UPDATES = 20260120, 10


class FairseqAdam(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas, eps, weight_decay):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                state.setdefault("exp_avg", torch.zeros_like(p))
                state.setdefault("exp_avg_sq", torch.zeros_like(p))
                t = state["step"] = state.get("step", 0) + 1
                state["exp_avg"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                step = group["lr"] * math.sqrt(1 - beta2 ** t) / (1 - beta1 ** t)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt() + group["eps"], value=-step)


WARMUP = [1e-3 * (i + 1) for i in range(5)] + [5e-3 * math.sqrt(5 / n) for n in range(6, 11)]
CHUNKS = [0.5, 0.6, 0.4, 0.5, 0.3, 0.7, 0.5, 0.2, 0.5, 0.6]  # rescaled by the length of each chunk of text
ADAM = {"betas": [0.9, 0.98], "eps": 1e-8}
OPTIMIZERS = {  # name: class, settings, learning rates, states by the name stored here
    "adam": (torch.optim.Adam, {**ADAM, "weight_decay": 0.0}, WARMUP, ("exp_avg", "exp_avg_sq")),
    "adam_large_eps": (torch.optim.Adam, {**ADAM, "eps": 1e-2, "weight_decay": 0.0}, WARMUP, ("exp_avg", "exp_avg_sq")),
    "adam_l2": (torch.optim.Adam, {**ADAM, "weight_decay": 0.01}, WARMUP, ("exp_avg", "exp_avg_sq")),
    "adamw": (torch.optim.AdamW, {**ADAM, "weight_decay": 0.01}, WARMUP, ("exp_avg", "exp_avg_sq")),
    "radam": (torch.optim.RAdam, {**ADAM, "weight_decay": 0.0}, WARMUP, ("exp_avg", "exp_avg_sq")),
    "radam_decay": (torch.optim.RAdam, {"betas": [0.9, 0.9995], "eps": 1e-2, "weight_decay": 0.01, "decoupled_weight_decay": True}, WARMUP,
                    ("exp_avg", "exp_avg_sq")),
    "fairseq_adam": (FairseqAdam, {**ADAM, "weight_decay": 0.0}, [0.0] + WARMUP[:-1], ("exp_avg", "exp_avg_sq")),
    "fairseq_adam_decay": (FairseqAdam, {**ADAM, "eps": 1e-2, "weight_decay": 0.01}, WARMUP, ("exp_avg", "exp_avg_sq")),
    "sgd": (torch.optim.SGD, {}, [0.5] * 4 + [0.25] * 6, ()),
    "sgd_decay": (torch.optim.SGD, {"weight_decay": 0.01}, [0.5] * UPDATES, ()),
    "sgd_momentum": (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}, [0.1] * UPDATES, ("momentum_buffer",)),
    "sgd_nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, [0.1] * UPDATES, ("momentum_buffer",)),
    "asgd": (torch.optim.ASGD, {"t0": 0, "lambd": 0.0, "weight_decay": 0.01}, CHUNKS, ("ax",)),
    "asgd_late": (torch.optim.ASGD, {"t0": 3, "lambd": 0.0, "weight_decay": 0.01}, CHUNKS, ("ax",)),
}


def run(kind, settings, rates, states, start, gradients):
    parameters = {k: v.clone().requires_grad_() for k, v in start.items()}
    optimizer = kind(parameters.values(), lr=rates[0], **settings)
    history = {}
    for i, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        for k, p in parameters.items():
            p.grad = gradients[k][i].clone()
        optimizer.step()
        for k, p in parameters.items():
            history.setdefault(k, []).append(p.detach().clone())
            for state in states:
                name = "momentum" if state == "momentum_buffer" else state
                history.setdefault(f"{name}/{k}", []).append(optimizer.state[p][state].clone())
    return {"rate": torch.tensor(rates), **{k: torch.stack(v) for k, v in history.items()}}


def check_agreement(tensors):
    """With eps 0 the two placements of it are one formula; a rate of zero leaves weights alone."""
    start = {k: tensors[f"start/{k}"] for k in "ab"}
    gradients = {k: tensors[f"gradients/{k}"] for k in "ab"}
    settings = {"betas": [0.9, 0.98], "eps": 0.0, "weight_decay": 0.01}
    ours = run(FairseqAdam, settings, WARMUP, (), start, gradients)
    theirs = run(torch.optim.AdamW, settings, WARMUP, (), start, gradients)
    assert torch.allclose(ours["a"], theirs["a"], atol=1e-12)
    assert torch.equal(tensors["fairseq_adam/a"][0], start["a"])


def clip_cases(start):
    cases = {"above": (start, 0.25), "below": (start, 100.0), "zero": ({k: 0 * v for k, v in start.items()}, 0.25)}
    norm = torch.sqrt(sum(v.square().sum() for v in start.values())).item()
    cases["equal"] = (start, norm)  # PyTorch divides by norm + 1e-6, so this one shrinks a little
    for name, (given, largest) in cases.items():
        parameters = {k: torch.zeros_like(v) for k, v in given.items()}
        for k, p in parameters.items():
            p.grad = given[k].clone()
        norm = torch.nn.utils.clip_grad_norm_(parameters.values(), largest)
        yield f"clip/{name}/norm", norm
        yield f"clip/{name}/largest", torch.tensor(largest)
        for k, p in parameters.items():
            yield f"clip/{name}/in/{k}", given[k]
            yield f"clip/{name}/out/{k}", p.grad


def main():
    goldens.start(SEED)
    start = {"a": torch.randn(4, 7), "b": torch.randn(31)}
    scale = torch.logspace(-6, 1, 28).reshape(4, 7)  # some gradients near eps, some far above
    gradients = {"a": torch.randn(UPDATES, 4, 7) * scale, "b": torch.randn(UPDATES, 31)}
    gradients["b"][:, 3] = 0  # a weight that is never used
    tensors = {f"start/{k}": v for k, v in start.items()} | {f"gradients/{k}": v for k, v in gradients.items()}
    notes = {}
    for name, (kind, settings, rates, states) in OPTIMIZERS.items():
        for key, value in run(kind, settings, rates, states, start, gradients).items():
            tensors[f"{name}/{key}"] = value
        notes[name] = settings
    tensors.update(clip_cases(start))
    check_agreement(tensors)
    goldens.save(__file__, "optimizers.safetensors", SEED, tensors, notes)


if __name__ == "__main__":
    main()
