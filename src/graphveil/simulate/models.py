"""The four precision matrices of the paper's section 5.1.

Model 3 is printed with θ_ii = 0, a misprint: a matrix of trace 0 is not positive definite; with 1 it is. Model 1 calls
its 10,000 columns n, which elsewhere is the sample size; the two have nothing to do with each other.

References
----------
Su, Guo and Zhang, "Differentially Private Precision Matrix Estimation", section 5.1.
Cai, Liu and Luo (2011), "A constrained ℓ1 minimization approach to sparse precision matrix estimation", JASA 106.
"""

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil.simulate._arguments import RandomState, generator
from graphveil.simulate.conditioning import unit_diagonal_precision

__all__ = [
    "autoregressive_precision",
    "full_precision",
    "paper_model",
    "random_sparse_precision",
    "wishart_precision",
]

WISHART_COLUMNS = 10_000


def wishart_precision(p: int, random_state: RandomState = None) -> NDArray[np.float64]:
    """Model 1, unstructured and dense: Θ = WW'/10000, where W is p × 10000 of standard normals.

    Parameters
    ----------
    p : int
        Number of variables, at most 10,000 (beyond that Θ is singular).
    random_state : int, numpy.random.Generator or None, default=None
        Draws W.

    Returns
    -------
    ndarray of shape (p, p)
        Close to the identity: entries deviate by 0.01 or so, eigenvalues lie near
        (1 ± √(p/10000))², which is [0.81, 1.21] for p = 100.

    Examples
    --------
    >>> theta = wishart_precision(3, random_state=0)
    >>> bool(abs(theta - np.eye(3)).max() < 0.1)
    True
    """
    p = _validation.integer("p", p, 1, WISHART_COLUMNS)
    W = generator(random_state).standard_normal((p, WISHART_COLUMNS))
    return np.asarray(W @ W.T / WISHART_COLUMNS)


def full_precision(p: int) -> NDArray[np.float64]:
    """Model 2, structured and dense: θ_ii = 1 and θ_ij = 0.5 for all i ≠ j.

    Θ = ½(I + 𝟏𝟏ᵀ) has the eigenvalues ½ (p − 1 times) and (p + 1)/2: its condition number is p + 1.

    Parameters
    ----------
    p : int
        Number of variables.

    Returns
    -------
    ndarray of shape (p, p)

    Examples
    --------
    >>> full_precision(3)
    array([[1. , 0.5, 0.5],
           [0.5, 1. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    p = _validation.integer("p", p, 1)
    return np.full((p, p), 0.5) + 0.5 * np.eye(p)


def autoregressive_precision(p: int) -> NDArray[np.float64]:
    """Model 3, structured and sparse (AR(2)): 1 on the diagonal, 0.5 beside it, 0.25 one further, else 0.

    The symbol of this Toeplitz matrix is 1 + cos ω + ½ cos 2ω = (cos ω + ½)² + ¼, so every eigenvalue lies in
    [¼, 2½] and the condition number is below 10 whatever p is.

    Parameters
    ----------
    p : int
        Number of variables.

    Returns
    -------
    ndarray of shape (p, p)

    Examples
    --------
    >>> autoregressive_precision(4)[0]
    array([1.  , 0.5 , 0.25, 0.  ])
    """
    p = _validation.integer("p", p, 1)
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    return np.where(distance <= 2, 0.5**distance, 0.0)


def random_sparse_precision(p: int, random_state: RandomState = None) -> NDArray[np.float64]:
    """Model 4, unstructured and sparse (Cai, Liu and Luo 2011).

    Θ₀ = A + αI, each pair of A joined by 0.5 with probability 0.1 and by 0 otherwise, α such that
    the condition number is p; then divided by its (constant) diagonal.

    Parameters
    ----------
    p : int
        Number of variables.
    random_state : int, numpy.random.Generator or None, default=None
        Draws A.

    Returns
    -------
    ndarray of shape (p, p)
        With unit diagonal and condition number p; the identity in the draws without an edge, which happen for small p
        (with probability 0.9^(p(p−1)/2)) and which no α brings to condition number p.

    Examples
    --------
    >>> theta = random_sparse_precision(20, random_state=0)
    >>> round(float(np.linalg.cond(theta)), 6)
    20.0
    """
    p = _validation.integer("p", p, 1)
    above = np.triu(generator(random_state).random((p, p)) < 0.1, k=1)
    weights = np.where(above | above.T, 0.5, 0.0)
    return unit_diagonal_precision(weights, condition_number=p)


def paper_model(number: int, p: int, random_state: RandomState = None) -> NDArray[np.float64]:
    """Precision matrix of the paper's Model 1, 2, 3 or 4.

    Parameters
    ----------
    number : int
        1 is `wishart_precision`, 2 `full_precision`, 3 `autoregressive_precision`, 4 `random_sparse_precision`.
    p : int
        Number of variables; the paper's tables have 100, its ROC curves 20.
    random_state : int, numpy.random.Generator or None, default=None
        Draws Models 1 and 4; Models 2 and 3 are fixed.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric and positive definite.

    Examples
    --------
    >>> paper_model(2, p=2)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    number = _validation.integer("number", number, 1, 4)
    if number == 1:
        return wishart_precision(p, random_state)
    if number == 2:
        return full_precision(p)
    if number == 3:
        return autoregressive_precision(p)
    return random_sparse_precision(p, random_state)
