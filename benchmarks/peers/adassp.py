"""AdaSSP, written from Algorithm 2 of Wang (2018), "Revisiting differentially private linear regression".

A third of (ε, δ) each for the smallest eigenvalue of X'X, for X'X and for X'y; a ridge penalty that grows as that
eigenvalue falls. Floating-point Gaussian noise: good for comparisons, not for anybody's records. Its neighbours differ
by one row that is there or not, which needs less noise than replacing one.
"""

import numpy as np

_RHO = 0.05  # probability of failure in the penalty, as in the paper


def adassp(X, y, epsilon, delta, generator, x_norm=1.0, y_norm=1.0):
    """Coefficients without an intercept, for rows of norm at most ``x_norm`` and outcomes of at most ``y_norm``."""
    d, part, log = X.shape[1], epsilon / 3.0, np.log(6.0 / delta)
    size = np.sqrt(log) / part
    gram = X.T @ X
    least = np.linalg.eigvalsh(gram)[0] + size * x_norm**2 * generator.normal() - log / part * x_norm**2
    penalty = max(0.0, np.sqrt(d * log * np.log(2.0 * d**2 / _RHO)) * x_norm**2 / part - max(least, 0.0))
    noise = np.triu(generator.normal(size=(d, d)))
    gram = gram + size * x_norm**2 * (noise + np.triu(noise, 1).T)
    cross = X.T @ y + size * x_norm * y_norm * generator.normal(size=d)
    return np.linalg.solve(gram + penalty * np.eye(d), cross)
