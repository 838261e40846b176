"""The sampling noise that gaps add to a covariance: pairs of columns are observed in only a part of the records.

Let column j be observed in a share q_j of the records, independently of everything, and h_j = 1/q_j − 1. A pairwise
covariance S_jk averages over the records that have both. Entries of S that have a column in common share the records in
which it is missing, so for Gaussian rows with covariance C

    n cov(S_jk, S_lm) = R (C_jl C_km + C_jm C_kl),    R = share of {j, k, l, m} / (share of {j, k} · share of {l, m}),

where R is 1 for pairs without a common column, 1 + h_j for those that have j in common, (1 + h_j)(1 + h_k) for a pair
and itself, and 1 + h_j where j = k. The functions below are the parts with h of the variance of tr(WS) for a symmetric
W: per column k, with w = W_kk, h_k [4 C_kk (WCW)_kk − 8 C_kk w (WC)_kk + 2 w² C_kk² + 4 (WC)_kk²], and for every pair
of columns 2 W_jk² h_j h_k (C_jj C_kk + C_jk²). All of them are to be divided by the number of records.
"""

import numpy as np

from graphveil._typing import Matrix, Vector

__all__ = [
    "draw_gap_noise",
    "gap_noise_of_entries",
    "gap_noise_of_precision",
    "gap_noise_of_products",
    "gap_noise_of_trace",
]


def gap_noise_of_entries(h: Vector, C: Matrix) -> Matrix:
    """Variance of every entry of S."""
    common = h[:, None] + h + np.outer(h, h)
    np.fill_diagonal(common, h)
    return np.asarray(common * _own(C))


def gap_noise_of_trace(W: Matrix, h: Vector, C: Matrix) -> float:
    """Variance of tr(WS) for a symmetric W."""
    v, w, moved = np.diag(C), np.diag(W), W @ C
    along = np.diag(moved)
    squares = np.sum(moved * W, axis=1)
    common = h @ (4.0 * v * squares - 8.0 * v * w * along + 2.0 * (w * v) ** 2 + 4.0 * along**2)
    return float(common + 2.0 * np.sum(W**2 * _of_pairs(h, C)))


def gap_noise_of_products(A: Matrix, u: Vector, h: Vector, C: Matrix) -> Matrix:
    """Covariance of ASu: of tr(WS) for W = (au' + ua')/2 with every row a of A."""
    v, at = np.diag(C), A * u
    along = (A * (C @ u) + u * (A @ C)) / 2.0  # (WC)_kk
    mixed = np.outer(A @ (h * v * u), A @ C @ u)
    squares = (u @ C @ u) * (A * (h * v)) @ A.T + mixed + mixed.T + float((h * v) @ u**2) * A @ C @ A.T
    crossed = 4.0 * (at * (h * v)) @ along.T
    pairs = _of_pairs(h, C)
    both = (A * (pairs @ u**2)) @ A.T + at @ pairs @ at.T
    diagonal = 2.0 * (at * (h * v**2)) @ at.T + 4.0 * (along * h) @ along.T
    return np.asarray(squares - crossed - crossed.T + diagonal + both)


def gap_noise_of_precision(precision: Matrix, h: Vector, C: Matrix) -> Matrix:
    """Variance of every entry of ΘSΘ: of tr(WS) for W = (ab' + ba')/2 with rows a, b of Θ."""
    v, square, moved = np.diag(C), precision**2, precision @ C
    through, crossed = moved @ precision.T, precision * moved
    own = np.outer(square @ (h * v), np.diag(through))
    half = own - 4.0 * (square * (h * v)) @ crossed.T + (square * h) @ (moved**2).T
    both = (precision * (h * v)) @ precision.T * through + (square * (h * v**2)) @ square.T + (crossed * h) @ crossed.T
    # Of the pairs' own part the half that is not small where partial correlations are: the other takes p⁴ operations.
    return np.asarray(half + half.T + 2.0 * both + square @ _of_pairs(h, C) @ square.T)


def draw_gap_noise(generator: np.random.Generator, h: Vector, C: Matrix, root: Matrix) -> Matrix:
    """Noise of this law, without that of the diagonal; ``root`` is a Cholesky factor of C."""
    p = len(C)
    own = np.sqrt(np.diag(C))[:, None] * (generator.standard_normal((p, p)) @ root.T)
    common = np.sqrt(h)[:, None] * (own + generator.standard_normal((p, 1)) * C)
    pairs = np.triu(np.sqrt(_of_pairs(h, C)) * generator.standard_normal((p, p)), 1)
    noise = common + common.T + pairs + pairs.T
    np.fill_diagonal(noise, 0.0)
    return np.asarray(noise)


def _own(C: Matrix) -> Matrix:
    return np.asarray(np.outer(np.diag(C), np.diag(C)) + C**2)


def _of_pairs(h: Vector, C: Matrix) -> Matrix:
    """What is left for a pair and itself, apart from what it shares with others; nothing on the diagonal."""
    found = np.outer(h, h) * _own(C)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)
