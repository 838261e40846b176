"""What to expect from a budget: numbers about simulated records, made before anything is spent."""

import math
from dataclasses import dataclass, field
from typing import Any

from graphveil import _validation
from graphveil._html import facts_html
from graphveil.exceptions import InvalidParameter
from graphveil.spec.budget import Budget
from graphveil.spec.rounding import format_exact, format_round_up
from graphveil.spec.serialization import LATER, Record

__all__ = ["LARGEST_EPSILON", "SEEN", "Forecast", "ForecastPoint"]

LARGEST_EPSILON = 32.0  # larger values would not count as private
SEEN = 1.96 + 0.84  # standard deviations at which a two-sided 5% test rejects four times out of five
_ALMOST_ONE = 1.0 - 1e-9  # Fisher's z of 1 is infinite
_LARGEST = 1e100  # what a plan never reaches; a chart has room for it


@dataclass(frozen=True)
class ForecastPoint(Record):
    """What is expected of one release.

    Attributes
    ----------
    n_samples : int
    epsilon : float
    n_eff : float
        Number of noise-free rows that would give an equally accurate estimate.
    noise_sd : float
        Standard deviation of the privacy noise in a correlation.
    error : float
        Median of ‖Θ̂ − Θ‖/‖Θ‖ (Frobenius) for the private network; answering zero scores 1.
    auc : float or None
        Chance that a pair that is joined ranks above one that is not; None where there are not both kinds, and without
        a rehearsal.
    smallest_edge : float or None
        Partial correlation whose 95% interval lies on one side of zero four times out of five; None where there are no
        intervals, because the release has less than two effective records per column.
    """

    n_samples: int
    epsilon: float
    n_eff: float
    noise_sd: float
    error: float
    auc: float | None
    smallest_edge: float | None

    @property
    def coefficient_sd(self) -> float | None:
        """Standard error of a standardised regression coefficient; None without intervals.

        For columns that are unrelated to each other. Where columns explain a share R² of the outcome, and the others a
        share r² of the column that the coefficient belongs to, it is √((1 - R²)/(1 - r²)) times that.
        """
        return None if self.smallest_edge is None else math.atanh(min(self.smallest_edge, _ALMOST_ONE)) / SEEN

    def __post_init__(self) -> None:
        _validation.integer("n_samples", self.n_samples, 1, 2**62)
        for name in ("n_eff", "noise_sd", "error"):
            _validation.number(name, getattr(self, name), f"a number from 0 to {_LARGEST:g}", 0.0, _LARGEST)
        Budget(self.epsilon, 0.5)  # whatever its δ
        for name in ("auc", "smallest_edge"):
            if getattr(self, name) is not None:
                _validation.number(name, getattr(self, name), "a number in [0, 1], or None", 0.0, 1.0)


@dataclass(frozen=True)
class Forecast(Record):
    """What to expect from a budget, made by :func:`graphveil.plan` from public numbers alone.

    It can be saved: ``Forecast.from_json(forecast.to_json()) == forecast``. A report compares a release with it.

    Attributes
    ----------
    budget : Budget
    n_features, rows_per_person : int
    bounds_in_sd : float
        Half the width of the public bounds, in standard deviations of a column.
    here : ForecastPoint
        The forecast for the planned release.
    target : float
        The partial correlation that should be detected.
    records_needed : int or None
        Records needed for that at this budget; None if there is no such number up to a million times as many.
    epsilon_needed : float or None
        ε needed for that with these records; None if no ε up to LARGEST_EPSILON is enough.
    by_epsilon, by_records : tuples of ForecastPoint
        The same along a range of ε, and of numbers of records, in increasing order; ``here`` is among them.
    rehearsed : bool
        Whether the numbers come from rehearsals on simulated records; otherwise from a formula.
    neighbours : str
        What would be protected, as in :class:`~graphveil.Domain`.
    """

    budget: Budget
    n_features: int
    rows_per_person: int
    bounds_in_sd: float
    here: ForecastPoint
    target: float
    records_needed: int | None
    epsilon_needed: float | None
    by_epsilon: tuple[ForecastPoint, ...]
    by_records: tuple[ForecastPoint, ...]
    rehearsed: bool = field(default=True, metadata=LATER)
    neighbours: str = field(default="replace", metadata=LATER)

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise InvalidParameter.of("budget", "a Budget", self.budget)
        if not isinstance(self.rehearsed, bool):
            raise InvalidParameter.of("rehearsed", "true or false", self.rehearsed)
        _validation.choice("neighbours", self.neighbours, ["replace", "add-remove"])
        curves: tuple[Any, ...] = (self.by_epsilon, self.by_records)
        for points in curves:
            if not isinstance(points, tuple) or not all(isinstance(point, ForecastPoint) for point in points):
                raise InvalidParameter("the curves of a forecast are tuples of ForecastPoint records.")
            if self.here not in points:
                raise InvalidParameter("both curves of a forecast must hold the planned point.")
        if self.records_needed is not None:
            _validation.integer("records_needed", self.records_needed, 1, 2**62)
        if self.epsilon_needed is not None:
            _validation.number(
                "epsilon_needed", self.epsilon_needed, "a positive number", 0.0, math.inf, open_ends=True
            )
        _validation.integer("n_features", self.n_features, 1)
        _validation.integer("rows_per_person", self.rows_per_person, 1)
        _validation.number("bounds_in_sd", self.bounds_in_sd, "a positive number", 0.0, math.inf, open_ends=True)
        _validation.number("target", self.target, "a number in (0, 1)", 0.0, 1.0, open_ends=True)

    @property
    def n_samples(self) -> int:
        """Number of records of the planned release."""
        return self.here.n_samples

    @property
    def sentences(self) -> tuple[str, ...]:
        """The forecast in words."""
        here, p = self.here, self.n_features
        said = [
            f"{here.n_samples:,} records with this noise carry as much information as {here.n_eff:,.0f} noise-free "
            "records" + (f", fewer than the {p} variables: edges would not be reliable." if here.n_eff < p else ".")
        ]
        if p > 1:
            said += [self._describe_smallest_edge(), self._describe_needs()]
        said.append(
            f"The precision matrix would be off by about {100.0 * here.error:.2g}% (answering zero: 100%) if bounds "
            f"extend {self.bounds_in_sd:g} standard deviations on either side of a column's mean. Wider bounds cost "
            f"more."
        )
        return tuple(said)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        spent = f"ε = {format_exact(self.budget.epsilon)}, δ = {format_exact(self.budget.delta)}"
        here = f"{self.n_samples:,} records, {self.n_features} variables, {spent}"
        return facts_html("Forecast", [(here, sentence) for sentence in self.sentences])

    def _describe_smallest_edge(self) -> str:
        if self.here.smallest_edge is None:
            return "No partial correlation could be distinguished from noise."
        smallest = f"{self.here.smallest_edge:.2g}"
        return f"Partial correlations of {smallest} or more would be detected four times out of five."

    def _describe_needs(self) -> str:
        records = "no number of records" if self.records_needed is None else f"about {self.records_needed:,} records"
        epsilon = f"no ε up to {LARGEST_EPSILON:g}"
        if self.epsilon_needed is not None:
            epsilon = f"ε = {format_round_up(self.epsilon_needed, 2)}"
        return f"To detect {self.target:g}: {records} at this budget, or {epsilon} with these records."
