"""Class shares, class means and the scatter within classes from a release: the inputs of a linear discriminant.

There are two ways to release them. With many records, labels are columns among others, and the adaptive rounds find the
covariance of all of them. With few, one round releases the moments of (z, ch), where z is a row and h the one-hot of
its label: the second moment of z, its sums in each class, and the counts. With c equal to the bound R of ‖z‖, the
noise of the sums is 2R/(nμ) in every coordinate, hardly more than the √2R/(nμ) that it would be if nothing else were
asked. Among whitened columns, of which the label is one, it is R²/(nμ), with R² about p.

The noise of one round is the same in all directions. So class means are shrunk towards their common mean as far as all
of them together look like noise (James and Stein), and the scatter within classes is denoised like any covariance
(:mod:`graphveil.recovery.shrinkage`).
"""

from dataclasses import dataclass

import numpy as np

from graphveil._typing import Matrix, Vector
from graphveil.protocol.parameters import PROTOCOL
from graphveil.recovery.column_scales import has_few_records
from graphveil.recovery.estimate import Estimate
from graphveil.recovery.protocol import ProtocolInputs
from graphveil.recovery.shrinkage import denoise, refined_trace_sd
from graphveil.released.release import Release

__all__ = ["ONE_ROUND_NORM", "ClassMoments", "classes_from_columns", "classes_from_sums", "one_round_is_enough"]

# Rows are shortened to this share of what their bounds allow. Accuracies at 0.45 and at 0.6 are within a point of each
# other, and at 1 worse by up to 8 where records are few (benchmarks/classify.py, and Gaussian classes).
ONE_ROUND_NORM = 0.6
_LEAST_SHARE = 0.01  # of a class: with noise its share may come out as zero
_SURELY = 3.0  # standard deviations of what is missing from the counts, from which on some labels are unknown


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Estimates of the classes, in user's units.

    Attributes
    ----------
    shares : (k,) array
        Of the classes; positive, with sum 1.
    location : (p,) array
        The mean of all classes together.
    means : (k, p) array
    covariance, precision : (p, p) arrays
        Within classes, inverse to each other.
    n_eff : float
        Number of noise-free rows whose scatter would be as accurate.
    """

    shares: Vector
    location: Vector
    means: Matrix
    covariance: Matrix
    precision: Matrix
    n_eff: float


def one_round_is_enough(inputs: ProtocolInputs) -> bool:
    """Whether labels are better released beside the rows, in one round, than as columns; from public numbers.

    They are where adaptive rounds would have too few records for their histograms, or could tell little more than the
    scale of the rows.
    """
    sd = inputs.noise(1.0) * PROTOCOL.blind_radius**2 * inputs.n_features
    n_eff = 1.0 / (1.0 / inputs.n_samples + sd**2 / 2.0)
    return has_few_records(inputs) or n_eff < PROTOCOL.few_records * inputs.n_features


def classes_from_columns(found: Estimate, n_classes: int) -> ClassMoments:
    """From an estimate whose last columns are the indicators of all classes but the last."""
    p = len(found.covariance) - n_classes + 1
    shares = found.location[p:]
    shares = np.clip(np.append(shares, 1.0 - shares.sum()), _LEAST_SHARE, 1.0)
    shares = shares / shares.sum()
    # cov(x, indicator of k) = share_k (mean_k - mean); the last class makes the sum zero.
    pulls = found.covariance[:p, p:].T
    pulls = np.vstack([pulls, -pulls.sum(axis=0)])
    location, precision = found.location[:p], found.precision[:p, :p]
    means = location + pulls / shares[:, None]
    return ClassMoments(shares, location, means, _inverse(precision), precision, found.n_eff)


def classes_from_sums(release: Release) -> ClassMoments:
    """From a release with labels in one round."""
    counts, sums, n = release.class_counts, release.class_sums, release.n_samples
    assert counts is not None
    assert sums is not None
    k, p = sums.shape
    counted, counted_sd = counts / n, release.class_counts_sd / n
    labelled = float(counted.sum())
    if labelled > 1.0 - _SURELY * np.sqrt(k) * counted_sd:
        labelled = 1.0
    # A class of which noise hides whether it is there has at least as much as noise hides.
    shares = np.maximum(counted, max(counted_sd, _LEAST_SHARE))
    shares = shares / shares.sum()
    sums, sums_sd = sums / labelled, release.class_sums_sd / labelled
    mean = sums.sum(axis=0)
    apart = sums - np.outer(shares, mean)
    mean = mean * _shrinkage(mean, k * p * sums_sd**2)
    apart = apart * _shrinkage(apart, float(np.sum((np.eye(k) - shares[:, None]) ** 2)) * p * sums_sd**2)
    centre, half, ends = release.domain.scaling(shift=True)
    means = np.clip(mean + apart / shares[:, None], *ends)
    between = (means.T * shares) @ means
    scale, sd = np.outer(half, half), release.noise_scale
    within = denoise(release.second_moment / scale - between, sd, trace_sd=refined_trace_sd(sd, p), n_samples=n)
    means, covariance = centre + half * means, within.matrix * scale
    return ClassMoments(shares, shares @ means, means, covariance, _inverse(covariance), 2.0 / within.relative_sd**2)


def _shrinkage(noisy: Matrix, noise: float) -> float:
    """What James and Stein keep of numbers whose noise has this sum of squares on average."""
    square = float(np.sum(noisy**2))
    return 1.0 - noise / square if square > noise else 0.0


def _inverse(matrix: Matrix) -> Matrix:
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2.0)
