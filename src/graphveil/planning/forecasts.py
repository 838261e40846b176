"""`gv.plan`: the forecast for a release and for others around it, and what a target would need."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from graphveil import _validation
from graphveil.exceptions import InvalidParameter, PrivacyWarning, warn_caller
from graphveil.planning.closed_form import foresee
from graphveil.spec.budget import Budget, allows_a_record
from graphveil.spec.case import SMALLEST_EPSILON, Case
from graphveil.spec.forecast import LARGEST_EPSILON, SEEN, Forecast, ForecastPoint
from graphveil.spec.gdp import epsilon_from_mu
from graphveil.spec.rounding import format_exact

__all__ = ["plan"]

T = TypeVar("T")
Foresee = Callable[[Case], ForecastPoint]

_FACTORS = (0.25, 0.5, 2.0, 4.0)  # of ε and of n, along which the forecast is drawn
_MOST_TIMES = 1_000_000
_SMALLEST_TARGET = 1e-5  # to see less would take more than 10¹⁰ records
_CLOSE = 0.03  # relative; a search ends here
_MOST_TRIES, _STRIDE = 12, 1.5


def plan(
    n: int,
    p: int,
    budget: Budget,
    *,
    rows_per_person: int = 1,
    bounds_in_sd: float = 4.0,
    neighbours: str = "replace",
    target: float = 0.1,
    rehearse: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Forecast:
    """Forecast what to expect from a budget, without data and without spending anything.

    A formula gives the answer at once, within a quarter of the outcome wherever anything can be learned. With
    ``rehearse``, the private network (:class:`graphveil.PrivateGraphicalLasso`) is computed several times from
    simulated records instead. This takes seconds, shows how well edges would be ranked, and is more accurate if records
    are few. Forecasts are for Gaussian records and sparse networks; skewed columns and rare events do worse. The same
    call always returns the same forecast.

    Parameters
    ----------
    n : int
        Number of records, or of people with a person column. With survey weights, divide it by the largest weight over
        the mean weight.
    p : int
        Number of variables.
    budget : Budget
        The planned budget.
    rows_per_person : int, default 1
        The largest number of records of one person.
    bounds_in_sd : float, default 4
        Half the width of the public bounds, in standard deviations of a column; wider bounds cost a little.
    neighbours : {"replace", "add-remove"}
        What is protected, as in :class:`~graphveil.Domain`: the content of a person's records, or membership too.
    target : float, default 0.1
        A partial correlation that should be detected: the forecast says how many records, or how much ε, this needs.
    rehearse : bool, default False
        Whether to rehearse the release on simulated records.
    progress : callable, optional
        Called with the number of rehearsals done and the total.

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
    case = Case(
        n=_validation.integer("n", n, 1, 2**40),
        p=_validation.integer("p", p, 1, 2000),
        budget=budget,
        rows_per_person=_validation.integer("rows_per_person", rows_per_person, 1, 2**20),
        bounds_in_sd=_validation.number("bounds_in_sd", bounds_in_sd, "a number of at least 1", 1.0, 1e6),
        neighbours=_validation.choice("neighbours", neighbours, ["replace", "add-remove"]),
    )
    rule = f"a number of at least {_SMALLEST_TARGET:g} and below 1"
    target = _validation.number("target", target, rule, _SMALLEST_TARGET, math.nextafter(1.0, 0.0))
    if allows_a_record(budget.delta, case.n):
        warn_caller(
            f"delta={format_exact(budget.delta)} is at least 1/n for n={case.n} records. Choose delta well below 1/n.",
            PrivacyWarning,
        )
    if not rehearse:
        return _forecast(case, target, (foresee, foresee, foresee), _Steps(None), rehearsed=False)
    from graphveil.planning.rehearsal import rehearse as rehearse_case

    # Rehearsals of the planned point, of each point of the curves, of each try of a search; more if quick and variable.
    many = min(max(300 // case.p, 3), 15)
    numbers = many, max(1, many // 4), 1
    by_number = [lambda case, number=number: rehearse_case(case, number) for number in numbers]
    return _forecast(case, target, by_number, _Steps(progress), rehearsed=True)


def _forecast(case: Case, target: float, foresee: Sequence[Foresee], steps: "_Steps", *, rehearsed: bool) -> Forecast:
    """The forecast for a case, by what foresees it, the points around it, and what the target needs."""
    answer, sketch, search = foresee
    here = steps.count(answer(case))
    around = [steps.count(sketch(case.at_epsilon(case.budget.epsilon * factor))) for factor in _FACTORS]
    along = [steps.count(sketch(case.at_records(case.n * factor))) for factor in _FACTORS]
    return Forecast(
        budget=case.budget,
        n_features=case.p,
        rows_per_person=case.rows_per_person,
        bounds_in_sd=case.bounds_in_sd,
        neighbours=case.neighbours,
        here=here,
        target=target,
        records_needed=steps.count(_records_needed(case, here, target, search)),
        epsilon_needed=steps.count(_epsilon_needed(case, here, target, search)),
        by_epsilon=tuple(sorted({*around, here}, key=lambda point: point.epsilon)),
        by_records=tuple(sorted({*along, here}, key=lambda point: point.n_samples)),
        rehearsed=rehearsed,
    )


def _records_needed(case: Case, here: ForecastPoint, target: float, foresee: Foresee) -> int | None:
    if case.p < 2:
        return None
    # Where 1/n + noise/n² is the 1/n_eff that the target asks for.
    wanted, noise = _n_eff_for(target), _noise(here) * case.n**2
    guess = (wanted + math.sqrt(wanted**2 + 4.0 * wanted * noise)) / 2.0
    found = _search(foresee, case.at_records, guess, 1.0, float(case.n) * _MOST_TIMES, target)
    return None if found is None else round(found)


def _epsilon_needed(case: Case, here: ForecastPoint, target: float, foresee: Foresee) -> float | None:
    wanted = _n_eff_for(target)
    if case.p < 2 or wanted >= case.n:
        return None  # n records see what n records can: no ε does better
    mu = case.budget.mu * math.sqrt(_noise(here) / (1.0 / wanted - 1.0 / case.n))
    guess = min(max(epsilon_from_mu(mu, case.budget.delta), SMALLEST_EPSILON), LARGEST_EPSILON)
    return _search(foresee, case.at_epsilon, guess, SMALLEST_EPSILON, LARGEST_EPSILON, target)


def _n_eff_for(edge: float) -> float:
    return (SEEN / math.atanh(edge)) ** 2


def _noise(here: ForecastPoint) -> float:
    """What privacy adds to 1/n_eff; never quite nothing."""
    return max(1.0 / here.n_eff - 1.0 / here.n_samples, 1e-6 / here.n_samples)


def _search(
    foresee: Foresee, case_at: Callable[[float], Case], start: float, least: float, most: float, target: float
) -> float | None:
    """Where ``target`` becomes the smallest edge that is seen.

    Regula falsi in logarithms, in which the curve is nearly straight; bisection next to where nothing is seen at all.
    """

    def excess(x: float) -> float:
        smallest = foresee(case_at(x)).smallest_edge
        return math.inf if smallest is None else math.log(smallest / target)

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
    """Counts the parts of a forecast, and says so."""

    _TOTAL = 2 * len(_FACTORS) + 3

    def __init__(self, progress: Callable[[int, int], None] | None) -> None:
        self._count, self._progress = 0, progress

    def count(self, result: T) -> T:
        self._count += 1
        if self._progress is not None:
            self._progress(self._count, self._TOTAL)
        return result
