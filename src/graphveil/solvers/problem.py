"""The arguments of every solver, checked once, and the same problem in variables of unit scale."""

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil import _validation
from graphveil._linalg import power_of_two_scale
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.solvers.kernels import COMPARABLE, is_symmetric, symmetrise

__all__ = ["Problem", "all_penalties", "check_grid", "check_penalty", "check_symmetric"]


def check_symmetric(value: ArrayLike, name: str = "S") -> Matrix:
    """``value`` as a square, finite, exactly symmetric matrix, not to be written to: it may be the caller's own.

    Asymmetry of the size of rounding is averaged away, more is refused.
    """
    M = None
    with suppress(TypeError, ValueError):  # the error below carries no context: numpy's would quote an entry
        M = np.ascontiguousarray(value, dtype=np.float64)
    if M is None:
        raise InvalidParameter(f"{name} must be a matrix of real numbers, such as estimate.covariance; it is not.")
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.shape[0] == 0:
        raise InvalidParameter.of(name, "a square matrix with at least one row", f"shape {M.shape}")
    if not M.flags.writeable:  # the compiled signature takes no read-only array
        M = M.copy()
    if is_symmetric(M):
        return M
    mean = np.empty_like(M)
    asymmetry = symmetrise(M, mean)
    if np.isnan(asymmetry):
        raise InvalidParameter(f"{name} must be finite; it holds NaN or infinity. Impute or drop those variables.")
    if asymmetry > 1e-10:
        raise InvalidParameter(f"{name} must be symmetric. If it should be, pass ({name} + {name}.T) / 2.")
    return mean


def check_grid(values: Any, name: str, rule: str, *, zero_allowed: bool) -> Matrix:
    """A finite number, or a non-empty one-dimensional array of them, none negative."""
    grid = np.full((1, 1), np.nan)
    with suppress(TypeError, ValueError):
        grid = np.array(values, dtype=np.float64)
    if grid.ndim > 1 or not grid.size or not np.isfinite(grid).all() or grid.min() < 0:
        raise InvalidParameter.of(name, rule, values)
    if not zero_allowed and not (grid > 0).all():
        raise InvalidParameter.of(name, rule, values)
    return grid


def check_penalty(alpha: Any, p: int) -> float | Matrix:
    """A finite number ≥ 0, or a symmetric matrix of them."""
    if isinstance(alpha, float) or np.ndim(alpha) == 0:  # the type first: numpy takes a microsecond to tell
        number = alpha.item() if isinstance(alpha, np.ndarray) else alpha
        rule = "a finite number ≥ 0 or a symmetric matrix of them"
        return _validation.number("alpha", number, rule, 0.0, sys.float_info.max)
    penalty = check_symmetric(alpha, "alpha")
    if penalty.shape != (p, p):
        raise InvalidParameter.of("alpha", f"a number or a matrix of shape {(p, p)}", f"shape {penalty.shape}")
    if penalty.min() < 0:
        raise InvalidParameter.of("alpha", "≥ 0 in every entry", f"a smallest entry of {penalty.min():.3g}")
    return penalty


def all_penalties(limits: Matrix, p: int) -> Matrix:
    """The p × p matrix of penalties, with a zero diagonal, that `Problem.limits` stand for."""
    penalty = np.broadcast_to(limits, (p, p)).copy()
    np.fill_diagonal(penalty, 0.0)
    return penalty


@dataclass(frozen=True, eq=False)
class Problem:
    """min −log det Θ + tr(SΘ) + Σ penalty_ij |Θ_ij| over Θ ≻ 0, with the diagonal's penalty folded into S.

    Θ_ii > 0, so a penalty on the diagonal is linear: it adds to S_ii. Variables whose variances are far from one or
    from each other are then scaled by powers of two d to variances in [1/2, 2]: with S → d S d and penalty →
    d penalty d the solution is Θ → Θ / (d d'), without rounding. So units make no difference to what can be solved.

    Attributes
    ----------
    S : ndarray of shape (p, p)
        In scaled units.
    limits : ndarray of shape (p, p) or (1, p)
        The penalties, in scaled units; one row where all are the same. Their diagonal means nothing.
    scale : ndarray of shape (p,)
        The d above.
    diagonal_is_positive : bool
        False means that no minimiser exists, whatever the other entries; the matrices are then not scaled.
    """

    S: Matrix
    limits: Matrix
    scale: NDArray[np.float64]
    diagonal_is_positive: bool

    @classmethod
    def of(cls, S: Matrix, alpha: float | Matrix, penalize_diagonal: bool) -> "Problem":
        """From checked arguments."""
        # Sparse problems are as fast as memory is: a matrix of equal numbers is not read again and again.
        limits = np.full((1, len(S)), alpha) if isinstance(alpha, float) else alpha
        folded = S
        if penalize_diagonal:
            folded = S.copy()
            np.fill_diagonal(folded, S.diagonal() + (alpha if isinstance(alpha, float) else alpha.diagonal()))
        if not np.all(folded.diagonal() > 0):
            return cls(folded, limits, np.ones(len(S)), False)
        d = np.ones(len(S))
        if not (folded.diagonal().min() >= 1.0 / COMPARABLE and folded.diagonal().max() <= COMPARABLE):
            d = power_of_two_scale(folded.diagonal())
            with np.errstate(over="ignore"):
                folded = folded * d[:, None] * d
                limits = limits * d[:, None] * d
            if not (np.isfinite(folded).all() and np.isfinite(limits).all()):
                raise InvalidParameter(
                    "S must hold variables of comparable scale: after scaling them to unit variance an entry of S or "
                    "alpha overflows. Drop the variables of almost no variance, or penalise the diagonal."
                )
        return cls(folded, limits, d, True)

    @cached_property
    def penalty(self) -> Matrix:
        """All penalties, with a zero diagonal."""
        return all_penalties(self.limits, len(self))

    def to_user_units(self, M: Matrix) -> Matrix:
        """A precision-like matrix (or a direction of recession) in the units of the caller's S."""
        return M if self.is_unscaled else M * self.scale[:, None] * self.scale

    def covariance_to_user_units(self, M: Matrix) -> Matrix:
        """A covariance-like matrix in the units of the caller's S."""
        return M if self.is_unscaled else M / self.scale[:, None] / self.scale

    @property
    def is_unscaled(self) -> bool:
        """Whether the caller's variables had about unit variance, so that no copy is needed."""
        return bool(np.all(self.scale == 1.0))

    def __len__(self) -> int:
        return len(self.S)
