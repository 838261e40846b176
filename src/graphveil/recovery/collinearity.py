"""Collinear columns, as far as a release can tell.

A direction u of the standardised columns has the noisy variance u'Yu, whose noise has a known distribution. If u'Yu is
below its noise, and the noise is small against 1, the columns of u are collinear rather than poorly known: they add up
to a constant, as the indicators of all levels of a category do.
"""

import numpy as np

from graphveil.recovery.noise_model import NoisyCovariance

__all__ = ["collinear_columns"]

_WITHIN = 3.0  # standard deviations of its noise: a variance below may be nothing
_SHARP = 0.05  # with more noise, zero and small variances cannot be distinguished
_PART = 0.2  # of the largest weight: columns with less have nothing to do with a direction


def collinear_columns(noisy: NoisyCovariance) -> tuple[tuple[int, ...], ...]:
    """Numbers of the columns of each direction that may be constant, fewest columns first."""
    scale = 1.0 / np.sqrt(np.diag(noisy.denoised))
    matrix = noisy.matrix * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(matrix)
    groups = []
    for value, vector in zip(values, vectors.T, strict=True):
        user = scale * vector
        privacy = [sd**2 * float(user @ back @ back.T @ user) ** 2 for back, sd in noisy.privacy]
        single = float(user**2 @ np.broadcast_to(noisy.single, matrix.shape) @ user**2)
        noise = np.sqrt(sum(privacy) + 2.0 * single + 2.0 * noisy.sampling * value**2)
        if value < _WITHIN * noise and noise < _SHARP:
            groups.append(tuple(np.flatnonzero(np.abs(vector) > _PART * np.abs(vector).max()).tolist()))
    return tuple(sorted({group for group in groups if len(group) > 1}, key=len))
