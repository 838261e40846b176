"""From a graph to a precision matrix of a given condition number.

A symmetric A ≠ 0 with zero diagonal has λ_min(A) < 0 < λ_max(A), for its eigenvalues sum to 0. For any κ > 1 the shift

    α = (λ_max(A) − κ λ_min(A)) / (κ − 1)

makes (λ_max + α)/(λ_min + α) = κ with λ_min + α = (λ_max − λ_min)/(κ − 1) > 0 and α > 0, so that Θ = I + A/α is
positive definite and has a unit diagonal and the condition number κ. Its partial correlations are −A/α: κ says how
strong the edges are. This is the construction of Cai, Liu and Luo (2011), there with κ = p.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphveil.exceptions import InvalidParameter
from graphveil.simulate._arguments import RandomState, generator, real_number

__all__ = ["precision_from_graph"]

# Beyond this, rounding could spoil the positive definiteness that is promised.
LARGEST_CONDITION_NUMBER = 1e10


def check_condition_number(condition_number: float) -> float:
    """Return a condition number that a positive definite float64 matrix can have, or refuse it."""
    return real_number("condition_number", condition_number, above=1, at_most=LARGEST_CONDITION_NUMBER)


def unit_diagonal_precision(weights: NDArray[np.float64], condition_number: float) -> NDArray[np.float64]:
    """Return I + A/α of the given condition number; the identity if ``weights`` (A, with zero diagonal) has no edge."""
    p = len(weights)
    if not weights.any():
        return np.eye(p)
    eigenvalues = np.linalg.eigvalsh(weights)
    shift = (eigenvalues[-1] - condition_number * eigenvalues[0]) / (condition_number - 1)
    precision: NDArray[np.float64] = weights / shift
    np.fill_diagonal(precision, 1.0)
    return precision


def precision_from_graph(
    graph: ArrayLike, *, condition_number: float = 10.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Precision matrix with the edges of a given graph.

        Θ = I + A/α,  a_ij = s_ij u_ij on the edges and 0 elsewhere,

    with independent random signs s_ij, u_ij uniform on [½, 1], and α such that
    λ_max(Θ)/λ_min(Θ) is the condition number asked for.

    Parameters
    ----------
    graph : array-like of shape (p, p)
        Symmetric; a non-zero entry off the diagonal is an edge, the diagonal is ignored.
    condition_number : float, default=10
        Above 1, at most 1e10. The larger, the stronger the edges. A graph without edges gives the identity.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the weights.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, positive definite, with unit diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> theta = precision_from_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], condition_number=5, random_state=0)
    >>> (theta != 0).astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 1]])
    >>> round(float(np.linalg.cond(theta)), 9)
    5.0
    """
    edges = np.asarray(graph) != 0
    if edges.ndim != 2 or edges.shape[0] != edges.shape[1] or edges.size == 0:
        raise InvalidParameter.of("graph", "a square matrix of at least one row", edges.shape)
    if not np.array_equal(edges, edges.T):
        raise InvalidParameter.of(
            "graph", "symmetric in its zeros", f"{len(edges)} x {len(edges)}", "Edges have no direction: pass G | G.T."
        )
    check_condition_number(condition_number)
    rng = generator(random_state)
    above = np.triu(edges, k=1)
    n_edges = int(above.sum())
    weights = np.zeros(edges.shape)
    weights[above] = rng.choice((-1.0, 1.0), size=n_edges) * rng.uniform(0.5, 1.0, size=n_edges)
    return unit_diagonal_precision(weights + weights.T, condition_number)
