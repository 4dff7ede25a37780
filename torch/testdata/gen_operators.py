"""Goldens of the elementary operators: operators.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_operators.py (some seconds; writes beside itself).

A case "OP/CASE" holds in0, in1, ... (float64, or int64 for ids, indices and
masks, where 1 is true), out (int64 for indices), gout (the gradient that came
in, random) and gin0, gin1, ... for every floating input. topk has its indices
in out1. Cases that end in .f32 repeat a case in float32. The metadata key
"OP/CASE" holds the parameters as JSON: dim, eps, and so on.
"""

import math
import sys

sys.dont_write_bytecode = True

import torch
import torch.nn.functional as F

import goldens

SEED = 20260119
tensors, notes = {}, {}


def case(name, inputs, operator, single=False, **parameters):
    """Records one case; with single also its float32 copy."""
    record(name, inputs, operator, parameters)
    if single:
        record(name + ".f32", [x.float() if x.is_floating_point() else x for x in inputs], operator, parameters)


def record(name, inputs, operator, parameters):
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    result = operator(*leaves)
    out, *more = result if isinstance(result, tuple) else (result,)
    for i, value in enumerate(leaves):
        tensors[f"{name}/in{i}"] = value
    tensors[f"{name}/out"] = out
    for i, value in enumerate(more, 1):
        tensors[f"{name}/out{i}"] = value
    if out.requires_grad:
        gout = torch.randn_like(out)
        tensors[f"{name}/gout"] = gout
        floating = {i: x for i, x in enumerate(leaves) if x.requires_grad}
        for i, gradient in zip(floating, torch.autograd.grad(out, list(floating.values()), gout)):
            tensors[f"{name}/gin{i}"] = gradient
    notes[name] = parameters


def normal(*shape):
    return torch.randn(*shape)


def positive(*shape):
    return torch.rand(*shape) + 0.25


def elementwise():
    case("add/same", [normal(4, 13), normal(4, 13)], torch.add)
    case("add/row", [normal(4, 13), normal(13)], torch.add)
    case("add/both", [normal(3, 1, 7), normal(5, 1)], torch.add)
    case("sub/same", [normal(4, 13), normal(4, 13)], torch.sub)
    case("sub/column", [normal(4, 13), normal(4, 1)], torch.sub)
    case("mul/same", [normal(4, 13), normal(4, 13)], torch.mul)
    case("mul/row", [normal(4, 13), normal(13)], torch.mul)
    case("mul/both", [normal(3, 1, 7), normal(5, 1)], torch.mul)
    case("div/same", [normal(4, 13), positive(4, 13)], torch.div)
    case("div/column", [normal(4, 13), positive(4, 1)], torch.div)
    case("neg/plain", [normal(4, 7)], torch.neg)
    case("exp/plain", [normal(4, 7)], torch.exp)
    case("log/plain", [positive(4, 7)], torch.log)
    case("sqrt/plain", [positive(4, 7)], torch.sqrt)
    case("square/plain", [normal(4, 7)], lambda x: x.pow(2))
    case("tanh/plain", [normal(4, 13)], torch.tanh, single=True)
    case("sigmoid/plain", [3 * normal(4, 13)], torch.sigmoid, single=True)
    edge = normal(4, 13)
    edge[0, :3] = 0  # the gradient at zero is zero
    case("relu/plain", [edge], torch.relu)
    case("masked_fill/last", [normal(3, 4, 7), torch.rand(4, 7) < 0.3],
         lambda x, mask: x.masked_fill(mask, -2.5), value=-2.5)


def reductions():
    case("sum/all", [normal(4, 31)], torch.sum)
    case("sum_dim/first", [normal(4, 7, 5)], lambda x: x.sum(0), dim=0, keepdim=False)
    case("sum_dim/last_kept", [normal(4, 7, 5)], lambda x: x.sum(-1, keepdim=True), dim=-1, keepdim=True)
    case("mean/all", [normal(4, 31)], torch.mean)
    case("mean/last", [normal(4, 31)], lambda x: x.mean(-1), dim=-1, keepdim=False)
    case("amax/last", [normal(4, 31)], lambda x: x.amax(-1), dim=-1, keepdim=False)
    case("amax/tie", [torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, -1.0]])], lambda x: x.amax(-1), dim=-1, keepdim=False)
    case("norm/rows", [normal(7, 31)], lambda x: x.norm(dim=-1), p=2, dim=-1, keepdim=False)
    case("norm/all", [normal(7, 5)], lambda x: x.norm(), p=2)
    case("logsumexp/last", [4 * normal(4, 47)], lambda x: x.logsumexp(-1), single=True, dim=-1, keepdim=False)
    case("logsumexp/large", [1000 + normal(3, 7)], lambda x: x.logsumexp(-1), dim=-1, keepdim=False)
    case("cumsum/first", [normal(5, 7)], lambda x: x.cumsum(0), dim=0)
    case("cumsum/last", [normal(5, 7)], lambda x: x.cumsum(-1), dim=-1)
    case("argmax/last", [normal(4, 47)], lambda x: x.argmax(-1), dim=-1)
    case("argmax/first", [normal(4, 7)], lambda x: x.argmax(0), dim=0)
    case("topk/last", [normal(4, 47)], lambda x: x.topk(5, -1), k=5, dim=-1, largest=True, sorted=True)


def products():
    case("matmul/2d", [normal(4, 13), normal(13, 31)], torch.matmul, single=True)
    case("matmul/batched", [normal(3, 4, 7), normal(3, 7, 5)], torch.matmul, single=True)
    case("matmul/batch_by_matrix", [normal(3, 4, 7), normal(7, 5)], torch.matmul)
    case("matmul/transposed", [normal(4, 13), normal(7, 13)], lambda a, b: a @ b.T, transpose_second=True)
    case("matmul/transposed_first", [normal(7, 4), normal(7, 5)], lambda a, b: a.T @ b, transpose_first=True)
    case("matmul/vector", [normal(4, 7), normal(7)], torch.matmul)
    case("bmm/plain", [normal(3, 4, 7), normal(3, 7, 5)], torch.bmm)
    case("linear/bias", [normal(3, 4, 7), normal(13, 7), normal(13)], F.linear, single=True)
    case("linear/plain", [normal(4, 7), normal(13, 7)], F.linear, single=True)


def indexing():
    ids = torch.tensor([[4, 1, 30, 4, 7], [4, 2, 1, 1, 30]])
    case("embedding/repeated", [normal(31, 7), ids], lambda w, i: F.embedding(i, w), padding=-1)
    case("embedding/padding", [normal(31, 7), ids], lambda w, i: F.embedding(i, w, padding_idx=1), single=True, padding=1)
    case("cat/first", [normal(2, 7), normal(3, 7), normal(1, 7)], lambda *x: torch.cat(x, 0), dim=0)
    case("cat/last", [normal(4, 3), normal(4, 5)], lambda *x: torch.cat(x, -1), dim=-1)
    case("index_select/rows", [normal(7, 5), torch.tensor([6, 0, 0, 3])], lambda x, i: x.index_select(0, i), dim=0)
    case("index_select/middle", [normal(3, 7, 5), torch.tensor([2, 2, 1])], lambda x, i: x.index_select(1, i), dim=1)
    case("gather/last", [normal(4, 47), torch.tensor([[3], [46], [0], [3]])], lambda x, i: x.gather(-1, i), dim=-1)
    case("gather/first", [normal(5, 3), torch.tensor([[0, 4, 4], [0, 1, 2]])], lambda x, i: x.gather(0, i), dim=0)
    case("transpose/last_two", [normal(3, 4, 7)], lambda x: x.transpose(1, 2), dim0=1, dim1=2)
    case("permute/turn", [normal(3, 4, 5, 2)], lambda x: x.permute(0, 2, 3, 1), dims=[0, 2, 3, 1])
    case("narrow/middle", [normal(4, 7, 5)], lambda x: x.narrow(1, 2, 3), dim=1, start=2, length=3)
    case("narrow/last", [normal(4, 31)], lambda x: x.narrow(-1, 24, 7), dim=-1, start=24, length=7)


def normalised():
    case("layer_norm/affine", [3 + 2 * normal(2, 4, 31), 1 + normal(31), normal(31)],
         lambda x, w, b: F.layer_norm(x, (31,), w, b, 1e-5), single=True, eps=1e-5)
    flat = normal(4, 7)
    flat[1] = 2.5  # no variance at all: eps decides
    case("layer_norm/constant_row", [flat, 1 + normal(7), normal(7)],
         lambda x, w, b: F.layer_norm(x, (7,), w, b, 1e-5), eps=1e-5)
    case("softmax/last", [4 * normal(4, 47)], lambda x: x.softmax(-1), single=True, dim=-1)
    case("softmax/middle", [normal(3, 7, 5)], lambda x: x.softmax(1), dim=1)
    masked = normal(4, 7)
    masked[:, 5:] = -math.inf
    case("softmax/minus_infinity", [masked], lambda x: x.softmax(-1), dim=-1)
    case("log_softmax/last", [4 * normal(4, 47)], lambda x: x.log_softmax(-1), single=True, dim=-1)
    case("log_softmax/large", [1000 * normal(4, 7)], lambda x: x.log_softmax(-1), dim=-1)
    targets = torch.tensor([3, 46, 1, 0, 3])
    case("cross_entropy/nll", [normal(5, 47), targets], lambda x, t: F.cross_entropy(x, t, reduction="none"), single=True, ignored=-100)
    case("cross_entropy/ignored", [normal(5, 47), targets],
         lambda x, t: F.cross_entropy(x, t, reduction="none", ignore_index=1), ignored=1)


def attention(causal, padded):
    """Attention over [B,H,T,K], spelt out; agrees with PyTorch's own operator."""
    def operator(q, k, v, real=None):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool)
        if causal:
            allowed = allowed.tril()
        if padded:
            allowed = allowed & real[:, None, None, :].bool()
        out = scores.masked_fill(~allowed, -math.inf).softmax(-1) @ v
        mask = allowed if causal or padded else None
        tolerance = 1e-12 if q.dtype == torch.float64 else 1e-5
        assert torch.allclose(F.scaled_dot_product_attention(q, k, v, attn_mask=mask), out, atol=tolerance)
        return out
    return operator


def attentions():
    b, h, t, s, k = 3, 2, 4, 5, 3
    lengths = torch.tensor([5, 3, 1])
    real_BS = torch.arange(s)[None, :] < lengths[:, None]
    notes["sdpa"] = {"shapes": "in0 [B,H,T,K], in1 and in2 [B,H,S,K], in3 [B,S] is 1 at real keys", "scale": "1/sqrt(K)"}
    case("sdpa/plain", [normal(b, h, t, k), normal(b, h, s, k), normal(b, h, s, k)], attention(False, False),
         single=True, causal=False, padding=False)
    case("sdpa/padding", [normal(b, h, t, k), normal(b, h, s, k), normal(b, h, s, k), real_BS.long()], attention(False, True),
         single=True, causal=False, padding=True)
    case("sdpa/causal", [normal(b, h, s, k), normal(b, h, s, k), normal(b, h, s, k)], attention(True, False),
         single=True, causal=True, padding=False)
    case("sdpa/both", [normal(b, h, s, k), normal(b, h, s, k), normal(b, h, s, k), real_BS.long()], attention(True, True),
         single=True, causal=True, padding=True)


def main():
    goldens.start(SEED)
    for group in (elementwise, reductions, products, indexing, normalised, attentions):
        group()
    goldens.save(__file__, "operators.safetensors", SEED, tensors, notes)


if __name__ == "__main__":
    main()
