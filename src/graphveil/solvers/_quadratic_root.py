"""The Θ step of the alternating directions: the positive definite root of ρΘ² − MΘ − I = 0, from one M to the next.

In the eigenvectors of M it is (δ_i + √(δ_i² + 4ρ)) / 2ρ. From one iteration to the next M
turns little, and a product of two matrices costs a twenty-fifth of an eigendecomposition (measured at p = 100). So the
last eigenvectors Q are kept: H = Q'MQ is nearly diagonal, and Newton's method with the derivative at its diagonal,

    X ← X + (2I + HX + XH − 2ρX²) / (r_i + r_j),  r_i = √(h_ii² + 4ρ),

gains a factor of about 2√ρ / ‖H − diag H‖ in every step. It starts from the first-order
perturbation of the root (Daleckii and Krein), which is usually good to ten digits already.
"""

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Matrix

__all__ = ["QuadraticRoot"]


_WORTHWHILE = 20  # columns; for fewer, an eigendecomposition costs less than the calls that avoid it
_NEAR = 0.1  # of the distance 2√ρ at which the correction would no longer contract
_MOST_CORRECTIONS = 4
_ACCURACY = 1e-11  # size of the last correction, after which the next one would be far below rounding


class QuadraticRoot:
    """Solves ρΘ² − MΘ − I = 0 for a sequence of symmetric M, with an eigendecomposition only where M has turned."""

    def __init__(self) -> None:
        self._Q: Matrix | None = None

    def __call__(self, M: Matrix, rho: float) -> Matrix:
        """The positive definite root Θ, exactly symmetric."""
        if self._Q is not None and len(M) >= _WORTHWHILE:
            nearby = _correct_diagonal_root(self._Q.T @ M @ self._Q, rho)
            if nearby is not None:
                theta = self._Q @ nearby @ self._Q.T
                return np.asarray((theta + theta.T) / 2)
        values, self._Q = np.linalg.eigh(M)
        half = self._Q * np.sqrt(_root(values, rho))
        return np.asarray(half @ half.T)


def _root(values: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    # Two forms of the same root: neither cancels on its own side of zero.
    size = np.hypot(values, 2 * np.sqrt(rho))
    return np.asarray(np.where(values < 0, 2 / (size + np.abs(values)), (values + size) / (2 * rho)))


def _correct_diagonal_root(H: Matrix, rho: float) -> Matrix | None:
    """The root for a nearly diagonal H; None where H is not, or the corrections do not become small."""
    diagonal = H.diagonal().copy()
    if np.linalg.norm(H - np.diag(diagonal)) > _NEAR * 2 * np.sqrt(rho):
        return None
    size = np.hypot(diagonal, 2 * np.sqrt(rho))
    weight = 1 / np.add.outer(size, size)
    X: Matrix = (1 + np.add.outer(diagonal, diagonal) * weight) / (2 * rho) * H
    np.fill_diagonal(X, _root(diagonal, rho))
    for _ in range(_MOST_CORRECTIONS):
        change = H @ X
        change = change + change.T
        change -= (2 * rho) * (X @ X)
        change[np.diag_indices_from(change)] += 2
        change *= weight
        X += change
        if np.linalg.norm(change) <= _ACCURACY * np.linalg.norm(X):
            return X
    return None
