"""The layout of networks: positions of the nodes."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["neighbourly_order", "place_nodes"]

_STEPS = 250


def place_nodes(weights: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Positions in the unit square: edges pull, nodes push, everything is drawn to the middle a little.

    Fruchterman and Reingold (1991) from a circle in the given order, so that the same network always looks the same.

    Parameters
    ----------
    weights : (p, p) array
        Strength of each edge, zero where there is none.
    order : (p,) array of int
        Around the circle at the start.
    """
    p = len(weights)
    angle = np.empty(p)
    angle[order] = 2.0 * np.pi * np.arange(p) / p
    position = 0.5 + 0.4 * np.column_stack([np.cos(angle), np.sin(angle)])
    if p < 3:
        return position if p > 1 else np.full((1, 2), 0.5)
    pull = np.where(weights != 0, 0.3 + 0.7 * np.sqrt(np.abs(weights)), 0.0)  # a weak edge still pulls
    np.fill_diagonal(pull, 0.0)
    ideal = 0.75 / np.sqrt(p)
    for step in range(_STEPS):
        gap = position[:, None] - position
        distance = np.maximum(np.linalg.norm(gap, axis=2), 1e-3)
        force = ideal**2 / distance**2 - pull * distance / ideal
        np.fill_diagonal(force, 0.0)
        move = (gap * force[:, :, None]).sum(axis=1) + 0.6 * (0.5 - position)
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        position += move / length * np.minimum(length, 0.1 * (1.0 - step / _STEPS))
    low, high = position.min(axis=0), position.max(axis=0)
    # Partly by rank: a node far out must not press all others into a corner.
    rank = position.argsort(axis=0).argsort(axis=0) / (p - 1)
    return np.asarray(0.55 * (position - low) / np.maximum(high - low, 1e-9) + 0.45 * rank)


def neighbourly_order(strength: NDArray[np.float64]) -> NDArray[np.intp]:
    """Leaves of a tree of average links, turned so that neighbours are alike."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(strength) < 3:
        return np.arange(len(strength))
    apart = 1.0 - np.abs(strength)
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.intp)
