"""The objective of the graphical lasso, its dual, and the gap of a point.

Primal: min over Θ ≻ 0 of F(Θ) = −log det Θ + tr(SΘ) + Σ_ij A_ij |Θ_ij|.

Dual: max over W ≻ 0 of log det W + p, with |W_ij − S_ij| ≤ A_ij off the diagonal and W_ii = S_ii + A_ii. A_ii is alpha
when the diagonal is penalised and 0 when not.

References
----------
Banerjee, El Ghaoui, d'Aspremont (2008). Model selection through sparse maximum likelihood estimation. JMLR 9.
"""

import numpy as np
from numpy.typing import ArrayLike

from graphveil._linalg import inverse, log_determinant
from graphveil._typing import Matrix
from graphveil.solvers.problem import Problem, check_penalty, check_symmetric

__all__ = ["alpha_max", "dual_objective", "duality_gap", "kkt_residual", "objective"]


def _problem(S: ArrayLike, alpha: ArrayLike, penalize_diagonal: bool) -> Problem:
    S = check_symmetric(S)
    return Problem.of(S, check_penalty(alpha, len(S)), penalize_diagonal)


def _scale(precision: ArrayLike, problem: Problem) -> Matrix:
    return check_symmetric(precision, "precision") / problem.scale[:, None] / problem.scale


def objective(precision: ArrayLike, S: ArrayLike, alpha: ArrayLike, *, penalize_diagonal: bool = True) -> float:
    """F(Θ); infinite where Θ is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from graphveil.solvers.objectives import objective
    >>> objective(np.eye(2), np.eye(2), 0.5)
    3.0
    """
    problem = _problem(S, alpha, penalize_diagonal)
    return scaled_objective(_scale(precision, problem), problem)


def scaled_objective(precision: Matrix, problem: Problem) -> float:
    """F in the caller's units, of a precision matrix in scaled units."""
    logdet = log_determinant(precision)
    if logdet is None:
        return np.inf
    linear = float(np.vdot(problem.S, precision) + np.vdot(problem.penalty, np.abs(precision)))
    return linear - logdet - 2.0 * float(np.log(problem.scale).sum())


def dual_objective(
    W: ArrayLike, S: ArrayLike, alpha: ArrayLike, *, penalize_diagonal: bool = True, rounding: float = 1e-12
) -> float:
    """Log det W + p, or −inf where W is not feasible.

    ``rounding`` is how far outside the box an entry may be, relative to the geometric mean of the two variances.
    """
    problem = _problem(S, alpha, penalize_diagonal)
    W = check_symmetric(W, "W") * problem.scale[:, None] * problem.scale
    outside = np.abs(W - problem.S) - problem.penalty
    logdet = log_determinant(W)
    if logdet is None or outside.max() > rounding * (1 + np.abs(problem.S).max()):
        return -np.inf
    return logdet - 2.0 * float(np.log(problem.scale).sum()) + len(problem)


def duality_gap(
    precision: ArrayLike, W: ArrayLike, S: ArrayLike, alpha: ArrayLike, *, penalize_diagonal: bool = True
) -> float:
    """F(Θ) minus the dual value of W: an upper bound on F(Θ) − min F by weak duality."""
    primal = objective(precision, S, alpha, penalize_diagonal=penalize_diagonal)
    return primal - dual_objective(W, S, alpha, penalize_diagonal=penalize_diagonal)


def kkt_residual(precision: ArrayLike, S: ArrayLike, alpha: ArrayLike, *, penalize_diagonal: bool = True) -> float:
    """Largest violation of Θ⁻¹ ∈ S + A ∂|Θ|, in units of the variances (so that it does not depend on scale).

    Where Θ_ij ≠ 0 the residual is |Θ⁻¹_ij − S_ij − A_ij sign Θ_ij|; where Θ_ij = 0 it is what |Θ⁻¹_ij − S_ij| exceeds
    A_ij by. Zero exactly at the minimiser; infinite where Θ is not positive definite.
    """
    problem = _problem(S, alpha, penalize_diagonal)
    theta = _scale(precision, problem)
    try:
        slack = inverse(theta) - problem.S
    except np.linalg.LinAlgError:
        return np.inf
    at_edge = np.abs(slack - problem.penalty * np.sign(theta))
    inside = np.maximum(np.abs(slack) - problem.penalty, 0.0)
    return float(np.where(theta != 0, at_edge, inside).max())


def alpha_max(S: ArrayLike) -> float:
    """The smallest penalty from which on the solution has no edge: the largest |S_ij| off the diagonal.

    Examples
    --------
    >>> from graphveil.solvers.objectives import alpha_max
    >>> alpha_max([[1.0, -0.3], [-0.3, 2.0]])
    0.3
    """
    off = np.abs(check_symmetric(S))
    np.fill_diagonal(off, 0.0)
    return float(off.max())
