"""Operations of the products of small networks and output layers: operations.json, here and in objectives/testdata.

Versions: Python 3.11, torch 2.11.0.
Run: python3 gen_operations.py (seconds; writes two files).

Each row is [forward, backward] as torch.utils.flop_counter counts them in a program of plain operators with the sizes of
TestOperations in models and in objectives. Word vectors are inputs that get a gradient. So are first states, whose products
count as those of any step.
"""

import json
import os

import torch
from torch.nn.functional import linear
from torch.utils.flop_counter import FlopCounterMode

here = os.path.dirname(os.path.abspath(__file__))


def some(*shape, grad=True):
    return torch.randn(*shape, requires_grad=grad)


def count(run):
    with FlopCounterMode(display=False) as forward:
        out = run()
    with FlopCounterMode(display=False) as backward:
        out.sum().backward()
    return [forward.get_total_flops(), backward.get_total_flops()]


def weighted(x, d):
    """A linear map of its own."""
    return linear(x, some(d, x.shape[-1]))


def attention(x, memory, heads):
    b, t, d = x.shape
    split = lambda y: y.reshape(b, -1, heads, d // heads).transpose(1, 2)
    q, k, v = split(weighted(x, d)), split(weighted(memory, d)), split(weighted(memory, d))
    return weighted(((q @ k.transpose(2, 3)).softmax(3) @ v).transpose(1, 2).reshape(b, t, d), d)


def inner(x, f):
    return weighted(weighted(x, f).relu(), x.shape[-1])


def transformer(b=4, s=7, t=5, d=12, f=20, heads=3):
    x, y = some(b, s, d), some(b, t, d)
    for _ in range(2):
        x = x + attention(x, x, heads)
        x = x + inner(x, f)
    for _ in range(3):
        y = y + attention(y, y, heads)
        y = y + attention(y, x, heads)
        y = y + inner(y, f)
    return y


def gpt(b=3, t=7, d=12, f=20, heads=3):
    x = some(b, t, d)
    for _ in range(2):
        x = x + attention(x, x, heads)
        x = x + inner(x, f)
    return x


def cell(gates):
    """A step: what is summed of input and state stands for any kind of unit."""
    size = gates.shape[-1]
    return lambda h: gates.tanh()[..., : h.shape[-1]] + gates.tanh()[..., size - h.shape[-1] :]


def recurrent(x_TBI, h, gates, state=True):
    w_ih, w_hh = some(gates * h, x_TBI.shape[2]), some(gates * h, h)
    out, now = [], some(x_TBI.shape[1], h)
    for fed in linear(x_TBI, w_ih):
        now = cell(fed + linear(now, w_hh) if state else fed)(now)
        out.append(now)
    return torch.stack(out)


def attentional(b=4, s=7, t=5, e=6, d=10):
    x, y = some(s, b, e), some(t, b, e)
    for _ in range(2):
        x = torch.cat([recurrent(x, d // 2, 4), recurrent(x.flip(0), d // 2, 4).flip(0)], 2)
    memory = x.transpose(0, 1)
    mix = some(d, 2 * d)
    keys, values = memory @ some(d, d), linear(memory, mix[:, :d])
    weights = [(some(4 * d, e + d), some(4 * d, d)), (some(4 * d, d), some(4 * d, d))]
    words = linear(y, weights[0][0][:, :e])
    h, o, out = [some(b, d), some(b, d)], some(b, d), []
    for now in words:
        h[0] = cell(now + linear(o, weights[0][0][:, e:]) + linear(h[0], weights[0][1]))(h[0])
        h[1] = cell(linear(h[0], weights[1][0]) + linear(h[1], weights[1][1]))(h[1])
        a = (keys @ h[1].unsqueeze(2)).softmax(1)
        o = ((a.transpose(1, 2) @ values).squeeze(1) + linear(h[1], mix[:, d:])).tanh()
        out.append(o)
    return torch.stack(out)


def stack(gates, state=True, steps=6, columns=4):
    x = some(steps, columns, 5)
    if not state:  # a QRNN: the first layer sees the step before too
        x = torch.cat([x, x.roll(1, 0)], 2)
    for h in (9, 9, 5):
        x = recurrent(x, h, gates, state)
    return x


def xl(steps=4, columns=3, memory=5, d=6, heads=2, f=10):
    s, k = memory + steps, d // heads
    h = some(steps, columns, d)
    for _ in range(2):
        seen = torch.cat([torch.randn(memory, columns, d), h])
        split = lambda y: y.reshape(y.shape[0], columns, heads, k).permute(1, 2, 0, 3)
        q, keys, values = split(weighted(h, d)), *(split(y) for y in weighted(seen, 2 * d).chunk(2, 2))
        r = weighted(torch.randn(s, d), d).reshape(s, heads, k)
        p = (q @ keys.transpose(2, 3) + q @ r.permute(1, 2, 0)).softmax(3)
        h = h + weighted((p @ values).permute(2, 0, 1, 3).reshape(steps, columns, d), d)
        h = h + inner(h, f)
    return h


networks = {
    "transformer": count(transformer), "attentional": count(attentional),
    "gpt": count(gpt), "awd-lstm": count(lambda: stack(4)), "gru": count(lambda: stack(3)), "qrnn": count(lambda: stack(3, False)), "transformer-xl": count(xl),
}

N, V, D, M = 11, 47, 9, 7
targets = torch.tensor([0, 1, 7, 8, 8, 19, 20, 46, 30, 3, 2])


def mapped(h):
    return h @ some(D, D)


def mixture(map=lambda h: h):
    h = some(N, D)
    latent = weighted(h, 3 * D).tanh().reshape(N, 3, D)
    return (linear(map(latent), some(V, D)).softmax(2) * weighted(h, 3).unsqueeze(2)).sum(1)


def adaptive(divisor):
    h, w = some(N, D), some(V, D)
    parts = [linear(h, torch.cat([w[:8], some(2, D)])).sum()]
    for i, (low, high) in enumerate([(8, 20), (20, V)]):
        width = int(D / divisor ** (i + 1))
        x = h if divisor == 1 else weighted(h, width)
        rows = w[low:high] if divisor == 1 else some(high - low, width)
        parts.append(linear(x[(targets >= low) & (targets < high)], rows).sum())
    return sum(parts)


def continuous(wrong=False):
    x = weighted(some(N, D), M)
    return x.sum() + ((x.detach() @ torch.randn(M, V)).max(1).values.sum() if wrong else 0)


def mixtape(frequent=5, gates=64):
    h, w = some(N, D), some(V, D)
    latent, context, state = weighted(h, 4 * D).tanh().reshape(N, 4, D), weighted(h, 3 * gates).tanh(), weighted(h, 3)
    own = linear(context.reshape(N, 3, gates), some(frequent, gates)) + state.unsqueeze(2)
    first = linear(latent, w[:frequent])[:, :3] * own.sigmoid()
    return first.sum() + linear(latent.mean(1), w[frequent:]).sum()


def drill(depth=2):
    w = some(V, D)
    e = w
    for _ in range(depth):
        e = weighted(e, D).sigmoid() + w
    return linear(some(N, D), e)


def covariance():
    h = some(N, D)
    return linear(h, some(V, D)).sum() + (h.T @ h).square().sum()


def orthogonality(rows):
    x = some(rows, D)
    return (x.T @ x - torch.eye(D)).square().sum()


def both(run):
    return sum(count(run))


layers = {
    "mle": both(lambda: linear(some(N, D), some(V, D))),
    "spectrum": both(lambda: linear(mapped(some(N, D)), some(V, D))),
    "mos": both(mixture), "mos+spectrum": both(lambda: mixture(mapped)),
    "adaptive": both(lambda: adaptive(1)), "adaptive, narrow": both(lambda: adaptive(2)),
    "mixtape": both(mixtape), "drill": both(drill), "headless": both(lambda: linear(some(N, D), some(N, D))),
    "istar": both(covariance), "vmf": both(continuous), "maxmargin": both(lambda: continuous(True)),
    "a lookup of spectrum": both(lambda: mapped(some(N, D))),
    "a lookup of vmf": both(lambda: weighted(torch.randn(N, M), D)),
}

for folder, rows in ((here, networks), (os.path.join(here, "../../objectives/testdata"), layers)):
    with open(os.path.join(folder, "operations.json"), "w") as f:
        json.dump(rows, f, indent=1)
        f.write("\n")
