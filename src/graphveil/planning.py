"""What a budget buys, before it is spent: the release is rehearsed on simulated records.

Nothing here has seen a record. Rows are drawn from public models (small worlds, standardised, Gaussian), and go through
the same gate and the same recovery as real ones, with seeded noise.

A rehearsal with n rows does not need n rows. Noise depends on μn alone, so m < n rows with μ' = μn/m get the same,
and m rows can be given exactly the mean and the covariance that n would have had (:func:`_rows`). What is left to
correct is what the release believes of its sampling noise, which is known.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from graphveil import _validation
from graphveil._random import generator_for
from graphveil.exceptions import InvalidParameter, PrivacyWarning, warn_caller
from graphveil.gate import release
from graphveil.metrics import partial_correlations, relative_loss, roc_auc
from graphveil.recovery.analysis import Analysis
from graphveil.recovery.edge_intervals import SEEN
from graphveil.recovery.estimate import recover
from graphveil.simulate.graphs import small_world_precision
from graphveil.spec.budget import Budget
from graphveil.spec.domain import Domain
from graphveil.spec.forecast import LARGEST_EPSILON, Forecast, ForecastPoint
from graphveil.spec.gdp import delta_from_mu, epsilon_from_mu
from graphveil.spec.rounding import format_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["plan"]

T = TypeVar("T")

_FACTORS = (0.25, 0.5, 2.0, 4.0)  # of ε and of n, along which the forecast is drawn
_ROWS, _ROWS_A_COLUMN, _MOST_ROWS = 30_000, 30, 200_000  # simulated in one rehearsal
_LARGEST_MU = 8.0  # beyond it the sampler's lattice refuses; so many rows have hardly any privacy noise left
_SMALLEST_EPSILON, _MOST_TIMES = 1e-6, 1_000_000
_SMALLEST_TARGET = 1e-5  # to see less would take more than 10¹⁰ records
_CLOSE = 0.03  # relative; a search ends here
_MOST_TRIES, _STRIDE = 12, 1.5
_WITH_INTERVALS = 4  # rehearsals whose intervals are looked at: they hardly differ


def plan(
    n: int,
    p: int,
    budget: Budget,
    *,
    rows_per_person: int = 1,
    bounds_in_sd: float = 4.0,
    target: float = 0.1,
    progress: Callable[[int, int], None] | None = None,
) -> Forecast:
    """Forecast what a budget buys, without data and without spending anything.

    The private network (:class:`graphveil.PrivateGraphicalLasso`) is rehearsed on simulated records. Forecasts are for
    Gaussian records and sparse networks; skewed columns and rare events do worse. The same call always returns the same
    forecast.

    Parameters
    ----------
    n : int
        Number of records.
    p : int
        Number of variables.
    budget : Budget
        What would be spent.
    rows_per_person : int, default 1
        The largest number of records that one person has.
    bounds_in_sd : float, default 4
        Half the width of the public bounds, in standard deviations of a column; wider bounds cost a little.
    target : float, default 0.1
        A partial correlation that should be detected: the forecast says how many records, or how much ε, this needs.
    progress : callable, optional
        Called with the number of steps done and the total.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import graphveil as gv
    >>> forecast = gv.plan(n=5000, p=4, budget=gv.Budget(1.0, 1e-6))
    >>> forecast.here.n_eff < 5000
    True
    >>> gv.Forecast.from_json(forecast.to_json()) == forecast
    True
    """
    if not isinstance(budget, Budget):
        raise InvalidParameter.of("budget", "a gv.Budget", budget)
    case = _Case(
        n=_validation.integer("n", n, 1, 2**40),
        p=_validation.integer("p", p, 1, 2000),
        budget=budget,
        rows_per_person=_validation.integer("rows_per_person", rows_per_person, 1, 2**20),
        bounds_in_sd=_validation.number("bounds_in_sd", bounds_in_sd, "a number of at least 1", 1.0, 1e6),
    )
    rule = f"a number of at least {_SMALLEST_TARGET:g} and below 1"
    target = _validation.number("target", target, rule, _SMALLEST_TARGET, math.nextafter(1.0, 0.0))
    if budget.delta >= 1.0 / case.n:
        warn_caller(
            f"delta={format_exact(budget.delta)} is at least 1/n for n={case.n} records. Choose delta well below 1/n.",
            PrivacyWarning,
        )
    many, few = _replications(case.p)
    steps = _Steps(2 * len(_FACTORS) + 3, progress)
    here = steps.count(case.rehearse(many))
    around = [steps.count(case.at_epsilon(budget.epsilon * factor).rehearse(few)) for factor in _FACTORS]
    along = [steps.count(case.at_records(case.n * factor).rehearse(few)) for factor in _FACTORS]
    return Forecast(
        budget=budget,
        n_features=case.p,
        rows_per_person=case.rows_per_person,
        bounds_in_sd=case.bounds_in_sd,
        here=here,
        target=target,
        records_needed=steps.count(_records_needed(case, here, target)),
        epsilon_needed=steps.count(_epsilon_needed(case, here, target)),
        by_epsilon=tuple(sorted({*around, here}, key=lambda point: point.epsilon)),
        by_records=tuple(sorted({*along, here}, key=lambda point: point.n_samples)),
    )


@dataclass(frozen=True)
class _Case:
    """A release to rehearse."""

    n: int
    p: int
    budget: Budget
    rows_per_person: int
    bounds_in_sd: float

    def at_epsilon(self, epsilon: float) -> "_Case":
        return replace(self, budget=Budget(min(max(epsilon, _SMALLEST_EPSILON), LARGEST_EPSILON), self.budget.delta))

    def at_records(self, n: float) -> "_Case":
        return replace(self, n=max(1, round(n)))

    def rehearse(self, replications: int) -> ForecastPoint:
        """Medians over some rehearsals."""
        runs = [_rehearse(self, seed, intervals=seed < _WITH_INTERVALS) for seed in range(replications)]
        smallest = float(np.median([run.smallest_edge for run in runs if run.smallest_edge is not None]))
        areas = [run.auc for run in runs if run.auc is not None]
        return ForecastPoint(
            n_samples=self.n,
            epsilon=self.budget.epsilon,
            n_eff=float(np.median([run.n_eff for run in runs])),
            noise_sd=float(np.median([run.noise_sd for run in runs])),
            error=float(np.median([run.error for run in runs])),
            auc=float(np.median(areas)) if areas else None,
            smallest_edge=smallest if smallest < 1.0 else None,
        )


@dataclass(frozen=True)
class _Run:
    n_eff: float
    noise_sd: float
    error: float
    auc: float | None
    smallest_edge: float | None  # None: not looked at; 1: nothing is seen


def _replications(p: int) -> tuple[int, int]:
    """Rehearsals of what was asked, and of each point of the curves: more where they are quick and vary more."""
    many = int(np.clip(300 // p, 3, 15))
    return many, max(1, many // 4)


def _rehearse(case: _Case, seed: int, *, intervals: bool = True) -> _Run:
    """One release of simulated records, and how well its network comes out."""
    truth = _model(case.p, seed)
    m, budget = _smaller(case)
    rows = _rows(truth, case.n, m, generator_for("plan", str(case.n), str(case.p), str(seed)))
    domain = Domain(bounds=(-case.bounds_in_sd, case.bounds_in_sd), rows_per_person=case.rows_per_person)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        made = release(rows, domain=domain, budget=budget, random_state=seed)
        found = recover(made)
    noisy = replace(found.noisy, sampling=found.noisy.sampling * m / case.n)
    n_eff = 1.0 / (1.0 / found.n_eff - 1.0 / m + 1.0 / case.n)
    analysis = Analysis(made, replace(found, noisy=noisy, n_eff=n_eff))
    pairs = np.triu_indices(case.p, 1)
    precision, joined = analysis.network.solution.precision, truth != 0
    spread = np.sqrt(np.diag(noisy.denoised))
    private = replace(noisy, sampling=0.0).entry_sd / np.outer(spread, spread)
    return _Run(
        n_eff=n_eff,
        noise_sd=float(np.median(private[pairs] if case.p > 1 else private)),
        error=relative_loss(precision, truth),
        auc=roc_auc(np.abs(partial_correlations(precision)), joined)
        if 0 < joined[pairs].sum() < pairs[0].size
        else None,
        smallest_edge=_smallest_edge(analysis) if intervals else None,
    )


def _smallest_edge(analysis: Analysis) -> float:
    found = analysis.find_intervals(0.95).smallest_edge
    return 1.0 if found is None else found


def _model(p: int, seed: int) -> "NDArray[np.float64]":
    """Precision matrix of standardised columns: a small world, of fewer neighbours where there are few columns."""
    theta = small_world_precision(p, 2 if p < 10 else 4, random_state=seed)
    spread = np.sqrt(np.diag(np.linalg.inv(theta)))
    return np.asarray(theta * np.outer(spread, spread))


def _smaller(case: _Case) -> tuple[int, Budget]:
    """How many rows to draw, and the budget that gives them the noise of the case."""
    mu = case.budget.mu
    for_noise = min(math.ceil(mu * case.n / _LARGEST_MU), _MOST_ROWS)
    wanted = max(_ROWS, _ROWS_A_COLUMN * case.p, for_noise)
    if case.n <= wanted:
        return case.n, case.budget
    stronger = min(mu * case.n / wanted, _LARGEST_MU)
    epsilon = stronger**2 / 2.0  # where δ is moderate, so that the sampler's lattice has room
    return wanted, Budget(epsilon, delta_from_mu(stronger, epsilon))


def _rows(precision: "NDArray[np.float64]", n: int, m: int, generator: np.random.Generator) -> "NDArray[np.float64]":
    """``m`` Gaussian rows with the mean and the covariance that ``n`` would have had.

    The covariance of n rows about their mean is Wishart; its Cholesky factor has independent entries (Bartlett 1933).
    """
    p = len(precision)
    rows = generator.standard_normal((m, p))
    if m < n:
        rows -= rows.mean(axis=0)
        root = np.linalg.cholesky(rows.T @ rows / m)
        bartlett = np.tril(generator.standard_normal((p, p)), -1)
        np.fill_diagonal(bartlett, np.sqrt(generator.chisquare(n - 1 - np.arange(p))))
        mean = generator.standard_normal(p) / np.sqrt(n)
        rows = mean + rows @ np.linalg.solve(root.T, bartlett.T / np.sqrt(n))
    factor = np.linalg.cholesky(np.linalg.inv(precision))
    return np.ascontiguousarray(rows @ factor.T)


def _records_needed(case: _Case, here: ForecastPoint, target: float) -> int | None:
    if case.p < 2:
        return None
    # Where 1/n + noise/n² is the 1/n_eff that the target asks for.
    wanted, noise = _n_eff_for(target), _noise(here) * case.n**2
    guess = (wanted + math.sqrt(wanted**2 + 4.0 * wanted * noise)) / 2.0
    found = _search(case.at_records, guess, 1.0, float(case.n) * _MOST_TIMES, target)
    return None if found is None else round(found)


def _epsilon_needed(case: _Case, here: ForecastPoint, target: float) -> float | None:
    wanted = _n_eff_for(target)
    if case.p < 2 or wanted >= case.n:
        return None  # n records see what n records can: no ε does better
    mu = case.budget.mu * math.sqrt(_noise(here) / (1.0 / wanted - 1.0 / case.n))
    guess = min(max(epsilon_from_mu(mu, case.budget.delta), _SMALLEST_EPSILON), LARGEST_EPSILON)
    return _search(case.at_epsilon, guess, _SMALLEST_EPSILON, LARGEST_EPSILON, target)


def _n_eff_for(edge: float) -> float:
    return (SEEN / math.atanh(edge)) ** 2


def _noise(here: ForecastPoint) -> float:
    """What privacy adds to 1/n_eff; never quite nothing."""
    return max(1.0 / here.n_eff - 1.0 / here.n_samples, 1e-6 / here.n_samples)


def _search(case_at: Callable[[float], _Case], start: float, least: float, most: float, target: float) -> float | None:
    """Where ``target`` becomes the smallest edge that is seen, with one rehearsal a step.

    Regula falsi in logarithms, in which the curve is nearly straight; bisection next to where nothing is seen at all.
    """

    def excess(x: float) -> float:
        smallest = _rehearse(case_at(x), 0).smallest_edge
        return math.inf if smallest is None or smallest >= 1.0 else math.log(smallest / target)

    low = high = start
    above = below = excess(start)
    stride = _STRIDE
    while below > 0.0:
        if high >= most:
            return None
        low, above, high = high, below, min(stride * high, most)
        below, stride = excess(high), stride * _STRIDE
    while above <= 0.0:
        if low <= least:
            return least
        high, below, low = low, above, max(low / stride, least)
        above, stride = excess(low), stride * _STRIDE
    for _ in range(_MOST_TRIES):
        if below > -_CLOSE or high <= low * (1.0 + _CLOSE):
            break
        share = 0.5 if math.isinf(above) else min(max(above / (above - below), 0.1), 0.9)
        middle = low * (high / low) ** share
        value = excess(middle)
        low, above, high, below = (low, above, middle, value) if value <= 0.0 else (middle, value, high, below)
    return high


class _Steps:
    """Counts, and says so."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total, self._count, self._progress = total, 0, progress

    def count(self, result: T) -> T:
        self._count += 1
        if self._progress is not None:
            self._progress(self._count, self._total)
        return result
