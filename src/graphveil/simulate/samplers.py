"""Rows with a given precision matrix: Gaussian, heavy tailed, skewed, contaminated.

All come from Θ = LLᵀ (Cholesky) and one triangular solve: for a standard normal z, x = L⁻ᵀz has the covariance
L⁻ᵀL⁻¹ = Θ⁻¹, which is never formed. With the same ``random_state`` all samplers start from the same Gaussian rows.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.simulate._arguments import RandomState, generator, real_number

__all__ = ["contaminated_rows", "gaussian_rows", "lognormal_rows", "student_rows"]


def _cholesky(precision: ArrayLike) -> NDArray[np.float64]:
    """Return the lower triangular L with LLᵀ = Θ, or refuse Θ."""
    rule = "a symmetric positive definite matrix"
    try:
        theta = np.asarray(precision, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"precision must be {rule}; it does not contain numbers.") from None
    if theta.ndim != 2 or theta.shape[0] != theta.shape[1] or theta.size == 0:
        raise InvalidParameter.of("precision", rule, theta.shape)
    name = f"{len(theta)} x {len(theta)}"
    if not np.isfinite(theta).all():
        raise InvalidParameter.of("precision", rule, f"{name} with infinite or missing entries")
    if np.abs(theta - theta.T).max() > 1e-8 * np.abs(theta).max():
        raise InvalidParameter.of("precision", rule, f"{name}, not symmetric", "Pass (T + T.T) / 2.")
    try:
        return np.asarray(np.linalg.cholesky(theta), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InvalidParameter.of(
            "precision", rule, f"{name}, not positive definite", "Add a multiple of the identity."
        ) from None


def _gaussian(L: NDArray[np.float64], n_samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return rows of covariance (LLᵀ)⁻¹."""
    from scipy.linalg import solve_triangular

    Z = rng.standard_normal((_validation.integer("n_samples", n_samples, 1), len(L)))
    return np.ascontiguousarray(solve_triangular(L, Z.T, lower=True, trans="T", check_finite=False).T)


def gaussian_rows(precision: ArrayLike, n_samples: int, random_state: RandomState = None) -> NDArray[np.float64]:
    """Independent rows from N(0, Θ⁻¹).

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Θ, symmetric positive definite.
    n_samples : int
        Number of rows.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the rows.

    Returns
    -------
    ndarray of shape (n_samples, p)

    Examples
    --------
    >>> rows = gaussian_rows([[4.0]], n_samples=10_000, random_state=0)
    >>> round(float(rows.std()), 1)
    0.5
    """
    return _gaussian(_cholesky(precision), n_samples, generator(random_state))


def student_rows(
    precision: ArrayLike, n_samples: int, degrees_of_freedom: float = 5.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Independent rows from the multivariate t distribution whose *covariance* is Θ⁻¹.

        x = g √((ν − 2)/w),  where g ~ N(0, Θ⁻¹) and w ~ χ²_ν are independent

    One w for the whole row: large rows are large in every variable. For ν > 4 each margin has the excess kurtosis
    6/(ν − 4), and E(x'Θx)² = p(p + 2)(ν − 2)/(ν − 4); for ν ≤ 4 fourth moments do not exist. A zero of Θ
    is a zero partial correlation, though not an independence.

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Θ, symmetric positive definite.
    n_samples : int
        Number of rows.
    degrees_of_freedom : float, default=5
        ν, above 2 (below, there is no covariance).
    random_state : int, numpy.random.Generator or None, default=None
        Draws the rows.

    Returns
    -------
    ndarray of shape (n_samples, p)

    Examples
    --------
    >>> rows = student_rows([[4.0]], n_samples=10_000, degrees_of_freedom=3, random_state=0)
    >>> bool(abs(rows).max() > 10 * rows.std())
    True
    """
    degrees_of_freedom = real_number("degrees_of_freedom", degrees_of_freedom, above=2)
    rng = generator(random_state)
    rows = _gaussian(_cholesky(precision), n_samples, rng)
    chi_square = rng.chisquare(degrees_of_freedom, size=(len(rows), 1))
    return rows * np.sqrt((degrees_of_freedom - 2) / chi_square)


def lognormal_rows(
    precision: ArrayLike, n_samples: int, log_standard_deviation: float = 1.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Independent rows with skewed, lognormal margins and the conditional independences of Θ.

    With Σ = Θ⁻¹, g ~ N(0, Σ) and s the standard deviation of the logarithm,

        x_i = √Σ_ii (exp(s g_i / √Σ_ii) − exp(s²/2)) / √((exp(s²) − 1) exp(s²))

    has mean 0, variance Σ_ii and, for correlations r_ij of Σ, the covariances
    √(Σ_ii Σ_jj) (exp(s² r_ij) − 1)/(exp(s²) − 1). Monotone margins leave the graph of
    conditional independences as it is (a nonparanormal, Liu, Lafferty and Wasserman 2009), but the inverse of *this*
    covariance is Θ only in the limit s → 0.

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Θ, symmetric positive definite.
    n_samples : int
        Number of rows.
    log_standard_deviation : float, default=1
        s, above 0 and at most 5. At 1 the skewness is 6.2.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the rows.

    Returns
    -------
    ndarray of shape (n_samples, p)

    Examples
    --------
    >>> rows = lognormal_rows([[4.0]], n_samples=10_000, random_state=0)
    >>> bool(rows.max() > 5 * -rows.min())
    True
    """
    from scipy.linalg import solve_triangular

    s = real_number("log_standard_deviation", log_standard_deviation, above=0, at_most=5)
    L = _cholesky(precision)
    # Σ = L⁻ᵀL⁻¹, so Σ_ii is the squared norm of column i of L⁻¹.
    scale = np.linalg.norm(solve_triangular(L, np.eye(len(L)), lower=True), axis=0)
    rows = _gaussian(L, n_samples, generator(random_state)) / scale
    spread = np.sqrt(np.expm1(s**2) * np.exp(s**2))
    return np.asarray(scale * (np.exp(s * rows) - np.exp(s**2 / 2)) / spread)


def contaminated_rows(
    precision: ArrayLike, n_samples: int, n_outliers: int = 3, scale: float = 1000.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Rows from N(0, Θ⁻¹), a few of which are then multiplied by a huge number.

    What a slipped decimal point or a sentinel value does to a file. Θ describes the other rows; with the same seed they
    are those of `gaussian_rows`.

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Θ, symmetric positive definite.
    n_samples : int
        Number of rows.
    n_outliers : int, default=3
        How many of them are blown up, exactly; which ones is random. At most ``n_samples``.
    scale : float, default=1000
        Their factor, above 0.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the rows and the choice.

    Returns
    -------
    ndarray of shape (n_samples, p)

    Examples
    --------
    >>> rows = contaminated_rows(np.eye(5), n_samples=100, random_state=0)
    >>> int((np.linalg.norm(rows, axis=1) > 100).sum())
    3
    """
    scale = real_number("scale", scale, above=0)
    rng = generator(random_state)
    rows = _gaussian(_cholesky(precision), n_samples, rng)
    n_outliers = _validation.integer("n_outliers", n_outliers, 0, len(rows))
    rows[rng.choice(len(rows), size=n_outliers, replace=False)] *= scale
    return rows
