"""The ridge precision matrix in closed form (equation 3.1 of the paper), with or without a target.

References
----------
Kuismin, Kemppainen, Sillanpää (2017). Precision matrix estimation with ROPE. JCGS 26.
van Wieringen, Peeters (2016). Ridge estimation of inverse covariance matrices from high-dimensional data. CSDA 103.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil import _validation
from graphveil._typing import Matrix
from graphveil.exceptions import InvalidParameter
from graphveil.solvers.problem import check_grid, check_symmetric

__all__ = ["ridge_precision"]


def ridge_precision(S: ArrayLike, alpha: ArrayLike, target: ArrayLike | None = None) -> Matrix:
    """Minimise −log det Θ + tr(SΘ) + α‖Θ − T‖²_F over Θ ≻ 0.

    Any symmetric S has exactly one minimiser, however negative its eigenvalues. With T = 0 and S = MφM',

        Θ̂ = M diag(2 / (φ_i + √(φ_i² + 8α))) M'

    which is equation 3.1 of the paper. For φ_i < 0 the denominator cancels and (√(φ_i² + 8α) − φ_i) / (4α), the same
    number, is used. A target T replaces S by S − 2αT (van Wieringen and Peeters, with their λ = 2α).

    Parameters
    ----------
    S : array of shape (p, p)
        Symmetric; any signature.
    alpha : float > 0, or array of shape (k,)
        The penalty. A grid costs one eigendecomposition altogether, unless the target is a matrix: S − 2αT then has
        other eigenvectors for each alpha.
    target : float or array of shape (p, p), optional
        What to shrink towards: a matrix, or a number c for c times the identity.

    Returns
    -------
    ndarray of shape (p, p), or (k, p, p) for a grid
        Exactly symmetric, positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from graphveil.solvers import ridge_precision
    >>> S = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and −1
    >>> Theta = ridge_precision(S, 0.5)
    >>> bool(np.allclose(S @ Theta + 2 * 0.5 * Theta @ Theta, np.eye(2)))
    True
    """
    S = check_symmetric(S)
    rule = "a finite number > 0, or a one-dimensional array of them"
    alphas = check_grid(alpha, "alpha", rule, zero_allowed=False)
    grid = np.atleast_1d(alphas)
    result = np.empty((len(grid), *S.shape))
    if target is None or np.ndim(target) == 0:
        shift = 0.0
        if target is not None:
            number = target.item() if isinstance(target, np.ndarray) else target
            shift = _validation.number(
                "target", number, "finite, a number or a matrix", -np.inf, np.inf, open_ends=True
            )
        phi, M = np.linalg.eigh(S)
        for k, a in enumerate(grid):
            result[k] = _from_spectrum(phi - 2 * a * shift, M, a)
    else:
        T = check_symmetric(target, "target")
        if T.shape != S.shape:
            raise InvalidParameter.of("target", f"a number or a matrix of shape {S.shape}", f"shape {T.shape}")
        for k, a in enumerate(grid):
            result[k] = _from_spectrum(*np.linalg.eigh(S - 2 * a * T), a)
    return result[0] if alphas.ndim == 0 else result


def _from_spectrum(phi: NDArray[np.float64], M: Matrix, alpha: float) -> Matrix:
    root = np.hypot(phi, np.sqrt(8 * alpha))
    values = np.where(phi < 0, (root - phi) / (4 * alpha), 2 / (np.abs(phi) + root))
    half = M * np.sqrt(values)
    # A matrix times its own transpose comes out exactly symmetric.
    return half @ half.T
