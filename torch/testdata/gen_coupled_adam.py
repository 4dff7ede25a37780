"""Golden of Coupled Adam: coupled_adam.safetensors.

Versions: Python 3.11, torch 2.11.0, numpy 2.4.6.
Run: python3 gen_coupled_adam.py (about a second; writes beside itself).

    start [31,7]  gradients [5,31,7]  weights [5,31,7]  moments [5,31,7]   (the second one, per word) after each step

Stollenwerk and Stollenwerk (2025): AdamW with the second moment averaged over words, in the step alone. Rate 0.01,
betas 0.9 and 0.95, epsilon 1e-8, decay 0.1.
"""

import torch

import goldens

SEED, STEPS, V, D = 20261124, 5, 31, 7
RATE, BETA1, BETA2, EPS, DECAY = 0.01, 0.9, 0.95, 1e-8, 0.1


def main():
    goldens.start(SEED)
    start = torch.randn(V, D)
    gradients = torch.randn(STEPS, V, D) * torch.rand(V, 1)
    w, m, v, weights, moments = start.clone(), torch.zeros(V, D), torch.zeros(V, D), [], []
    # Rows that are all equal couple nothing, so there the step is that of PyTorch's AdamW: a check of this program.
    native = torch.nn.Parameter(torch.ones(V, D))
    adamw = torch.optim.AdamW([native], lr=RATE, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY)
    own, own_m, own_v = torch.ones(V, D), torch.zeros(V, D), torch.zeros(V, D)

    def step(w, m, v, g, t):
        w = w * (1 - RATE * DECAY)
        m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g**2
        coupled = v.mean(0, keepdim=True)
        return w - RATE * (m / (1 - BETA1**t)) / ((coupled / (1 - BETA2**t)).sqrt() + EPS), m, v

    for t, g in enumerate(gradients, 1):
        w, m, v = step(w, m, v, g, t)
        weights.append(w)
        moments.append(v)
        native.grad = g[:1].expand(V, D).clone()
        adamw.step()
        own, own_m, own_v = step(own, own_m, own_v, native.grad, t)
        assert torch.allclose(own, native, atol=1e-12)
    goldens.save(__file__, "coupled_adam.safetensors", SEED,
                 {"start": start, "gradients": gradients, "weights": torch.stack(weights), "moments": torch.stack(moments)})


if __name__ == "__main__":
    main()
