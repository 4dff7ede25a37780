"""Goldens of the von Mises-Fisher normaliser: vmf.safetensors.

Versions: Python 3.11, mpmath 1.3.0 (60 digits), torch 2.11.0.
Run: python3 gen_vmf.py (about a minute; writes beside itself).

    m [K] (int64), kappa [J]
    log_c [K,J]   log C_m(kappa) = v log kappa - (m/2) log 2 pi - log I_v(kappa), v = m/2 - 1
    ratio [K,J]   A_m(kappa) = I_(m/2)(kappa) / I_v(kappa) = -d log C_m / d kappa
    spherical/{m [P] (int64), kappa [P], cosine [P], nll [P], slope [P]}
                  power spherical density: its negative log, and the derivative in kappa
"""

import sys

sys.dont_write_bytecode = True

import mpmath
import torch
from mpmath import mp, mpf

import goldens

M = [1, 2, 3, 4, 5, 6, 7, 10, 13, 16, 20, 31, 37, 41, 42, 43, 44, 45, 47, 50, 64, 100, 128, 200, 256, 300, 301, 400, 512, 768,
     1000, 1024, 1536, 2047, 2048]
KAPPA = [0, 1e-300, 1e-160, 1e-30, 1e-12, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.999, 1, 1.001, 1.7, 2, 3, 5, 7.5, 10, 15, 20, 30, 41, 50, 75,
         100, 150, 200, 300, 411, 500, 700, 1000, 1417, 2000, 3000, 5000, 7400, 10000, 20000, 50000, 99999.5, 100000]
SPHERICAL = [(m, kappa, cosine) for m in (2, 3, 16, 300, 1024) for kappa in (1e-6, 0.5, 9, 15, 300, 1e5, 1e12) for cosine in (-0.9, 0, 0.8, 1)]


def normaliser(m, kappa):
    v = mpf(m) / 2 - 1
    if kappa == 0:
        return mp.loggamma(v + 1) - mp.log(2) - (v + 1) * mp.log(mp.pi), mpf(0)
    k = mpf(kappa)
    low, high = mp.besseli(v, k), mp.besseli(v + 1, k)
    return v * mp.log(k) - (v + 1) * mp.log(2 * mp.pi) - mp.log(low), high / low


def power_spherical(m, kappa, cosine):
    b, k, c = mpf(m - 1) / 2, mpf(kappa), mpf(cosine)
    a = b + k
    nll = (a + b) * mp.log(2) + b * mp.log(mp.pi) + mp.loggamma(a) - mp.loggamma(a + b) - k * mp.log(1 + c)
    return nll, mp.log(2) + mp.digamma(a) - mp.digamma(a + b) - mp.log(1 + c)


def main():
    mp.dps = 60
    goldens.start(0)
    table = [[normaliser(m, kappa) for kappa in KAPPA] for m in M]
    spherical = [power_spherical(*case) for case in SPHERICAL]
    goldens.save(__file__, "vmf.safetensors", 0, {
        "m": torch.tensor(M), "kappa": torch.tensor(KAPPA),
        "log_c": torch.tensor([[float(x) for x, _ in row] for row in table]),
        "ratio": torch.tensor([[float(x) for _, x in row] for row in table]),
        "spherical/m": torch.tensor([m for m, _, _ in SPHERICAL]),
        "spherical/kappa": torch.tensor([k for _, k, _ in SPHERICAL]),
        "spherical/cosine": torch.tensor([float(c) for _, _, c in SPHERICAL]),
        "spherical/nll": torch.tensor([float(x) for x, _ in spherical]),
        "spherical/slope": torch.tensor([float(x) for _, x in spherical]),
    }, {"mpmath": mpmath.__version__})


if __name__ == "__main__":
    main()
