"""How far a pair of points is from optimal, from one sparse factorisation.

Let W lie on the side of the box that complements Θ, so that tr(SΘ) + Σ A|Θ| = tr(WΘ), and let Θ ≻ 0. E = ΘW − I has the
eigenvalues of the symmetric Θ^½WΘ^½ − I, real numbers e_i, and the duality gap is

    tr(WΘ) − log det Θ − log det W − p = Σ_i e_i − log(1 + e_i).

With r² = tr(E²) = Σ e_i² no |e_i| exceeds r. If r < 1 then W ≻ 0, and the sum is largest when all of r² is in one
eigenvalue −r: the gap is at most −r − log(1 − r). So W need not be factored. Nothing cancels here, unlike in the
difference of the two objectives, which is about r²/2.
"""

import numpy as np

from graphveil._linalg import log_determinant, log_determinant_in_place
from graphveil._typing import Matrix
from graphveil.solvers.kernels import bound_by_objectives, bound_by_residual, sparse_cholesky_prefix

__all__ = ["certify", "sparse_log_determinant"]


def certify(
    precision: Matrix, dual: Matrix, linear: float, size: float, edges: int, allowed: float, workspace: Matrix
) -> tuple[float, float]:
    """Log det Θ, and a bound on the gap; it is infinite where Θ or W is not positive definite.

    Parameters
    ----------
    precision, dual : matrices
        Θ and W.
    linear : float
        Tr(WΘ).
    size : float
        Σ |W_ij Θ_ij|, which is larger where the two are badly conditioned.
    edges : int
        Nonzero entries of Θ above the diagonal.
    allowed : float
        The gap that matters: a bound on the same side of it as the gap itself is good enough.
    workspace : matrix
        Overwritten.
    """
    logdet = sparse_log_determinant(precision, workspace)
    if logdet is None:
        return np.nan, np.inf
    decided, gap = bound_by_residual(precision, dual, logdet, size, edges, allowed, workspace)
    if decided:
        return logdet, gap
    dual_logdet = log_determinant(dual, workspace)
    if dual_logdet is None:
        return logdet, np.inf
    return logdet, bound_by_objectives(linear, size, logdet, dual_logdet, len(precision))


def sparse_log_determinant(M: Matrix, workspace: Matrix) -> float | None:
    """`log_determinant` of an M with many zeros: the variables with few neighbours are eliminated one by one."""
    logdet, left = sparse_cholesky_prefix(M, workspace)
    if left == 0 or np.isnan(logdet):
        return None if np.isnan(logdet) else logdet
    core = log_determinant_in_place(workspace.reshape(-1)[: left * left].reshape(left, left))
    return None if core is None else logdet + core
