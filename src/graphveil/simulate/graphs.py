"""Precision matrices on graphs common in practice: hub, scale-free, small-world, block and band.

Each is I + A/α at the condition number asked for (see `graphveil.simulate.conditioning`): a unit diagonal, and edges as
strong as that number allows.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.simulate._arguments import RandomState, generator, real_number
from graphveil.simulate.conditioning import check_condition_number, precision_from_graph, unit_diagonal_precision

__all__ = ["band_precision", "block_precision", "hub_precision", "scale_free_precision", "small_world_precision"]


def hub_precision(
    p: int, n_hubs: int = 1, *, condition_number: float = 10.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Precision matrix of stars: every variable is joined to the hub of its group, and to nothing else.

    The variables are cut into ``n_hubs`` consecutive groups of equal size, to within one; the first of each is its hub.
    There are p − n_hubs edges. The partial correlations in a star of d leaves have a root mean square below 1/√d
    (otherwise Θ would not be positive definite), so a large hub is hard to find edge by edge.

    Parameters
    ----------
    p : int
        Number of variables.
    n_hubs : int, default=1
        Number of groups, at most p.
    condition_number : float, default=10
        Ratio of the extreme eigenvalues, above 1.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the signs and sizes of the edges.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, positive definite, with unit diagonal.

    Examples
    --------
    >>> theta = hub_precision(6, n_hubs=2, random_state=0)
    >>> (theta != 0).sum(axis=0).tolist()
    [3, 2, 2, 3, 2, 2]
    """
    p = _validation.integer("p", p, 1)
    n_hubs = _validation.integer("n_hubs", n_hubs, 1, p)
    edges = np.zeros((p, p), dtype=bool)
    for group in np.array_split(np.arange(p), n_hubs):
        edges[group[0], group[1:]] = True
    return precision_from_graph(edges | edges.T, condition_number=condition_number, random_state=random_state)


def scale_free_precision(
    p: int, edges_per_node: int = 1, *, condition_number: float = 10.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Precision matrix of a scale-free graph: few variables with very many neighbours, most with few.

    Preferential attachment (Barabási and Albert 1999): from ``m + 1`` variables all joined to each other, every further
    one is joined to m earlier ones, drawn without replacement with probabilities proportional to their degrees. The
    degrees then follow a power law of exponent 3; with m = 1 the graph is a tree.

    Parameters
    ----------
    p : int
        Number of variables.
    edges_per_node : int, default=1
        m, at most p − 1 (1 is accepted for p = 1).
    condition_number : float, default=10
        Ratio of the extreme eigenvalues, above 1.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the graph and the signs and sizes of its edges.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, positive definite, with unit diagonal, with m(m + 1)/2 + m(p − m − 1) edges.

    Examples
    --------
    >>> theta = scale_free_precision(50, random_state=0)
    >>> int(np.count_nonzero(np.triu(theta, k=1)))
    49
    """
    p = _validation.integer("p", p, 1)
    edges_per_node = _validation.integer("edges_per_node", edges_per_node, 1, max(1, p - 1))
    rng = generator(random_state)
    edges = np.zeros((p, p), dtype=bool)
    core = edges_per_node + 1
    edges[:core, :core] = ~np.eye(min(core, p), dtype=bool)
    for node in range(core, p):
        degrees = edges[:node].sum(axis=1)
        targets = rng.choice(node, size=edges_per_node, replace=False, p=degrees / degrees.sum())
        edges[node, targets] = edges[targets, node] = True
    return precision_from_graph(edges, condition_number=condition_number, random_state=rng)


def small_world_precision(
    p: int,
    n_neighbours: int = 4,
    rewiring: float = 0.1,
    *,
    condition_number: float = 10.0,
    random_state: RandomState = None,
) -> NDArray[np.float64]:
    """Precision matrix of a small world: a ring of neighbours with a few shortcuts across it.

    Watts and Strogatz (1998): each variable is joined to its ``n_neighbours`` nearest on a ring (to all, where p is too
    small for that many). Then each edge from i to a later j, clockwise, is replaced with probability ``rewiring`` by
    one from i to a variable drawn uniformly among those it is not yet joined to. The number of edges stays what it was.

    Parameters
    ----------
    p : int
        Number of variables.
    n_neighbours : int, default=4
        Even, at least 2.
    rewiring : float, default=0.1
        Probability in [0, 1]: 0 is the ring, 1 nearly a random graph.
    condition_number : float, default=10
        Ratio of the extreme eigenvalues, above 1.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the graph and the signs and sizes of its edges.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, positive definite, with unit diagonal, with p · n_neighbours/2 edges if p > n_neighbours.

    Examples
    --------
    >>> theta = small_world_precision(30, random_state=0)
    >>> int(np.count_nonzero(np.triu(theta, k=1)))
    60
    """
    p = _validation.integer("p", p, 1)
    reach, odd = divmod(_validation.integer("n_neighbours", n_neighbours, 2), 2)
    if odd:
        raise InvalidParameter.of("n_neighbours", "even (half of them on either side)", n_neighbours)
    if rewiring != 0:
        rewiring = real_number("rewiring", rewiring, above=0, at_most=1)
    rng = generator(random_state)
    apart = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    edges = (apart > 0) & (np.minimum(apart, p - apart) <= reach)
    for step, i in product(range(1, reach + 1), range(p)):
        strangers = np.flatnonzero(~edges[i] & (apart[i] > 0))
        if strangers.size and rng.random() < rewiring:
            j, k = (i + step) % p, rng.choice(strangers)
            edges[i, j] = edges[j, i] = False
            edges[i, k] = edges[k, i] = True
    return precision_from_graph(edges, condition_number=condition_number, random_state=rng)


def block_precision(
    p: int, block_size: int = 10, *, condition_number: float = 10.0, random_state: RandomState = None
) -> NDArray[np.float64]:
    """Precision matrix of independent groups: all pairs joined inside a block, none across.

    Parameters
    ----------
    p : int
        Number of variables.
    block_size : int, default=10
        Variables in a block; they are consecutive, and the last block holds what is left.
    condition_number : float, default=10
        Ratio of the extreme eigenvalues of the whole matrix, above 1; a single block may be better conditioned.
    random_state : int, numpy.random.Generator or None, default=None
        Draws the signs and sizes of the edges.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, positive definite, with unit diagonal, block diagonal (and so is its inverse).

    Examples
    --------
    >>> theta = block_precision(5, block_size=3, random_state=0)
    >>> (theta != 0).astype(int)
    array([[1, 1, 1, 0, 0],
           [1, 1, 1, 0, 0],
           [1, 1, 1, 0, 0],
           [0, 0, 0, 1, 1],
           [0, 0, 0, 1, 1]])
    """
    p = _validation.integer("p", p, 1)
    block = np.arange(p) // _validation.integer("block_size", block_size, 1)
    return precision_from_graph(
        np.equal.outer(block, block), condition_number=condition_number, random_state=random_state
    )


def band_precision(p: int, bandwidth: int = 2, *, condition_number: float = 10.0) -> NDArray[np.float64]:
    """Precision matrix of a time series: θ_ij ∝ 2^−|i − j| for 0 < |i − j| ≤ bandwidth, else 0.

    Nothing is random here. With bandwidth 2 and condition number 10 it tends to the paper's Model 3 as p grows.

    Parameters
    ----------
    p : int
        Number of variables.
    bandwidth : int, default=2
        How far edges reach; 0 gives the identity.
    condition_number : float, default=10
        Ratio of the extreme eigenvalues, above 1.

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, positive definite, with unit diagonal.

    Examples
    --------
    >>> band_precision(3, bandwidth=1, condition_number=3).round(3)
    array([[1.   , 0.354, 0.   ],
           [0.354, 1.   , 0.354],
           [0.   , 0.354, 1.   ]])
    """
    p = _validation.integer("p", p, 1)
    bandwidth = _validation.integer("bandwidth", bandwidth, 0)
    check_condition_number(condition_number)
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    weights = np.where((distance > 0) & (distance <= bandwidth), 0.5**distance, 0.0)
    return unit_diagonal_precision(weights, condition_number)
