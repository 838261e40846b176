"""Collinear columns, as far as a release can tell.

A direction u of the standardised columns has the noisy variance u'Yu, whose noise has a known distribution. If u'Yu is
below its noise, and the noise is small against 1, the columns of u are collinear rather than poorly known: they add up
to a constant, as the indicators of all levels of a category do.

Of many columns, the direction that looks smallest was chosen for its noise, and looks smaller than it is by much more
than that. Denoising knows how much: what it leaves of u must be small, too.

Two categories make two such directions of about the same variance, and eigenvectors mix them in any way. What does not
depend on that is the projection P onto all of these directions together: it links columns i and j, by P_ij, if and only
if they are collinear through the same ones.
"""

import numpy as np

from graphveil.recovery.noise_model import NoisyCovariance

__all__ = ["collinear_columns"]

_WITHIN = 3.0  # standard deviations of its noise: a variance below may be nothing
_SHARP = 0.05  # with more noise, or more left, zero and small variances cannot be distinguished
_PART = 0.2  # of the largest weight: columns with less have nothing to do with a direction


def collinear_columns(noisy: NoisyCovariance) -> tuple[tuple[int, ...], ...]:
    """Numbers of the columns of each group that is collinear, smallest groups first."""
    from scipy.sparse.csgraph import connected_components

    scale = 1.0 / np.sqrt(np.diag(noisy.denoised))
    matrix = noisy.matrix * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(matrix)
    users = scale[:, None] * vectors
    privacy = sum(sd**2 * np.sum((back.T @ users) ** 2, axis=0) ** 2 for back, sd in noisy.privacy)
    single = np.sum(users**2 * (np.broadcast_to(noisy.single, matrix.shape) @ users**2), axis=0)
    noise = np.sqrt(privacy + 2.0 * single + 2.0 * noisy.sampling * values**2)
    left = np.sum(users * (noisy.denoised @ users), axis=0)
    constant = (values < _WITHIN * noise) & (np.maximum(noise, left) < _SHARP)
    onto = vectors[:, constant] @ vectors[:, constant].T
    most = np.minimum(np.diag(onto), 1.0 - np.diag(onto))  # |P_ij| of a projection is at most the root of two of these
    between = np.abs(onto - np.diag(np.diag(onto)))
    # Of one direction u, P_ij is u_i u_j: what must stand out is a weight beside the largest one, then beside another.
    belongs = between.max(axis=1) > _PART * most[np.argmax(between, axis=1)]
    linked = (between > _PART * np.maximum.outer(most, most)) & belongs[:, None] & belongs
    count, group = connected_components(linked, directed=False)
    groups = [tuple(np.flatnonzero(group == number).tolist()) for number in range(count)]
    return tuple(sorted((columns for columns in groups if len(columns) > 1), key=len))
