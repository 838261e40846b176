"""The choice of a penalty by cross-validation, as the paper's tables have it."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphveil import _validation
from graphveil._linalg import log_determinant
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.solvers.problem import check_grid

__all__ = ["choose_alpha"]


def choose_alpha(
    rows: ArrayLike, alphas: ArrayLike, solver: Callable[[Matrix, Matrix], Iterable[Any]], *, folds: int = 5
) -> float:
    """Choose the penalty with the least held-out loss −log det Θ + tr(SΘ), as Bien and Tibshirani (2011) do.

    Each fold is left out once: Θ is fitted to the second moment X'X/n of the other rows, and judged by that of the
    fold. Rows are not centred, and folds are contiguous: permute rows whose order means something. The choice reads the
    rows and is not private; the estimators choose theirs on a release.

    Parameters
    ----------
    rows : array of shape (n, p)
    alphas : array of shape (k,)
        Penalties > 0 to choose from.
    solver : callable
        ``ridge_precision``, ``graphical_lasso_path``, or another function of a matrix and ``alphas`` that gives a
        precision matrix or a `Solution` for each of them.
    folds : int, default 5

    Returns
    -------
    float
        One of ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> import graphveil as gv
    >>> rows = gv.simulate.gaussian_rows(np.eye(5), 40, random_state=0)
    >>> gv.solvers.choose_alpha(rows, [1e-3, 0.1, 10.0], gv.solvers.ridge_precision)
    0.1
    """
    X = np.asarray(rows, dtype=np.float64)
    if X.ndim != 2:
        raise InvalidParameter.of("rows", "an array of shape (n, p)", f"one of {X.ndim} dimensions")
    grid = np.atleast_1d(check_grid(alphas, "alphas", "numbers > 0", zero_allowed=False))
    held_out = np.array_split(np.arange(len(X)), _validation.integer("folds", folds, 2, len(X)))
    losses = np.zeros(grid.size)
    for fold in held_out:
        test = _second_moment(X[fold])
        fits = solver(_second_moment(np.delete(X, fold, axis=0)), grid)
        losses += [_loss(getattr(fit, "precision", fit), test) for fit in fits]
    return float(grid[losses.argmin()])


def _second_moment(rows: Matrix) -> Matrix:
    return rows.T @ rows / len(rows)


def _loss(precision: Matrix, S: Matrix) -> float:
    logdet = log_determinant(precision)
    return np.inf if logdet is None else float(np.vdot(S, precision)) - logdet
