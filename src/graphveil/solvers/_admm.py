"""The paper's own algorithm: alternating directions (equations 2.7 to 2.9), with both steps in closed form.

Kept for fidelity and for the reproduction; `graphveil.solvers.graphical_lasso` solves the same problem 20 to 100 times
faster.

References
----------
Boyd, Parikh, Chu, Peleato, Eckstein (2011). Distributed optimization and statistical learning via the alternating
direction method of multipliers. Foundations and Trends in Machine Learning 3. Sections 3.3, 3.4 and 6.5.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphveil import _validation
from graphveil._linalg import log_determinant
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter, NotConverged
from graphveil.solvers._quadratic_root import QuadraticRoot
from graphveil.solvers.feasibility import raise_if_unbounded, soft_threshold
from graphveil.solvers.problem import Problem, check_penalty, check_symmetric
from graphveil.solvers.solution import Solution

__all__ = ["admm"]


# Boyd et al., section 3.4.1: change rho by 2 when one residual is 10 times the other.
_IMBALANCE, _FACTOR = 10.0, 2.0
_TOL = 1e-6


def admm(
    S: ArrayLike,
    alpha: ArrayLike,
    rho: float = 1.0,
    *,
    penalize_diagonal: bool = True,
    adaptive: bool = False,
    relaxation: float = 1.0,
    tol: float | None = _TOL,
    max_iter: int = 2000,
    start: tuple[ArrayLike, ArrayLike] | None = None,
) -> Solution:
    """Minimise −log det Θ + tr(SΘ) + Σ α_ij |Θ_ij| by alternating directions.

        Θ ← argmin over Θ of −log|Θ| + tr(SΘ) + ρ/2 ‖Θ − Z + U‖²_F
        Z ← argmin over Z of α‖Z‖₁ + ρ/2 ‖Θ − Z + U‖²_F
        U ← U + Θ − Z

    With ρ(Z − U) − S = QδQ' the first is Q diag((δ_i + √(δ_i² + 4ρ)) / 2ρ) Q', the second soft thresholding at α/ρ.

    Parameters
    ----------
    S, alpha, penalize_diagonal
        As in `graphical_lasso`.
    rho : float > 0
        The step ρ. It has the units of S squared: about the square of a typical eigenvalue works.
    adaptive : bool, default False
        Balance the two residuals by doubling and halving ρ (Boyd et al., section 3.4.1).
    relaxation : float in (0, 2), default 1
        Over-relaxation; 1 is plain, 1.5 to 1.8 is often faster.
    tol : float > 0 or None
        Stop by Boyd's residuals with both tolerances equal to ``tol``. None: do exactly ``max_iter`` iterations;
        ``converged`` of the result says whether the residuals are then within 1e-6.
    max_iter : int
        Most iterations.
    start : (Z, U), optional
        Where to begin; zeros by default.

    Returns
    -------
    Solution
        `precision` is Z, the sparse iterate. Where Z is not positive definite, which only ``tol=None`` can give, it is
        Θ, which always is and has no zeros.

    Raises
    ------
    NotConverged
        The residuals are above ``tol`` after ``max_iter`` iterations.
    UnboundedProblem
        The same, and no minimiser exists; see `graphical_lasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphveil.solvers import admm, graphical_lasso
    >>> S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> ours, theirs = graphical_lasso(S, 0.2, tol=1e-12).precision, admm(S, 0.2, tol=1e-9).precision
    >>> bool(np.allclose(ours, theirs, atol=1e-7))
    True
    """
    S = check_symmetric(S)
    p = len(S)
    penalty = check_penalty(alpha, p)
    rho = _validation.number("rho", rho, "a finite number > 0", 0.0, np.inf, open_ends=True)
    relaxation = _validation.number("relaxation", relaxation, "a number in (0, 2)", 0.0, 2.0, open_ends=True)
    if tol is not None:
        tol = _validation.number("tol", tol, "None or a finite number > 0", 0.0, np.inf, open_ends=True)
    max_iter = _validation.integer("max_iter", max_iter, 1)
    Z, U = (np.zeros_like(S), np.zeros_like(S))
    if start is not None:
        Z, U = check_symmetric(start[0], "start[0]"), check_symmetric(start[1], "start[1]")
        if Z.shape != S.shape or U.shape != S.shape:
            raise InvalidParameter.of("start", f"two matrices of shape {S.shape}", f"shapes {Z.shape} and {U.shape}")
    threshold = np.full(S.shape, penalty) if isinstance(penalty, float) else penalty.copy()
    if not penalize_diagonal:
        np.fill_diagonal(threshold, 0.0)
    for step in _iterate(S, threshold, rho, Z, U, adaptive=adaptive, relaxation=relaxation):
        if tol is not None and step.has_converged(tol):
            return _solution(step, S, threshold, f"Boyd's residuals are within tol = {tol:g}")
        if step.k == max_iter:
            break
    if tol is None:
        return _solution(step, S, threshold, "the given number of iterations is done", step.has_converged(_TOL))
    raise_if_unbounded(Problem.of(S, penalty, penalize_diagonal), penalty, penalize_diagonal)
    raise NotConverged(
        f"The residuals are above tol = {tol:g} after max_iter = {max_iter} iterations. Raise max_iter or tol, try "
        "another rho or adaptive=True, or use graphical_lasso, which certifies its answer."
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """One iteration: the three variables, ρ, and the norms that Boyd's criterion compares."""

    k: int
    theta: Matrix
    Z: Matrix
    U: Matrix
    rho: float
    primal: float
    dual: float

    def has_converged(self, tol: float) -> bool:
        absolute = len(self.Z) * tol
        primal = absolute + tol * max(float(np.linalg.norm(self.theta)), float(np.linalg.norm(self.Z)))
        dual = absolute + tol * self.rho * float(np.linalg.norm(self.U))
        return self.primal <= primal and self.dual <= dual


def _iterate(
    S: Matrix, threshold: Matrix, rho: float, Z: Matrix, U: Matrix, *, adaptive: bool, relaxation: float
) -> Iterator[_Step]:
    k, root = 0, QuadraticRoot()
    while True:
        k += 1
        theta = root(rho * (Z - U) - S, rho)
        relaxed = theta if relaxation == 1 else relaxation * theta + (1 - relaxation) * Z
        previous, Z = Z, soft_threshold(relaxed + U, threshold / rho)
        U = U + relaxed - Z
        primal = float(np.linalg.norm(theta - Z))
        dual = rho * float(np.linalg.norm(Z - previous))
        yield _Step(k, theta, Z, U, rho, primal, dual)
        if adaptive and max(primal, dual) > _IMBALANCE * min(primal, dual):
            change = _FACTOR if primal > dual else 1 / _FACTOR
            rho *= change
            U = U / change


def _solution(step: _Step, S: Matrix, threshold: Matrix, reason: str, converged: bool = True) -> Solution:
    precision, logdet = step.Z, log_determinant(step.Z)
    if logdet is None:
        precision, logdet = step.theta, log_determinant(step.theta)
    if logdet is None:
        raise NotConverged("The iterate is singular in double precision. Raise alpha, or scale the variables of S.")
    objective = float(np.vdot(S, precision) + np.vdot(threshold, np.abs(precision))) - logdet
    # ρU is what soft thresholding cut off, hence in the box; at the solution S + ρU inverts Θ.
    W = S + np.clip(step.rho * step.U, -threshold, threshold)
    np.fill_diagonal(W, S.diagonal() + threshold.diagonal())
    bound = log_determinant(W)
    gap = np.inf if bound is None else max(objective - bound - len(S), 0.0)
    return Solution(precision, objective, gap, W, step.k, reason, converged)
