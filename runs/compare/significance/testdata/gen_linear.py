"""Writes linear.json: ordinary least squares by statsmodels, and a two-sided paired bootstrap by NumPy.

    python gen_linear.py

needs statsmodels 0.14 and scipy. Scores are made up; null stands for a seed that a row lacks.
"""
import json

import numpy as np
import scipy
import statsmodels
import statsmodels.api as sm
from scipy.stats import f, nct, t

rng = np.random.default_rng(5)
cases = []
for rows, seeds, missing, shared in ((4, 6, 0, 0.0), (4, 6, 0, 1.5), (3, 8, 4, 1.5), (2, 2, 0, 0.0), (5, 3, 3, 0.1)):
    y = 40 + rng.normal(0, 0.5, (rows, 1)) + shared * rng.normal(0, 0.5, (1, seeds)) + rng.normal(0, 0.4, (rows, seeds))
    for i in range(missing):
        y[1 + i % (rows - 1), -1 - i // (rows - 1)] = np.nan
    complete = y[:, ~np.isnan(y).any(axis=0)]
    k, n = complete.shape
    between = k * complete.mean(axis=0).var(ddof=1)
    residual = ((complete - complete.mean(0) - complete.mean(1, keepdims=True) + complete.mean()) ** 2).sum() / ((k - 1) * (n - 1))
    icc = (between - residual) / (between + (k - 1) * residual)
    r, s = np.nonzero(~np.isnan(y))
    x = np.zeros((len(r), rows + seeds - 1))
    x[np.arange(len(r)), r] = 1
    for i, seed in enumerate(s):
        if seed:
            x[i, rows + seed - 1] = 1
    if icc <= 0 or f.sf(between / residual, n - 1, (k - 1) * (n - 1)) >= 0.05:
        x = x[:, :rows]
    fit = sm.OLS(y[r, s], x).fit()
    contrasts = []
    for row in range(1, rows):
        c = np.zeros(x.shape[1])
        c[row], c[0] = 1, -1
        test = fit.t_test(c)
        low, high = test.conf_int(0.05)[0]
        contrasts.append([float(v) for v in (test.effect[0], test.sd[0][0], low, high, test.pvalue)])
    cases.append(dict(scores=[[None if np.isnan(v) else float(v) for v in row] for row in y], icc=float(icc),
                      deviation=float(np.sqrt(fit.mse_resid)), freedom=int(fit.df_resid), contrasts=contrasts))


def needed(difference, deviation, rows, level, power):
    for n in range(2, 10000):
        freedom, shift = rows * (n - 1), difference / deviation / np.sqrt(2 / n)
        critical = t.ppf(1 - level / 2, freedom)
        if nct.sf(critical, freedom, shift) + nct.cdf(-critical, freedom, shift) >= power:
            return n


seeds = [[d, s, r, level, 0.8, needed(d, s, r, level, 0.8)] for d, s, r, level in
         ((0.5, 0.43, 4, 0.05), (0.5, 0.43, 4, 0.05 / 3), (0.1, 0.43, 2, 0.05), (3.0, 0.43, 2, 0.05))]
with open("linear.json", "w", encoding="utf-8") as file:
    json.dump(dict(versions=dict(statsmodels=statsmodels.__version__, scipy=scipy.__version__), fits=cases, seeds=seeds), file, indent=1)
    file.write("\n")
