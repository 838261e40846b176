"""A stage of a release: queries, their share of the budget, and what their answers say of the domain.

Stages see public facts and noisy answers. They are run twice, by the same code: the gate answers their queries
(:mod:`graphveil.strategies`), and :func:`graphveil.recover` answers them from a release.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.spec.domain import Domain
from graphveil.spec.queries import Query

__all__ = ["NoisyAnswer", "PlannedStep", "QueryBatch", "Stage", "run_protocol"]

QueryBatch = list[tuple[Query, float]]  # queries to be answered in one pass over the rows, each with its share of μ²
A = TypeVar("A")
T = TypeVar("T")


class NoisyAnswer(Protocol):
    """What a stage may know of an answer."""

    @property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """Noisy numbers by group."""
        ...

    def sd(self, group: str) -> float:
        """Standard deviation of the noise of a group."""
        ...


@dataclass(frozen=True)
class PlannedStep:
    """A query that a release may ask, as far as it is known before the first answer.

    Attributes
    ----------
    numbers : int
        At most so many noisy numbers answer it.
    share : float
        It gets at least this share of μ².
    counts : bool
        Each of them counts people, or signs of them: one person moves it by 2 at most. False: sums.
    """

    numbers: int
    share: float
    counts: bool = True


class Stage(ABC):
    """One part of the order in which a release asks its queries (:mod:`graphveil.protocol.schedule`).

    ``share`` is that of the μ² which earlier stages have left; ``asked`` are the classes of its queries, in order.
    """

    share: ClassVar[float]
    asked: ClassVar[tuple[type[Query], ...]]

    @classmethod
    @abstractmethod
    def for_domain(cls, domain: Domain) -> Self | None:
        """The stage, if a release with this domain has to begin with it."""

    @classmethod
    def recorded(cls, domain: Domain, queries: Sequence[Query]) -> Self | None:
        """The stage, if a release with these queries began with it; ``domain`` is what it has become.

        By the queries only where that domain does not tell any more.
        """
        return cls.for_domain(domain)

    @abstractmethod
    def planned(self) -> list[PlannedStep]:
        """Its queries, as far as they are known in advance; shares are of what earlier stages have left."""

    @abstractmethod
    def ask(self, domain: Domain) -> Generator[QueryBatch, list[Any], Domain]:
        """Yield queries, receive their noisy answers, and return what the domain has become."""

    def mu_of(self, mu: float) -> float:
        """The μ of the stage, if earlier ones have left so much."""
        return float(mu * np.sqrt(self.share))

    def mu_after(self, mu: float) -> float:
        """The μ that it leaves.

        Guarantee
        ---------
        Its square and the share's add up to less than μ², after every rounding.
        """
        return float(mu * np.sqrt(1.0 - self.share) * (1.0 - 2.0**-40))


def run_protocol(protocol: Generator[QueryBatch, list[A], T], answer: Callable[[QueryBatch], list[A]]) -> T:
    """Put the queries of a protocol to ``answer`` until it ends, and return what it returns."""
    try:
        asked = next(protocol)
        while True:
            asked = protocol.send(answer(asked))
    except StopIteration as end:
        result: T = end.value
        return result
