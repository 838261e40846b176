"""From guesses to a lower bound on μ that holds whatever the mechanism does.

An attacker who says "the record is there" with probability TPR when it is and FPR when it is not has shown that the
mechanism is not μ-GDP for any μ below Φ⁻¹(TPR) - Φ⁻¹(FPR): that is the trade-off curve of N(0, 1) against N(μ, 1). The
two probabilities are known from counts of independent runs, so they are replaced by the exact bounds of Clopper and
Pearson (1934), TPR from below and FPR from above.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv, ndtri

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["mu_lower_bound", "rate_lower_bound", "rate_upper_bound"]


def rate_lower_bound(count: "ArrayLike", runs: int, alpha: float) -> "NDArray[np.float64]":
    """A bound that exceeds the true rate with probability at most ``alpha``, from ``count`` of ``runs``."""
    hits = np.asarray(count, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1.0), runs - hits + 1.0, alpha)
    return np.where(hits > 0.0, found, 0.0)


def rate_upper_bound(count: "ArrayLike", runs: int, alpha: float) -> "NDArray[np.float64]":
    """A bound that falls below the true rate with probability at most ``alpha``."""
    return 1.0 - rate_lower_bound(runs - np.asarray(count, dtype=np.float64), runs, alpha)


def mu_lower_bound(hits: "ArrayLike", false_alarms: "ArrayLike", runs: int, alpha: float) -> "NDArray[np.float64]":
    """The μ that counts out of ``runs`` on either side prove, wrongly with probability at most ``alpha``."""
    shown = ndtri(rate_lower_bound(hits, runs, alpha / 2.0)) - ndtri(rate_upper_bound(false_alarms, runs, alpha / 2.0))
    return np.asarray(np.maximum(shown, 0.0))
