"""The forecast as a formula, which takes milliseconds, so that a slider can be moved.

The number of effective records follows from the protocol itself. Its last round whitens rows and clips them to a
radius, which it finds from a histogram of their norms. For Gaussian rows that histogram is known (a χ distribution),
and so are the radius and the noise (:mod:`graphveil.recovery.clipping_radius`):

    1/n_eff = 1/n + (σ/c)²/2,  σ = √2 k (R² + 1)/(μ √share n),  c: what Gaussian rows keep at R.

With ``neighbours="add-remove"`` a person who is added moves a count or a moment √2 times less than one who is replaced,
and a little of μ² is spent on the number of people.

Numbers from a release then have the sampling error of n_eff records, times a factor that grows with the number of
columns. With few records, the variances of the columns are uncertain too. The factors were fitted to rehearsals
(:mod:`graphveil.planning.rehearsal`): ``benchmarks/forecast.py`` shows how well.
"""

import math
from typing import NamedTuple

import numpy as np

from graphveil.planning.case import Case
from graphveil.recovery.clipping_radius import choose_radius, kept_of_gaussian, norm_edges
from graphveil.recovery.network import RELIABLE
from graphveil.recovery.parameters import PROTOCOL
from graphveil.recovery.private_count import mu_after_count
from graphveil.spec.forecast import SEEN, ForecastPoint

__all__ = ["foresee"]

# Of a small world, as rehearsals simulate it: columns that a column is joined to, and the mean square of an entry of
# the precision that joins two, relative to the diagonal.
_FEW_COLUMNS = 10
_NEIGHBOURS, _ENTRY = (2, 4), (0.3, 0.1)  # of fewer columns, and of more
_CROWDED_ERROR = 6.0  # what p/n_eff adds to the error, relatively: entries of the network that are missed or too much
_CROWDED_EDGE = 0.45  # what √(p/n_eff) adds to the standard deviation of a partial correlation, relatively
# How unsure the scale of a column is where counts have this noise, as a share of the records, squared; and its part in
# the standard deviation of a partial correlation.
_UNSURE, _UNSURE_EDGE = 98.0, 0.5
_NOTHING = 0.6  # error if only the scale can be learned; the error approaches it smoothly
_SMOOTH = 4.0


def foresee(case: Case) -> ForecastPoint:
    """The expected results of a release."""
    n, p = case.n, case.p
    n_eff, private = _effective_records(case)
    unsure = (_UNSURE * _square_noise(case, 1.0)) ** 2
    neighbours, entry = min(p - 1, _NEIGHBOURS[p >= _FEW_COLUMNS]), _ENTRY[p >= _FEW_COLUMNS]
    entries = math.sqrt((2.0 + neighbours) / (1.0 + neighbours * entry))
    error = math.hypot(entries / math.sqrt(n_eff) * (1.0 + _CROWDED_ERROR * p / n_eff), unsure)
    sd = math.hypot((1.0 + _CROWDED_EDGE * math.sqrt(p / n_eff)) / math.sqrt(n_eff), _UNSURE_EDGE * unsure)
    smallest = math.tanh(SEEN * sd)
    return ForecastPoint(
        n_samples=n,
        epsilon=case.budget.epsilon,
        n_eff=n_eff,
        noise_sd=private / math.sqrt(2.0 if p > 1 else 1.0),
        error=(error**-_SMOOTH + _NOTHING**-_SMOOTH) ** (-1.0 / _SMOOTH),
        auc=None,
        smallest_edge=smallest if p > 1 and n_eff >= RELIABLE * p and smallest < 1.0 else None,
    )


def _count_noise(case: Case, share: float) -> float:
    """Standard deviation of a count that gets ``share`` of μ², as a share of the records."""
    return _square_noise(case, share) / (math.sqrt(2.0) if case.hides_count else 1.0)


def _square_noise(case: Case, share: float) -> float:
    """Of a mean square, in units of its largest value over √2: one who comes moves it as far as one who is replaced."""
    mu = mu_after_count(case.budget.mu) if case.hides_count else case.budget.mu
    return math.sqrt(2.0 / share) * case.rows_per_person / (mu * case.n)


class _LastRound(NamedTuple):
    """The last round's radius, what Gaussian rows keep there, and the share of μ² that its moments get."""

    radius: float
    kept: float
    share: float


def _effective_records(case: Case) -> tuple[float, float]:
    """n_eff, and the standard deviation of the privacy noise of a whitened variance."""
    last = _last_round(case)
    constant = min(PROTOCOL.constant, last.radius)
    noise = _count_noise(case, last.share) * (last.radius**2 + constant**2) / last.kept
    return 1.0 / (1.0 / case.n + noise**2 / 2.0), noise


def _last_round(case: Case) -> _LastRound:
    p = case.p
    left = 1.0 - PROTOCOL.mean_share - PROTOCOL.squares_share - PROTOCOL.weighted_squares_share
    for rounds, histogram in (PROTOCOL.clear_rounds, PROTOCOL.noisy_rounds):
        if _count_noise(case, histogram * rounds[0] * left) < PROTOCOL.largest_count_noise:
            return _round_with_norms(case, rounds[-1] * left, histogram)
    radius = PROTOCOL.blind_radius * math.sqrt(p)
    # Columns are scaled by variances that are mostly noise where that is larger than they are.
    squares = case.bounds_in_sd**2 * math.sqrt(p / 2.0) * _square_noise(case, PROTOCOL.weighted_squares_share)
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
