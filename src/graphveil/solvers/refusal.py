"""The error for a problem without a minimiser: its certificate, and an alpha that has one."""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from graphveil.exceptions import UnboundedProblem
from graphveil.solvers.feasibility import Recession, interior_point, negative_variance, safe_shift
from graphveil.solvers.problem import Problem

__all__ = ["raise_if_unbounded", "raise_unbounded"]

Matrix = NDArray[np.float64]


def raise_if_unbounded(problem: Problem, alpha: float | Matrix, penalize_diagonal: bool) -> None:
    """For solvers that only notice that they do not converge: raise if that is because there is no minimiser."""
    found = interior_point(problem.S, problem.penalty) if problem.diagonal_is_positive else negative_variance(problem.S)
    if isinstance(found, Recession):
        raise_unbounded(found, problem, alpha, penalize_diagonal)


def raise_unbounded(recession: Recession, problem: Problem, alpha: float | Matrix, penalize_diagonal: bool) -> NoReturn:
    """Raise `UnboundedProblem` with ``certificate``, ``recession`` and ``safe_alpha`` in the caller's units."""
    d = problem.scale
    units = d[:, None] * d
    if not penalize_diagonal:
        np.fill_diagonal(units, 0.0)
    safe: float | Matrix | None = None
    advice = "No alpha helps while a variance is not positive: drop that variable, or penalise the diagonal."
    if problem.diagonal_is_positive or penalize_diagonal:
        shift = safe_shift(problem.S, problem.penalty, units)
        safe = alpha + shift
        advice = f"Adding {shift:.6g} to every entry of alpha is known to be enough."
        if isinstance(safe, float):
            advice = f"A minimiser is known to exist from alpha = {safe:.6g} on."
    error = UnboundedProblem(
        "No minimiser exists: the objective falls without bound along a positive semidefinite direction, because S is "
        f"not positive definite and alpha is too small to make up for it. {advice}"
    )
    direction = problem.to_user_units(recession.direction)
    trace = float(np.trace(direction))
    error.certificate = direction / trace
    error.recession = recession.value / trace
    error.safe_alpha = safe
    raise error
