"""Correction for clipping without a histogram of norms: the loss is computed as if rows were Gaussian.

With few records there is one round, of rows about a first mean and divided by first variances, both of which are noisy.
If a variance is too small, or the mean lies to one side, ordinary rows are clipped too. The effect on the moments of
Gaussian rows can be computed, and therefore undone.
"""

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from graphveil._typing import Matrix, Vector

__all__ = ["unclip_axes", "unclip_moments", "uneven_gaussian_loss"]

_STEPS = 8  # to 1% where half is left
_LEAST_LEFT = 0.5  # if less is left, rows show little more than their location


def unclip_moments(mean: Vector, variance: Vector, radius: float) -> tuple[Vector, Vector]:
    """Mean and variances of Gaussian rows that have these once they are shortened to a radius R.

    Of rows x with squared norms s, f(x) = x min(1, R/√s) has ∂f_j/∂x_j = 1 where s < R², and R/√s (1 − x_j²/s) beyond.
    The average of that, on the way from 0 to the mean, is what is left of the mean; on that way squares of the mean are
    a third of what they are at its end.
    """
    true_mean, true_variance = mean, variance
    for _ in range(_STEPS):
        square = true_mean**2 / 3.0
        total, spread = np.sum(true_variance + square), np.sum(2.0 * true_variance * (true_variance + 2.0 * square))
        shape, end = total**2 / spread, radius**2 * total / spread
        less = max(shape - 0.5, 1e-6)
        beyond = np.exp(gammaln(less) - gammaln(shape)) * gammaincc(less, end) * np.sqrt(end)
        left = gammainc(shape, end) + (1.0 - (true_variance + square) / total) * beyond
        true_mean = mean / np.maximum(left, _LEAST_LEFT)
        true_variance = (variance + mean**2) / _left_of_squares(true_variance, true_mean, radius) - true_mean**2
        true_variance = np.clip(true_variance, variance, variance / _LEAST_LEFT)
    return true_mean, true_variance


def uneven_gaussian_loss(shortened: Matrix, radius: float) -> Matrix:
    """What Gaussian rows lose along some axes more than along others, beside a share that is common to all.

    Columns are still correlated in one round, and clipping takes more along the axes that have more.
    """
    values, vectors = np.linalg.eigh(shortened)
    lost = unclip_axes(values, radius) - values
    lost = lost - values * lost.sum() / values.sum()
    return np.asarray((vectors * lost) @ vectors.T)


def unclip_axes(values: Vector, radius: float) -> Vector:
    """Variances of Gaussian rows along their axes that have these once they are shortened to a radius."""
    true = values
    for _ in range(_STEPS):
        true = values / _left_of_squares(true, np.zeros_like(true), radius)
    return true


def _left_of_squares(variance: Vector, mean: Vector, radius: float) -> Vector:
    """E x_j² min(1, R²/s) over E x_j², for each j.

    It is E min(1, R²/s_j), where s_j is s under the law that is weighed by x_j². Its mean is larger than that of s by
    var x_j²/E x_j², two squares of x_j if that has mean zero. It is taken as Gamma distributed.
    """
    square = variance + mean**2
    spread = 2.0 * variance * (square + mean**2)
    total = np.sum(square) + spread / square
    scale = (np.sum(spread) + 4.0 * variance**2) / total
    shape, end = total / scale, radius**2 / scale
    less = np.where(np.abs(shape - 1.0) < 1e-6, 1e-6, shape - 1.0)
    beyond = (gammaincc(shape, end) - np.exp(less * np.log(end) - end - gammaln(shape))) * end / less
    return np.asarray(np.maximum(gammainc(shape, end) + beyond, _LEAST_LEFT))
