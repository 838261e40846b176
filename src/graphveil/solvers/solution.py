"""The result of a solver: the estimate and its certificate."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphveil._linalg import inverse
from graphveil._typing import Matrix

__all__ = ["Solution"]


@dataclass(frozen=True, eq=False)
class Solution:
    """A penalised precision matrix with its certificate.

    Attributes
    ----------
    precision : ndarray of shape (p, p)
        The estimate Θ: exactly symmetric, positive definite (its Cholesky factorisation exists), with exact zeros.
    objective : float
        F(Θ) = −log det Θ + tr(SΘ) + Σ alpha_ij |Θ_ij|.
    gap : float
        Upper bound on F(Θ) − min F, from the feasible point `dual`; never negative. Infinite when no feasible point is
        at hand, which only a solver stopped at a given number of iterations returns.
    dual : ndarray of shape (p, p)
        A positive definite W with |W_ij − S_ij| ≤ alpha_ij (equal to S_ii + alpha_ii on the diagonal). By weak
        duality log det W + p ≤ min F, so anybody can check `gap` with two Cholesky factorisations.
    n_iter : int
        Sweeps over the rows, or iterations.
    reason : str
        Why the solver stopped.
    converged : bool
        Whether it stopped near enough to the minimum; only one that did a given number of iterations may not.
    """

    precision: Matrix
    objective: float
    gap: float
    dual: Matrix
    n_iter: int
    reason: str
    converged: bool = True

    def __post_init__(self) -> None:
        self.precision.flags.writeable = False
        self.dual.flags.writeable = False

    @cached_property
    def covariance(self) -> Matrix:
        """The inverse of `precision` to rounding, exactly symmetric; computed when first asked for."""
        covariance = inverse(self.precision)
        covariance.flags.writeable = False
        return covariance

    @property
    def n_edges(self) -> int:
        """Pairs of variables that are joined: nonzero entries above the diagonal."""
        return int(np.count_nonzero(self.precision) - len(self.precision)) // 2

    def __getstate__(self) -> dict[str, Any]:
        # The covariance is cheaper to compute again than to store.
        return {name: value for name, value in self.__dict__.items() if name != "covariance"}

    def __repr__(self) -> str:
        return (
            f"Solution(p={len(self.precision)}, edges={self.n_edges}, objective={self.objective:.6g}, "
            f"gap={self.gap:.2g}, n_iter={self.n_iter}, reason={self.reason!r})"
        )
