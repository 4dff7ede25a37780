"""The numbers of TestClaims: differences of two methods to a control, with the spread of all rows pooled."""
import numpy as np
from scipy import stats

control = np.array([10, 10.3, 9.8, 10.1, 9.9, 10.2])
rows = {"spectrum": np.array([10.9, 10.8, 11.2, 10.7, 11.1, 11]), "cosreg": np.array([10.1, 9.9, 10.2, 9.8, 10.3, 10])}
everything = [control, *rows.values()]
freedom = sum(len(row) - 1 for row in everything)
deviation = np.sqrt(sum(((row - row.mean()) ** 2).sum() for row in everything) / freedom)
error = deviation * np.sqrt(2 / len(control))
for (name, row), level in zip(rows.items(), (0.0056 / 2, 0.0056)):
    difference = row.mean() - control.mean()
    half = stats.t.ppf(1 - level / 2, freedom) * error
    p = 2 * stats.t.sf(abs(difference / error), freedom)
    print(f"{name}: {difference:.2f} ({difference - half:.2f} to {difference + half:.2f}) at {level}, p = {p:.3g}")
