"""The number of effective records that a release will have, and how many records give so many.

It follows from the protocol itself. The last round whitens rows and clips them to a radius, which it finds from a
histogram of their norms. For Gaussian rows that histogram is known (a χ distribution), and so are the radius and the
noise (:mod:`graphveil.recovery.clipping_radius`):

    1/n_eff = 1/n + (σ/c)²/2,  σ = √2 k (R² + 1)/(μ √share n),  c: what Gaussian rows keep at R.

With ``neighbours="add-remove"`` a person who is added moves a count or a moment √2 times less than one who is replaced,
and a little of μ² is spent on the number of people.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.schedule import Schedule
from graphveil.recovery.clipping_radius import choose_radius, kept_of_gaussian, norm_edges
from graphveil.spec.case import Case

__all__ = ["effective_records", "records_for", "square_noise"]

_MOST = 2.0**50


def effective_records(case: Case) -> tuple[float, float]:
    """n_eff, and the standard deviation of the privacy noise of a whitened variance."""
    last = _last_round(case)
    constant = min(PROTOCOL.constant, last.radius)
    noise = _count_noise(case, last.share) * (last.radius**2 + constant**2) / last.kept
    return 1.0 / (1.0 / case.n + noise**2 / 2.0), noise


def records_for(case: Case, n_eff: float) -> int | None:
    """How many records give ``n_eff`` effective ones, at least those of the case; None where no number does."""
    low = high = float(case.n)
    while effective_records(replace(case, n=round(high)))[0] < n_eff:
        low, high = high, 2.0 * high
        if high > _MOST:
            return None
    while high > 1.01 * low and high - low > 1.0:
        middle = math.sqrt(low * high)
        enough = effective_records(replace(case, n=round(middle)))[0] >= n_eff
        low, high = (low, middle) if enough else (middle, high)
    return math.ceil(high)


def square_noise(case: Case, share: float) -> float:
    """Of a mean square, in units of its largest value over √2: one who comes moves it as far as one who is replaced."""
    mu = Schedule.of(case.domain).mu_left(case.budget.mu)
    return math.sqrt(2.0 / share) * case.rows_per_person / (mu * case.n)


def _count_noise(case: Case, share: float) -> float:
    """Standard deviation of a count that gets ``share`` of μ², as a share of the records."""
    return square_noise(case, share) / (math.sqrt(2.0) if case.hides_count else 1.0)


class _LastRound(NamedTuple):
    """The last round's radius, what Gaussian rows keep there, and the share of μ² that its moments get."""

    radius: float
    kept: float
    share: float


def _last_round(case: Case) -> _LastRound:
    p = case.p
    left = 1.0 - PROTOCOL.mean_share - PROTOCOL.squares_share - PROTOCOL.weighted_squares_share
    for rounds, histogram in (PROTOCOL.clear_rounds, PROTOCOL.noisy_rounds):
        if _count_noise(case, histogram * rounds[0] * left) < PROTOCOL.largest_count_noise:
            return _round_with_norms(case, rounds[-1] * left, histogram)
    radius = PROTOCOL.blind_radius * math.sqrt(p)
    # Columns are scaled by variances that are mostly noise where that is larger than they are.
    squares = case.bounds_in_sd**2 * math.sqrt(p / 2.0) * square_noise(case, PROTOCOL.weighted_squares_share)
    kept = float(kept_of_gaussian(p, np.array(radius**2))) / max(1.0, squares)
    return _LastRound(radius, kept, left)


def _round_with_norms(case: Case, share: float, histogram: float) -> _LastRound:
    from scipy.special import chdtr

    p, rest, tail = case.p, (1.0 - histogram) * share, PROTOCOL.tail_share * share
    count_noise = _count_noise(case, histogram * share)
    edges = norm_edges(p, case.bounds_in_sd * math.sqrt(p), count_noise)
    below = np.concatenate([[0.0], chdtr(p, edges.inner**2), [1.0]])
    found = choose_radius(np.diff(below) * case.n, count_noise * case.n, edges, p, _count_noise(case, rest - tail))
    asks_for_tail = found.reach_of_excess(p, _count_noise(case, tail)) is not None
    return _LastRound(found.value, found.kept, rest - tail if asks_for_tail else rest)
