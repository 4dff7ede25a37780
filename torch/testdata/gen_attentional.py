"""Golden values of the loop over time of an attentional decoder: nn.LSTMCell step by step.

At each step the first cell reads a word vector and the attentional state before, and
attention sees the source's real words only. Masks, as of dropout, stand between the
layers and behind attentional states. Held are words [T,B,E], memory [B,S,D], lengths [B],
the masks [T,B,D], query [D,D], mix [D,2D], of each layer its weights by PyTorch's names
and its h and c [B,D]; out [T,B,D], the gradient seed that the backward pass starts from,
and grad/ of every operand that has one.

    python gen_attentional.py
"""

import torch
from torch import nn

import goldens

SEED = 15
T, B, S, E, D, L = 5, 3, 6, 4, 7, 2


def main():
    goldens.start(SEED)
    lengths = torch.tensor([4, 6, 1])
    real = torch.arange(S) < lengths.unsqueeze(1)
    leaves = {"words": torch.randn(T, B, E), "memory": torch.randn(B, S, D) * real.unsqueeze(2),
              "query": torch.randn(D, D) / 2, "mix": torch.randn(D, 2 * D) / 2}
    masks = {key: torch.randint(0, 2, (T, B, D)) * 2.0 for key in ("between", "output")}
    cells = [nn.LSTMCell(D if i else E + D, D) for i in range(L)]
    for i, cell in enumerate(cells):
        leaves |= {f"{i}/{name}": parameter for name, parameter in cell.named_parameters()}
        leaves |= {f"{i}/h": torch.randn(B, D), f"{i}/c": torch.randn(B, D)}
    for leaf in leaves.values():
        leaf.requires_grad_()
    h, c = ([leaves[f"{i}/{key}"] for i in range(L)] for key in "hc")
    outs, out = [], torch.zeros(B, D)
    for t in range(T):
        x = torch.cat([leaves["words"][t], out], 1)
        for i, cell in enumerate(cells):
            if i:
                x = x * masks["between"][t]
            h[i], c[i] = cell(x, (h[i], c[i]))
            x = h[i]
        scores = torch.bmm(leaves["memory"], (x @ leaves["query"].T).unsqueeze(2)).squeeze(2)
        weights = scores.masked_fill(~real, -torch.inf).softmax(1)
        context = torch.bmm(weights.unsqueeze(1), leaves["memory"]).squeeze(1)
        out = torch.tanh(torch.cat([context, x], 1) @ leaves["mix"].T) * masks["output"][t]
        outs.append(out)
    out = torch.stack(outs)
    seed = torch.randn_like(out)
    (out * seed).sum().backward()
    tensors = {**leaves, **masks, "lengths": lengths, "out": out, "seed": seed}
    tensors |= {"grad/" + key: leaf.grad for key, leaf in leaves.items()}
    goldens.save(__file__, "attentional.safetensors", SEED, tensors)


if __name__ == "__main__":
    main()
