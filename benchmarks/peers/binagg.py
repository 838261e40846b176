"""BinAgg, written from Lin, Slavković and Bhoomireddy (2025), "Differentially private linear regression and synthetic
data generation with statistical guarantees" (arXiv 2510.16974).

A private tree (PrivTree: Zhang, Xiao and Xie 2016) cuts the box of the columns into bins; counts, sums of columns and
sums of outcomes of every bin get Gaussian noise; weighted least squares on them is corrected for the noise in the
columns. Shares of μ² are 1 : 9 : 9 : 9, as published. The noise of the sums of d columns is taken as published too, for
each column as if it were alone: by our reading that is √d less than the guarantee needs, in the peer's favour.
Floating-point noise: good for comparisons, not for anybody's records.
"""

import numpy as np
from scipy.stats import norm

_SHARES = np.array([1.0, 3.0, 3.0, 3.0]) / np.sqrt(28.0)  # of μ: tree, counts, columns, outcome
_LEAST_COUNT = 2  # bins with fewer, by their noisy counts, are left out
_BRANCHES = 2


def binagg(X, y, low, high, y_bound, mu, generator):
    """Coefficients without an intercept, for columns within [low, high] and outcomes of at most ``y_bound``."""
    of_tree, of_counts, of_columns, of_outcome = mu * _SHARES
    bins = _cut(X, low, high, of_tree, generator)
    reach = np.array([np.maximum(np.abs(a), np.abs(b)) for _, a, b in bins])
    counts = np.array([rows.size for rows, _, _ in bins]) + generator.normal(size=len(bins)) / of_counts
    sums = (
        np.array([X[rows].sum(axis=0) for rows, _, _ in bins]) + generator.normal(size=reach.shape) * reach / of_columns
    )
    outcomes = (
        np.array([y[rows].sum() for rows, _, _ in bins]) + generator.normal(size=len(bins)) * y_bound / of_outcome
    )
    kept = np.rint(counts) >= _LEAST_COUNT
    sums, outcomes, reach, weights = sums[kept], outcomes[kept], reach[kept], 1.0 / np.rint(counts[kept])
    gram = (sums * weights[:, None]).T @ sums
    # What noise in the columns adds to their squares is taken off, as long as something is left.
    corrected = gram - np.diag(weights @ (reach / of_columns) ** 2)
    if corrected.size and np.linalg.eigvalsh(corrected)[0] > 0.0:
        gram = corrected
    return np.linalg.lstsq(gram, (sums * weights[:, None]).T @ outcomes, rcond=None)[0]


def _cut(X, low, high, mu, generator):
    """Bins as (numbers of their rows, lower ends, upper ends): a bin is halved while a noisy score says it is full."""
    epsilon = norm.logcdf(mu / 2.0) - norm.logcdf(-mu / 2.0)  # such pure privacy is μ-GDP
    scale = (2 * _BRANCHES - 1) / (_BRANCHES - 1) / epsilon
    decay = scale * np.log(_BRANCHES)
    waiting, bins = [(np.arange(len(X)), np.array(low, float), np.array(high, float), 0)], []
    while waiting:
        rows, a, b, depth = waiting.pop()
        score = max(rows.size - decay * depth, -decay) + generator.laplace(scale=scale)
        # With too few bins least squares would have no answer: the first levels are always cut.
        if score > 0.0 or len(bins) + len(waiting) < X.shape[1]:
            widest = int(np.argmax(b - a))
            middle = (a[widest] + b[widest]) / 2.0
            below = X[rows, widest] < middle
            lower, upper = b.copy(), a.copy()
            lower[widest] = upper[widest] = middle
            waiting += [(rows[below], a, lower, depth + 1), (rows[~below], upper, b, depth + 1)]
        else:
            bins.append((rows, a, b))
    return bins
