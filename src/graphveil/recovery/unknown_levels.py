"""How many records hold none of the levels that were declared: a misspelt level, or values that are missing.

Such a record counts in equal parts for all L levels. An indicator that is 0 or 1 has the variance m(1 - m) about its
mean m; one that is 1/L for a share u of the records falls short of it by u(L - 1)/L². So published means and variances
tell u, and nobody's record is asked again.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphveil.released.release import Release
from graphveil.spec.kinds import Category

if TYPE_CHECKING:
    from graphveil.recovery.estimate import Estimate

__all__ = ["surely_unknown", "unknown_levels", "unknown_share", "unlabelled_share"]

# Shares of 0 were found to be 0.02 at most where noise is small, and within 3 standard deviations where it is not.
_LEAST, _SURELY = 0.05, 4.0


def unknown_levels(release: Release, found: "Estimate") -> dict[str, float]:
    """Categories of which many records hold no declared level, and the share of these records."""
    codebook = release.domain.codebook
    if codebook is None or release.domain.variation != "total":  # averages are not indicators
        return {}
    shares = {}
    for name, kind, place in zip(codebook.names, codebook.kinds, codebook.places, strict=True):
        if isinstance(kind, Category) and not kind.nullable:
            share, sd = unknown_share(found, np.array(place))
            if surely_unknown(share, sd):
                shares[name] = share
    return shares


def unknown_share(found: "Estimate", indicators: NDArray[np.intp]) -> tuple[float, float]:
    """The share of records with none of the levels, and its standard deviation, from all levels but one."""
    n_levels, mean = len(indicators) + 1, found.location[indicators]
    variance = np.diag(found.noisy.matrix)[indicators]
    of_mean = (1.0 - 2.0 * mean) * found.location_sd[indicators]
    of_variance = found.relative_sd[indicators] * np.diag(found.covariance)[indicators]
    scale = (n_levels / (n_levels - 1)) ** 2
    share, sd = np.sum(mean * (1.0 - mean) - variance), np.linalg.norm(np.hypot(of_mean, of_variance))
    return min(scale * float(share), 1.0), scale * float(sd)


def unlabelled_share(release: Release) -> tuple[float, float]:
    """The same of a release with labels in one round, which counts the records of each class."""
    counts, n = release.class_counts, release.n_samples
    assert counts is not None
    return min(1.0 - float(counts.sum()) / n, 1.0), release.class_counts_sd * float(np.sqrt(len(counts))) / n


def surely_unknown(share: float, sd: float) -> bool:
    """Whether that many records are worth a warning, and noise alone does not look like it."""
    return share > max(_LEAST, _SURELY * sd)
