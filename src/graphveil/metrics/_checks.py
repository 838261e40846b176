"""Checks of the matrices of every metric: symmetric, finite, of the same size."""

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil.exceptions import InvalidParameter

__all__ = ["check_same_size", "check_symmetric"]


def check_symmetric(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a finite symmetric matrix, freed of the asymmetry that rounding leaves, or refuse it by name.

    It may be the caller's own: not to be written to.
    """
    rule = "a symmetric matrix of finite numbers"
    matrix = None
    with suppress(TypeError, ValueError):  # the error below carries no context: numpy's would quote an entry
        matrix = np.asarray(value, dtype=np.float64)
    if matrix is None:
        raise InvalidParameter.of(name, rule, value, "Pass the matrix itself, such as estimate.precision.")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidParameter.of(name, rule, matrix.shape)
    if not np.isfinite(matrix).all():
        raise InvalidParameter.of(name, rule, "infinite or missing entries")
    if np.array_equal(matrix, matrix.T):
        return matrix
    if np.abs(matrix - matrix.T).max() > 1e-6 * np.abs(matrix).max():
        raise InvalidParameter.of(
            name, rule, "an asymmetric one", "Pass (A + A.T) / 2 if the asymmetry is only rounding."
        )
    return (matrix + matrix.T) / 2


def check_same_size(
    name: str, value: ArrayLike, other: str, reference: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both as symmetric matrices of one size."""
    first, second = check_symmetric(name, value), check_symmetric(other, reference)
    if first.shape != second.shape:
        raise InvalidParameter.of(name, f"of the same shape as {other}, {second.shape}", first.shape)
    return first, second
