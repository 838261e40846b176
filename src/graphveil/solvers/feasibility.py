"""Decides whether the graphical lasso has a minimiser, with a point that proves it or a direction that disproves it.

Let the box be all symmetric W with W_ii = S_ii and |W_ij − S_ij| ≤ A_ij (the diagonal's penalty is part of S_ii). It is
compact and convex, so exactly one of these holds:

1. some W in the box is positive definite: the dual has a strictly feasible point and the primal a minimiser;
2. some D ⪰ 0, D ≠ 0 separates the box from the cone: max over the box of tr(DW) = tr(SD) + Σ A_ij |D_ij| ≤ 0. Then
   F(Θ + tD) ≤ F(Θ) − log det(I + tΘ⁻¹D) falls without bound as t grows.

Most problems are decided by matrices in the box that need no search. For the others the Douglas–Rachford iteration

    X = projection of Z on the cone,  Y = projection of 2X − Z on the box,  Z ← Z + Y − X

is run for a bounded number of eigendecompositions. In case 1 its Y enters the cone. In case 2 the steps Y − X tend to
the shortest vector between the two sets, Z runs off along it, and X − Z ⪰ 0, the part of Z that the cone lacks, turns
into a D. Projections in turn find the same two proofs ten times more slowly; an eigenvector alone is hardly ever a D.

References
----------
Bauschke, Combettes, Luke (2004). Finding best approximation pairs relative to two closed convex sets in Hilbert
spaces. Journal of Approximation Theory 127.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from graphveil._linalg import is_positive_definite, smallest_pivot
from graphveil._typing import Matrix
from graphveil.exceptions import UnboundedProblem
from graphveil.solvers.kernels import COMFORTABLE, soft_threshold_share
from graphveil.solvers.problem import Problem

__all__ = [
    "Recession",
    "interior_point",
    "negative_variance",
    "point_in_box",
    "point_outside",
    "raise_if_unbounded",
    "raise_unbounded",
    "recession_value",
    "safe_shift",
    "soft_threshold",
]


# Noise on a correlation matrix is decided in 1 to 10 decompositions, within 5% of the boundary in 20 to 50.
_MAX_DECOMPOSITIONS = 120
# How far to go from S towards its diagonal inside the box: where the least of them is indefinite so is S, and mostly
# the others are too. By what to shrink, step by step, outside it.
_LEAST = 0.01
_SHARES = (1.0, 0.5, _LEAST, 0.25, 0.1, 0.03)
_OUTWARDS = (0.9, 0.9, 0.75, 0.5, 0.0)
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Recession:
    """No minimiser: `direction` is the D of the module's docstring, of trace one, and `value` its tr(SD) + Σ A|D|."""

    direction: Matrix
    value: float


def negative_variance(S: Matrix) -> Recession:
    """The certificate e_i e_i' of a diagonal entry S_ii ≤ 0."""
    i = int(S.diagonal().argmin())
    direction = np.zeros_like(S)
    direction[i, i] = 1.0
    return Recession(direction, float(S[i, i]))


def soft_threshold(S: Matrix, penalty: Matrix) -> Matrix:
    """The matrix of the box with the smallest entries: each S_ij moved towards 0 by penalty_ij."""
    return S - np.clip(S, -penalty, penalty)


def recession_value(S: Matrix, penalty: Matrix, D: Matrix) -> tuple[float, float]:
    """tr(SD) + Σ penalty |D|, and a bound on its rounding error."""
    size = np.abs(D)
    linear, penal = float(np.vdot(S, D)), float(np.vdot(penalty, size))
    return linear + penal, len(S) * _EPS * (float(np.vdot(np.abs(S), size)) + penal)


def interior_point(S: Matrix, penalty: Matrix) -> Matrix | Recession | None:
    """A positive definite point of the box, a proof that there is none, or None when neither was found.

    A value of zero to rounding counts as a proof: within rounding of S there is then a matrix without a minimiser.
    """
    found = point_in_box(S, penalty, np.empty_like(S), np.empty_like(S))
    return found if found is not None else _pair_proof(S, penalty) or _douglas_rachford(S, penalty, _MAX_DECOMPOSITIONS)


def point_in_box(S: Matrix, limits: Matrix, point: Matrix, workspace: Matrix) -> Matrix | None:
    """A positive definite point of the box that needs no search, written into ``point``, or None.

    (1 − c) S + c diag S, as far as the box allows: c = 1 is nearest to the solution, small c are definite whenever S
    is semidefinite. A start that is nearly singular makes the first sweep slow.
    """
    best, pivot = 0.0, -np.inf
    for c in _SHARES:
        soft_threshold_share(S, limits, c, point)
        smallest = smallest_pivot(point, workspace)
        if smallest > COMFORTABLE and c != _LEAST:
            return point
        if smallest > pivot:
            best, pivot = c, smallest
        if c == _LEAST and np.isinf(smallest):
            break
    soft_threshold_share(S, limits, best, point)
    return point if pivot > 4 * len(S) * _EPS else None


def point_outside(S: Matrix, limits: Matrix, point: Matrix, workspace: Matrix) -> Matrix:
    """The soft-thresholded S drawn on towards its diagonal, out of the box, until it is positive definite."""
    soft_threshold_share(S, limits, 1.0, point)
    for factor in _OUTWARDS:
        point *= factor
        np.fill_diagonal(point, S.diagonal())
        if smallest_pivot(point, workspace) > COMFORTABLE:
            break
    return point


def _proof(S: Matrix, penalty: Matrix, D: Matrix) -> Recession | None:
    """D ⪰ 0 as a certificate, if it is one."""
    D = D / np.trace(D)
    value, rounding = recession_value(S, penalty, D)
    return Recession(D, value) if value <= rounding else None


def _pair_proof(S: Matrix, penalty: Matrix) -> Recession | None:
    """Two variables with |S_ij| − A_ij ≥ √(S_ii S_jj) have no positive definite W of their own."""
    root, shrunken = np.sqrt(S.diagonal()), soft_threshold(S, penalty)
    excess = np.abs(shrunken) / root[:, None] / root
    np.fill_diagonal(excess, 0.0)
    i, j = divmod(int(excess.argmax()), len(S))
    if excess[i, j] < 1.0:
        return None
    v = np.zeros(len(S))
    v[i], v[j] = root[j], -np.sign(shrunken[i, j]) * root[i]
    return _proof(S, penalty, np.outer(v, v))


def _douglas_rachford(S: Matrix, penalty: Matrix, decompositions: int) -> Matrix | Recession | None:
    lower, upper = S - penalty, S + penalty
    Y: Matrix
    Z = S
    for _ in range(decompositions):
        values, vectors = np.linalg.eigh(Z)
        # Eigenvalues within rounding of zero count as the null space that they are.
        rounding = len(S) * _EPS * abs(values[-1])
        outside = values <= rounding
        half = vectors[:, outside] * np.sqrt(rounding - values[outside])
        lacking = half @ half.T
        proof = _proof(S, penalty, lacking) if outside.any() else None
        if proof is not None:
            return proof
        X = Z + lacking
        Y = np.clip(X + lacking, lower, upper)
        for candidate in (Y, np.clip(X, lower, upper)):
            if is_positive_definite(candidate):
                return candidate
        Z = Z + Y - X
    return None


def safe_shift(S: Matrix, penalty: Matrix, units: Matrix) -> float:
    """A small s ≥ 0 for which penalty + s·units (its diagonal added to S) is known to have a minimiser.

    By bisection, first on points of the box that need no search, then with a few steps of one. Not the smallest there
    is: a problem at the very edge has a minimiser that no algorithm reaches.
    """
    off = units - np.diag(units.diagonal())
    values, vectors = np.linalg.eigh(S)
    half = vectors * np.sqrt(np.maximum(values, 0.0) + 0.02 * np.abs(values).max())
    lifted = half @ half.T

    def box(s: float) -> tuple[Matrix, Matrix]:
        return S + s * np.diag(units.diagonal()), penalty + s * off

    def without_search(s: float) -> bool:
        shifted, wide = box(s)
        near = np.clip(lifted, shifted - wide, shifted + wide)
        return max(smallest_pivot(soft_threshold(shifted, wide)), smallest_pivot(near)) > COMFORTABLE

    def with_search(s: float) -> bool:
        shifted, wide = box(s)
        return bool(np.all(shifted.diagonal() > 0)) and isinstance(_douglas_rachford(shifted, wide, 3), np.ndarray)

    high = 1e-3 * (float(np.abs(S).max()) or 1.0) / float(units.max())
    while not without_search(high):
        high *= 2.0
    high = _bisect(without_search, 0.0, high, 12)
    # One tenth on top: what the search finds first is a point at the edge.
    return min(high, 1.1 * _bisect(with_search, 0.0, high, 4))


def _bisect(holds: Callable[[float], bool], low: float, high: float, rounds: int) -> float:
    """The least point tried at which ``holds`` is true, given that it is at ``high``."""
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


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
            advice = f"A minimiser is known to exist for alpha ≥ {safe:.6g}."
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
