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
from graphveil.solvers.kernels import kkt_error_norm, sparse_cholesky_prefix

__all__ = ["certify", "sparse_log_determinant"]


# Above this share of nonzero entries in Θ, ΘW costs more than a factorisation of W.
_SPARSE = 0.07
# A tolerance below this many roundings of the objectives is out of reach of their difference.
_FINE = 100.0
_EPS = float(np.finfo(float).eps)


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
    n = len(precision)
    logdet = sparse_log_determinant(precision, workspace)
    if logdet is None:
        return np.nan, np.inf
    # Every entry of W is rounded once, which no arithmetic below sees.
    rounding = _EPS * (size + n)
    cancelled = _EPS * (size + n + 2.0 * abs(logdet))
    if 2 * edges + n <= _SPARSE * n * n or allowed <= _FINE * cancelled:
        square, error = kkt_error_norm(precision, dual, workspace)
        r = float(np.sqrt(square + error)) if square + error >= 0.0 else np.nan
        if r < 1.0:
            most, least = -r - np.log1p(-r) + rounding, r - np.log1p(r)
            if most <= allowed or least > allowed:
                return logdet, float(most)
    dual_logdet = log_determinant(dual, workspace)
    if dual_logdet is None:
        return logdet, np.inf
    # Four numbers that cancel: what their rounding may hide belongs to the bound.
    rounding += _EPS * (abs(logdet) + abs(dual_logdet))
    return logdet, max(linear - logdet - dual_logdet - n, 0.0) + rounding


def sparse_log_determinant(M: Matrix, workspace: Matrix) -> float | None:
    """`log_determinant` of an M with many zeros: the variables with few neighbours are eliminated one by one."""
    logdet, left = sparse_cholesky_prefix(M, workspace)
    if left == 0 or np.isnan(logdet):
        return None if np.isnan(logdet) else logdet
    core = log_determinant_in_place(workspace.reshape(-1)[: left * left].reshape(left, left))
    return None if core is None else logdet + core
