"""Iterative Hessian Mixing, written from Lev and others (2026), "Near-optimal private linear regression via iterative
Hessian mixing" (arXiv 2601.07545).

Each of three steps solves with a random sketch of X'X, to which noise is added that the sketch itself makes less
necessary the larger the smallest eigenvalue of X'X is, and with a noisy gradient of clipped residuals. A sketch SX with
Gaussian S has rows of covariance X'X, so the sketch of X with noise is drawn as a Wishart matrix: the same law, without
the rows. Half of (ε, δ) goes to the sketches and the eigenvalue, half to the gradients; neighbours differ by a row that
is there or is zero, which needs less noise than replacing one. Floating-point noise: good for comparisons, not for
anybody's records.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

from graphveil.spec.gdp import mu_from_epsilon_delta

_STEPS, _SIZE = 3, 6.0  # as in the paper's experiments: sketches of 6 max(d, log(4 steps/ρ)) rows


def hessian_mixing(X, y, epsilon, delta, generator):
    """Coefficients without an intercept, for rows of norm at most 1 and outcomes of at most 1."""
    d = X.shape[1]
    failure = delta / 10.0
    k = int(_SIZE * max(d, np.log(4.0 * _STEPS / failure)))
    gamma = _sketch_noise(k, epsilon / 2.0, 0.75 * delta)
    slack = np.sqrt(2.0 * np.log(max(4.0 / delta, 4.0 / failure)))
    gram = X.T @ X
    least = max(0.0, np.linalg.eigvalsh(gram)[0] - gamma / np.sqrt(k) * (slack - generator.normal()))
    mixed = np.linalg.cholesky(gram + max(0.0, gamma - least) * np.eye(d) + 1e-12 * np.trace(gram) * np.eye(d))
    sd = np.sqrt(_STEPS) / mu_from_epsilon_delta(epsilon / 2.0, delta / 4.0)
    beta = np.zeros(d)
    for _ in range(_STEPS):
        sketch = generator.normal(size=(k, d)) @ mixed.T
        gradient = X.T @ np.clip(y - X @ beta, -1.0, 1.0) + sd * generator.normal(size=d)
        beta = beta + np.linalg.solve(sketch.T @ sketch / k, gradient)
    return beta


@lru_cache(maxsize=64)
def _sketch_noise(k, epsilon, delta):
    """The least eigenvalue that makes all sketches and the eigenvalue's own release private, by bisection."""

    def spent(gamma):
        def at(alpha):
            mixing = k * (alpha * np.log1p(-1.0 / gamma) - np.log1p(-alpha / gamma)) / (2.0 * (alpha - 1.0))
            turned = (np.log(3.0 / delta) + (alpha - 1.0) * np.log1p(-1.0 / alpha) - np.log(alpha)) / (alpha - 1.0)
            return _STEPS * mixing + turned

        rounds = minimize_scalar(at, bounds=(1.0 + 1e-5, gamma - 1e-5), method="bounded").fun
        return rounds + np.sqrt(2.0 * k * np.log(3.75 / delta)) / gamma

    low, high = 2.0, 1e9
    while high - low > 1e-6 * high:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if spent(middle) < epsilon else (middle, high)
    return high
