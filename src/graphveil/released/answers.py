"""One answer: the query, the distribution of its noise, and the noisy numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.events import GaussianStep
from graphveil.spec.queries import Query, RowCount, TotalWeight
from graphveil.spec.rounding import format_round_up
from graphveil.spec.row_space import RowSpace

__all__ = ["Answer", "SurveyWeights", "released_count", "released_weights", "unit_factor"]


@dataclass(frozen=True, eq=False)
class Answer:
    """A noisy answer.

    Attributes
    ----------
    query : Query
        What was asked.
    step : GaussianStep
        The law of the noise, in units of the integer sums.
    factor : float
        From integer sums to natural units: averages over rows in scaled units, or counts.
    values : dict of (count,) arrays
        Noisy numbers by group, in natural units.
    """

    query: Query
    step: GaussianStep
    factor: float
    values: dict[str, NDArray[np.float64]]

    def __post_init__(self) -> None:
        _validation.number("factor", self.factor, "a positive number", 0.0, float("inf"), open_ends=True)
        counts = {group.name: (group.count,) for group in self.step.groups}
        if {name: values.shape for name, values in self.values.items()} != counts:
            raise InvalidParameter("an answer's values do not have the shape that its step declares.")

    def __repr__(self) -> str:
        numbers = sum(group.count for group in self.step.groups)
        mu = format_round_up(self.step.mu, 4)
        return f"Answer({type(self.query).__name__}, {numbers:,} noisy numbers, mu = {mu})"

    def sd(self, group: str) -> float:
        """Standard deviation of the noise of a group, in natural units."""
        sd = self.step.sd(group)
        if sd is None:
            raise InvalidParameter(f"a round has no group {group!r}.")
        return sd * self.factor

    def facts(self) -> dict[str, Any]:
        """Everything but arrays, for the header of a file."""
        return {"query": self.query.facts(), "step": self.step.to_dict(), "factor": self.factor}

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """All arrays, for the body of a file."""
        asked = {f"query.{name}": values.ravel() for name, values in self.query.arrays().items()}
        return asked | self.values

    @classmethod
    def rebuild(cls, facts: dict[str, Any], arrays: dict[str, NDArray[np.float64]]) -> "Answer":
        """Undo :meth:`facts` and :meth:`arrays`."""
        asked = {name.removeprefix("query."): a for name, a in arrays.items() if name.startswith("query.")}
        values = {name: a for name, a in arrays.items() if not name.startswith("query.")}
        step = GaussianStep.from_dict(facts["step"])
        return cls(Query.rebuild(facts["query"], asked), step, facts["factor"], values)


def released_count(answers: Sequence[Answer]) -> tuple[int, float]:
    """The number of people, or rows, that was released with noise, at least 1, and its standard deviation."""
    for answer in answers:
        if isinstance(answer.query, RowCount):
            return max(1, round(float(answer.values["count"][0]))), answer.sd("count")
    raise InvalidParameter("a release that hides the number of records must have released a noisy one.")


@dataclass(frozen=True)
class SurveyWeights:
    """The released numbers about survey weights, as shares of the largest.

    Attributes
    ----------
    total, sd : float
        What they add up to, at least 1, and the standard deviation of its noise.
    squares : float
        What their squares add up to, at most ``total``.
    """

    total: float
    sd: float
    squares: float

    def effective(self, n_samples: int) -> float:
        """Kish's effective number of ``n_samples`` records: so many of equal weights have as much sampling noise."""
        least = self.total**2 / n_samples  # where all weights are the same
        return self.total**2 / max(self.squares, least)


def released_weights(answers: Sequence[Answer]) -> SurveyWeights:
    """What was released of survey weights."""
    for answer in answers:
        if isinstance(answer.query, TotalWeight):
            total = max(1.0, float(answer.values["totals"][0]))
            short = max(0.0, float(answer.values["totals"][1]) / 3.0)
            return SurveyWeights(total, answer.sd("totals"), max(0.0, total - short))
    raise InvalidParameter("a release of weighted records must have released what the weights add up to.")


def unit_factor(query: Query, space: RowSpace, answers: Sequence[Answer], count: Callable[[], int]) -> float:
    """From integer sums to natural units: averages over ``count`` records, or over the total weight among ``answers``.

    Guarantee
    ---------
    What others are divided by, where that is secret, is asked for first. Counts are divided by nothing. Proofs:
    ``privacy/proofs/add_remove.md`` (theorem 14), ``privacy/proofs/weights.md`` (theorem 18).
    """
    if query.power == 0:  # of counts
        return query.unit_factor(space, math.nan)
    return query.unit_factor(space, released_weights(answers).total if space.hides_total else count())
