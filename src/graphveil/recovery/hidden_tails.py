"""Tails that noise hides: part of a variance may lie in rows so few that no answer shows them.

Noise hides about 1/μ people. At the end of the bounds, B standard deviations away, so many hold a share of about

    h = B²/(nμ)

of a variance. Whether a tail goes on beyond what the release shows, nobody knows; that a column has one at all, with
probability f, the posterior of its variance tells. Of such columns, anything between nothing and h is equally likely
to be missing, but no more than there is: with m = min(h, 1), the mean square of what is missing is f m²/3, and a
standard deviation is off by more than a factor t with the probability f (1 - (t² - 1)/m).

The covariance with another column misses a part θ of that share: all, if the other one follows the column as a line
does, and hardly any, if it follows its logarithm. So a coefficient on the column is off by (1 − θ) of what is missing
from the variance, and a correlation by θ − ½. On simulated costs whose logarithm the outcome follows, intervals of the
coefficients covered 1 of 16 without this (benchmarks/rare_events.py).
"""

import numpy as np
from numpy.typing import NDArray

from graphveil._typing import Vector
from graphveil.recovery.column_variances import TOLERATED

__all__ = ["chance_of_hidden_tail", "find_hidden_tails", "hidden_tail_sd"]

# Where h is larger, or where records have longer tails than Gaussian ones and bounds beyond B standard deviations do
# not end them, intervals of standard deviations covered 54 to 89% instead of 95 (benchmarks/regression_intervals.py).
_LARGEST_SHARE, _LONG_TAILS, _WIDE_BOUNDS = 0.045, 1.1, 6.0


def find_hidden_tails(squares: Vector, hidden_rows: float, kurtosis: float) -> NDArray[np.bool_]:
    """Columns whose standard deviation has no interval, because of tails that the bounds allow and nobody can see.

    Parameters
    ----------
    squares : (p,) array
        B², the squared distance from the mean to the farther bound over the variance.
    hidden_rows : float
        Share of the rows that noise hides.
    kurtosis : float
        Of the norms of records; 1 for Gaussian ones.
    """
    hidden = squares * hidden_rows > _LARGEST_SHARE
    return np.asarray(hidden | ((kurtosis > _LONG_TAILS) & (squares > _WIDE_BOUNDS**2)))


def hidden_tail_sd(squares: Vector, hidden_rows: float, far: Vector) -> Vector:
    """Root of the mean square of what is missing from each variance, relative to it.

    ``far`` are the probabilities that columns have their variance in few rows; the rest as above.
    """
    return np.asarray(np.minimum(squares * hidden_rows, 1.0) * np.sqrt(far / 3.0))


def chance_of_hidden_tail(squares: Vector, hidden_rows: float, far: Vector) -> Vector:
    """Probability that so much is missing that a standard deviation is off by more than ``TOLERATED``."""
    most = np.minimum(squares * hidden_rows, 1.0)
    return np.asarray(far * np.maximum(1.0 - (TOLERATED**2 - 1.0) / np.maximum(most, 1e-300), 0.0))
