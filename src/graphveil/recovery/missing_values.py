"""From moments of rows whose gaps were filled with means to those of complete rows.

A missing value is replaced by the mean, so it adds nothing to a sum of products of deviations. A covariance of filled
rows is therefore that of complete rows times the share of records in which both columns are observed, if values are
missing completely at random. Dividing by the released shares gives the pairwise complete estimate.
"""

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.recovery.noise_model import NoisyCovariance

__all__ = ["complete"]


def complete(noisy: NoisyCovariance, observed: Matrix) -> NoisyCovariance:
    """The covariance of complete rows from that of filled ones, given the ``observed`` shares of pairs, with its law.

    Noise is divided like the moments. Off the diagonal 1/q_ij is nearly h_i h_j, so that it keeps its form: exactly for
    columns that are missing independently of each other; for what is missing together it is taken to be larger than it
    is. Sampling has more variance too (:mod:`graphveil.recovery.gap_noise`), with h_i as one over a column's share.
    """
    factors = _rank_one(1.0 / observed)
    privacy = tuple((factors[:, None] * back, sd) for back, sd in noisy.privacy)
    found = NoisyCovariance(noisy.matrix / observed, privacy, noisy.denoised / observed, noisy.sampling)
    gaps = np.maximum(factors - 1.0, 0.0)
    single = noisy.single / observed**2
    return NoisyCovariance(found.matrix, privacy, _positive_definite(found), noisy.sampling, single, gaps)


def _rank_one(matrix: Matrix) -> Vector:
    """Positive h for which h_i h_j is nearest to the entries off the diagonal, in logarithms."""
    p = len(matrix)
    if p < 3:
        return np.sqrt(np.diag(matrix))
    sums = np.log(matrix).sum(axis=1) - np.log(np.diag(matrix))
    total = sums.sum() / (2.0 * (p - 1))
    return np.asarray(np.exp((sums - total) / (p - 2)))


def _positive_definite(noisy: NoisyCovariance) -> Matrix:
    """The denoised matrix, no eigenvalue of its correlations below the noise that one correlation typically has."""
    covariance = noisy.denoised
    sd = np.sqrt(np.diag(covariance))
    variance = sum(size * np.outer(np.diag(gram), np.diag(gram)) for gram, size in noisy.privacy_grams)
    least = float(np.sqrt(np.median(variance / np.outer(sd, sd) ** 2)))
    values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
    if values[0] >= least:
        return covariance
    found = (vectors * np.maximum(values, least)) @ vectors.T
    scale = sd / np.sqrt(np.diag(found))
    return np.asarray(found * np.outer(scale, scale))
