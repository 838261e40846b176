"""How far an estimated precision matrix is from the true one."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil.exceptions import InvalidParameter
from graphveil.metrics._checks import check_same_size

__all__ = ["entropy_loss", "kullback_leibler", "negative_log_likelihood", "quadratic_loss", "relative_loss"]


def relative_loss(estimate: ArrayLike, truth: ArrayLike, norm: Literal["l1", "F", "l2"] = "F") -> float:
    """Relative error of a matrix, ‖Θ̂ − Θ‖ / ‖Θ‖, in one of the paper's three norms.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric; in the paper's tables the private estimate.
    truth : array-like of shape (p, p)
        Symmetric, not zero: what is divided by. In the paper's tables this is *not* the Θ that made the data but the
        non-private estimate with the same penalty.
    norm : {"l1", "F", "l2"}, default="F"
        ``"l1"`` is the largest column sum of absolute values, ``"F"`` the Frobenius and ``"l2"`` the spectral norm (the
        largest absolute eigenvalue).

    Returns
    -------
    float
        0 at the truth; an estimate of 0 scores 1.

    Examples
    --------
    >>> relative_loss([[3.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]], norm="l2")
    0.5
    """
    orders: dict[str, Literal[1, 2, "fro"]] = {"l1": 1, "F": "fro", "l2": 2}
    if norm not in orders:
        raise InvalidParameter.of("norm", "'l1', 'F' or 'l2'", norm)
    theta_hat, theta = check_same_size("estimate", estimate, "truth", truth)
    size = float(np.linalg.norm(theta, orders[norm]))
    if size == 0:
        raise InvalidParameter.of("truth", "other than zero", "the zero matrix", "Nothing is relative to zero.")
    return float(np.linalg.norm(theta_hat - theta, orders[norm])) / size


def _log_determinant(matrix: NDArray[np.float64]) -> float:
    """Return log det of a positive definite matrix, −∞ of any other: −log det is convex, and +∞ outside its domain."""
    from graphveil._linalg import log_determinant  # loads scipy

    value = log_determinant(matrix)
    return -math.inf if value is None else value


def _relative_eigenvalues(theta_hat: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvalues of Σ^½(Θ̂ − Θ)Σ^½, from (Θ̂ − Θ)v = eΘv: no inverse, no cancellation near the truth."""
    from scipy.linalg import LinAlgError, eigh

    try:
        return np.asarray(eigh(theta_hat - theta, theta, eigvals_only=True), dtype=np.float64)
    except LinAlgError:
        raise InvalidParameter.of("truth", "positive definite", f"{len(theta)} x {len(theta)}, not so") from None


def entropy_loss(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Stein's loss of a precision matrix, with Σ = Θ⁻¹.

        tr(ΣΘ̂) − log det(ΣΘ̂) − p = Σ_i e_i − log(1 + e_i),

    where 1 + e_i are the eigenvalues of ΣΘ̂.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric.
    truth : array-like of shape (p, p)
        Θ, symmetric positive definite.

    Returns
    -------
    float
        0 at the truth, infinite if the estimate is not positive definite; unchanged if both become AΘAᵀ.

    Examples
    --------
    >>> entropy_loss(2 * np.eye(3), np.eye(3))  # 3(2 - log 2 - 1)
    0.920...
    """
    theta_hat, theta = check_same_size("estimate", estimate, "truth", truth)
    e = _relative_eigenvalues(theta_hat, theta)
    if e[0] > -0.5:
        return float(np.sum(e - np.log1p(e)))
    # 1 + e has lost digits, or is negative; far from the truth the determinants themselves are accurate enough.
    return float(e.sum()) + _log_determinant(theta) - _log_determinant(theta_hat)


def kullback_leibler(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Kullback–Leibler divergence of N(0, Θ̂⁻¹) from N(0, Θ⁻¹), the truth, in nats.

        E_Θ log(f_Θ(x) / f_Θ̂(x)) = ½ {tr(ΣΘ̂) − log det(ΣΘ̂) − p},

    half of `entropy_loss`: what a row costs, on average, when it is coded by the estimate.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric.
    truth : array-like of shape (p, p)
        Θ, symmetric positive definite.

    Returns
    -------
    float
        0 at the truth, infinite if the estimate is not positive definite.

    Examples
    --------
    >>> kullback_leibler([[4.0]], [[1.0]])  # (4 - log 4 - 1)/2
    0.806...
    """
    return entropy_loss(estimate, truth) / 2


def quadratic_loss(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Quadratic loss of a precision matrix, tr (ΣΘ̂ − I)², with Σ = Θ⁻¹.

    It equals ‖Σ^½ Θ̂ Σ^½ − I‖²_F and is twice `entropy_loss` to second order at the
    truth. Unlike the Frobenius loss it does not depend on the units of the variables.

    Parameters
    ----------
    estimate : array-like of shape (p, p)
        Symmetric.
    truth : array-like of shape (p, p)
        Θ, symmetric positive definite.

    Returns
    -------
    float
        0 at the truth, p for an estimate of 0; unchanged if both become AΘAᵀ.

    Examples
    --------
    >>> round(quadratic_loss(3 * np.eye(2), np.eye(2)), 12)
    8.0
    """
    e = _relative_eigenvalues(*check_same_size("estimate", estimate, "truth", truth))
    return float(e @ e)


def negative_log_likelihood(precision: ArrayLike, second_moment: ArrayLike) -> float:
    """The paper's negative log-likelihood, −log det Θ + tr(SΘ).

    Twice the average over rows of −log f_Θ(x), less the constant p log 2π.

    Parameters
    ----------
    precision : array-like of shape (p, p)
        Θ, symmetric.
    second_moment : array-like of shape (p, p)
        S, symmetric; XᵀX/n of other rows, or a noisy release of it (it need not be positive definite).

    Returns
    -------
    float
        Infinite if Θ is not positive definite.

    Examples
    --------
    >>> negative_log_likelihood(np.eye(2), [[3.0, 1.0], [1.0, 5.0]])
    8.0
    """
    theta, S = check_same_size("precision", precision, "second_moment", second_moment)
    return float(np.vdot(S, theta)) - _log_determinant(theta)
