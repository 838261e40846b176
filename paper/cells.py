"""The cell-signalling data as the paper must have used it: logarithms, with the consensus network beside them."""

import numpy as np
from numpy.typing import NDArray

import graphveil as gv

Matrix = NDArray[np.float64]


def log_intensities() -> tuple[Matrix, tuple[float, float]]:
    """Logarithms of the intensities and their public bounds, the four decades of the instrument.

    The paper does not say how it prepared the data. With raw intensities its λ = 0.0015 and 0.002 leave no edge at
    all, with logarithms 26 (ERRATA.md, 9).
    """
    data = gv.datasets.cell_signalling()
    low, high = next(iter(data.bounds.values()))
    return np.log(data.rows), (float(np.log(low)), float(np.log(high)))


def consensus_network() -> Matrix:
    """The consensus network as an undirected graph: 1 where two molecules are joined, and on the diagonal."""
    data = gv.datasets.cell_signalling()
    graph = np.eye(len(data.columns))
    for pair in data.edges:
        i, j = map(data.columns.index, pair)
        graph[i, j] = graph[j, i] = 1.0
    return graph
