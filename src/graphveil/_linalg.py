"""Positive definite matrices: log-determinant, inverse, and a test of definiteness."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from graphveil._typing import Matrix

__all__ = [
    "inverse",
    "is_positive_definite",
    "log_determinant",
    "log_determinant_in_place",
    "power_of_two_scale",
    "smallest_pivot",
]


def log_determinant(M: Matrix, workspace: Matrix | None = None) -> float | None:
    """Log det M, or None when M has no Cholesky factor in double precision.

    ``workspace`` is overwritten if it is given: memory that is not fresh is a good deal faster.
    """
    if workspace is None:
        workspace = np.empty(M.shape)
    np.copyto(workspace, M)
    return log_determinant_in_place(workspace)


def log_determinant_in_place(M: Matrix) -> float | None:
    """`log_determinant` of a matrix that may be overwritten."""
    # A C-ordered symmetric matrix is its own Fortran-ordered transpose: no copy into another layout.
    factor, info = dpotrf(M.T, lower=0, clean=0, overwrite_a=1)
    value = 2.0 * float(np.log(factor.diagonal()).sum()) if info == 0 else np.nan
    # Not every LAPACK notices a NaN in its input.
    return value if np.isfinite(value) else None


def smallest_pivot(M: NDArray[np.floating[Any]], workspace: Matrix | None = None) -> float:
    """The least Schur complement in a Cholesky factorisation, as a share of the diagonal; −inf where there is none.

    ``workspace`` as for `log_determinant`.
    """
    if workspace is None:
        workspace = np.empty(M.shape)
    np.copyto(workspace, M)
    factor, info = dpotrf(workspace.T, lower=0, clean=0, overwrite_a=1)
    return float(np.min(factor.diagonal() ** 2 / M.diagonal())) if info == 0 else -np.inf


def is_positive_definite(M: NDArray[np.floating[Any]]) -> bool:
    """Whether M has a Cholesky factor whose pivots stand clear of rounding."""
    return smallest_pivot(M) > 4 * len(M) * float(np.finfo(float).eps)


def power_of_two_scale(diagonal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two d with d_i² diagonal_i in [1/2, 2]: scaling by them is free of rounding."""
    _, exponent = np.frexp(diagonal)
    scale: NDArray[np.float64] = np.ldexp(1.0, -(exponent // 2))
    return scale


def inverse(M: Matrix) -> Matrix:
    """Inverse of a positive definite matrix, exactly symmetric.

    Raises
    ------
    numpy.linalg.LinAlgError
        M has no Cholesky factor in double precision.
    """
    d = power_of_two_scale(M.diagonal())
    factor, info = dpotrf(M * d[:, None] * d, lower=1, clean=0)
    if info == 0:
        result, info = dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise np.linalg.LinAlgError("the matrix is not positive definite in double precision")
    lower = np.tril(result)
    full: Matrix = np.ascontiguousarray((lower + np.tril(lower, -1).T) * d[:, None] * d)
    return full
