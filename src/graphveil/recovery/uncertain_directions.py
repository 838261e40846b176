"""What is published of directions whose variance is hardly known.

Denoising knows the noise that all columns share. Of a rare column clipping leaves little; brought back to its variance,
its correlations are noisier than others, and what is missing of it may be correlated otherwise: two such columns may
look like one. Let s_j be what is unsure of column j beyond most: noise, and what is missing times the standard
deviation of the difference between correlations of missing parts and of others. In the coordinates D^-½RD^-½, where R
are the correlations and D = diag(s), every direction is unsure by about 1: if λ > 0 is its variance, λ + N(0, 1) was
found. Published is E λ²/E λ, as of variances: the number for which the expected squared relative error of the precision
is least. With every λ equally likely before, that is what was found where this is large, and √(π/2) where it is 0.
"""

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.recovery.parameters import PROTOCOL

__all__ = ["least_risky", "raise_uncertain_directions"]

_KNOWN = 10.0  # standard deviations: the variance of a direction would grow by less than a hundredth
_LEAST = 1e-6  # of s_j: no column is divided by nothing


def raise_uncertain_directions(covariance: Matrix, noise: Vector, missing: Vector) -> Matrix:
    """A covariance with the same variances, and correlations in which uncertain directions have more.

    Parameters
    ----------
    covariance : (p, p) array
    noise : (p,) array
        Of the variances, relative to them.
    missing : (p,) array
        Shares that clipping took of the variances.
    """
    beyond = np.sqrt(np.maximum(noise**2 - np.median(noise) ** 2, 0.0))
    unsure = np.hypot(beyond, PROTOCOL.lost_correlation * missing)
    sd = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(sd, sd)
    if _is_positive_definite(correlation - _KNOWN * np.diag(unsure)):
        return covariance
    root = np.sqrt(np.maximum(unsure, _LEAST))
    values, vectors = np.linalg.eigh(correlation / np.outer(root, root))
    raised = (vectors * least_risky(values)) @ vectors.T * np.outer(root, root)
    sd = sd / np.sqrt(np.diag(raised))
    return np.asarray(raised * np.outer(sd, sd))


def least_risky(found: Vector) -> Vector:
    """E λ²/E λ of λ > 0 that were found with normal errors of standard deviation 1."""
    from scipy.special import erfcx

    hazard = np.sqrt(2.0 / np.pi) / erfcx(-found / np.sqrt(2.0))
    return np.asarray(found + 1.0 / (found + hazard))


def _is_positive_definite(matrix: Matrix) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
