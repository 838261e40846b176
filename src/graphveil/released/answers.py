"""One answer: the question, the law of its noise, and the noisy numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import _validation
from graphveil.exceptions import InvalidParameter
from graphveil.spec.events import GaussianStep
from graphveil.spec.queries import Query, RowCount
from graphveil.spec.rounding import format_round_up

__all__ = ["Answer", "released_count"]


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
