"""What is published of directions whose variance is hardly known.

Denoising knows the noise that all columns share. Of a rare column clipping leaves little; brought back to its variance,
its correlations are noisier than others, and what is missing of it may be correlated otherwise: two such columns may
look like one. Along an eigenvector u of the correlations, the variance y that was found is a view of the true one,
λ > 0, with the standard deviation s:

    s² = (Σ u_j² b_j)² + 2 c² ((Σ u_j² ℓ_j)² - Σ u_j⁴ ℓ_j²),

where b_j is the noise that column j has beyond most, ℓ_j what is missing of it, and c the standard deviation of the
difference between correlations of missing parts and of others, one for each pair. Published is E λ²/E λ, as of
variances: the number for which the expected squared relative error of the precision is least. With every λ equally
likely before, it is y where y is large beside s, and √(π/2) s where y is nothing.
"""

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.protocol.parameters import PROTOCOL

__all__ = ["least_risky_variance", "raise_uncertain_directions"]

_KNOWN = 10.0  # standard deviations: the variance of a direction would grow by less than a hundredth


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
    sd = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(sd, sd)
    most = np.hypot(beyond, np.sqrt(2.0) * PROTOCOL.lost_correlation * missing)  # weighed by u_j², at least s
    if _is_positive_definite(correlation - _KNOWN * np.diag(most)):
        return covariance
    values, vectors = np.linalg.eigh(correlation)
    weights = vectors.T**2
    pairs = (weights @ missing) ** 2 - weights**2 @ missing**2
    uncertain = np.hypot(weights @ beyond, PROTOCOL.lost_correlation * np.sqrt(2.0 * np.maximum(pairs, 0.0)))
    raised = (vectors * least_risky_variance(values, uncertain)) @ vectors.T
    sd = sd / np.sqrt(np.diag(raised))
    return np.asarray(raised * np.outer(sd, sd))


def least_risky_variance(found: Vector, sd: Vector) -> Vector:
    """E λ²/E λ of λ > 0 that were found with normal errors."""
    from scipy.special import erfcx  # slow to import, and rarely needed

    sd = np.maximum(sd, 1e-12)  # correlations are not known any better
    hazard = np.sqrt(2.0 / np.pi) / erfcx(-found / sd / np.sqrt(2.0))
    return np.asarray(found + sd**2 / (found + sd * hazard))


def _is_positive_definite(matrix: Matrix) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
