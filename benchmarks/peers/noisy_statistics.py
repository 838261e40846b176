"""Noisy sufficient statistics as dp-statsmodels releases them (its `DPOLS`), written from what its pages describe.

X'X, X'y and y'y get Gaussian noise by the classical formula with 0.4, 0.4 and 0.2 of ε and a third of δ each, at the
sensitivity of rows in a cube; where noise has made X'X indefinite, its smallest eigenvalue is lifted to zero. The
package itself was not run. Floating-point noise: good for comparisons, not for anybody's records.
"""

import numpy as np


def noisy_statistics(X, y, epsilon, delta, generator, x_bound=1.0, y_bound=1.0):
    """Coefficients without an intercept, for columns of at most ``x_bound`` and outcomes of at most ``y_bound``."""
    d = X.shape[1]
    size = np.sqrt(2.0 * np.log(3.75 / delta)) / (0.4 * epsilon)
    noise = np.triu(generator.normal(size=(d, d)))
    gram = X.T @ X + size * d * x_bound**2 * (noise + np.triu(noise, 1).T)
    cross = X.T @ y + size * np.sqrt(d) * x_bound * y_bound * generator.normal(size=d)
    least = np.linalg.eigvalsh(gram)[0]
    if least <= 0.0:
        gram = gram + (abs(least) + 1e-6) * np.eye(d)
    return np.linalg.solve(gram, cross)
