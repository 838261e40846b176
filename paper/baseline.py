"""The paper's non-private baseline: λ by five-fold cross-validation of the negative log-likelihood.

Bien and Tibshirani (2011), Biometrika 98, section 5: the rows are split into parts; for each part Θ is fitted to the
other rows, and its likelihood is taken on the part. It reads the raw rows, so a λ chosen this way is not private.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import graphveil as gv
from paper.settings import FOLDS

Matrix = NDArray[np.float64]


def second_moment(rows: Matrix) -> Matrix:
    """S = X'X/n of rows."""
    return rows.T @ rows / len(rows)


def ridge_penalty(rows: Matrix, grid: NDArray[np.float64], rng: np.random.Generator) -> float:
    """The λ of the ridge estimator, equation 3.1."""
    losses = np.zeros(grid.size)
    for kept, held_out in _folds(rows, rng):
        # In the eigenvectors of S all λ share one decomposition, and the loss needs no matrix.
        phi, M = np.linalg.eigh(second_moment(kept))
        theta = 2 / (phi.clip(0) + np.sqrt(phi.clip(0) ** 2 + 8 * grid[:, None]))
        losses += (theta * ((held_out @ M) ** 2).mean(axis=0) - np.log(theta)).sum(axis=1)
    return float(grid[losses.argmin()])


def lasso_penalty(rows: Matrix, grid: NDArray[np.float64], rng: np.random.Generator) -> float:
    """The λ of the graphical lasso, equation 1.2, each fit solved to a certified gap."""
    losses = np.zeros(grid.size)
    for kept, held_out in _folds(rows, rng):
        path = gv.solvers.graphical_lasso_path(second_moment(kept), grid, tol=1e-4)
        test = second_moment(held_out)
        losses += [gv.metrics.negative_log_likelihood(solution.precision, test) for solution in path]
    return float(grid[losses.argmin()])


def _folds(rows: Matrix, rng: np.random.Generator) -> Iterator[tuple[Matrix, Matrix]]:
    for held_out in np.array_split(rng.permutation(len(rows)), FOLDS):
        yield np.delete(rows, held_out, axis=0), rows[held_out]
