"""The order of queries: the one definition, for whoever asks, answers, forecasts or checks them.

A release begins with the stages that its domain needs, in the order of ``ORDER``: what sums are divided by, then what
rows are clipped to and how they are encoded. What these leave of the budget is for the moments: one query, or the
adaptive rounds (:mod:`graphveil.recovery.adaptive_protocol`).
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from graphveil.protocol.stage import PlannedStep, QueryBatch, Stage
from graphveil.protocol.stages.count import Count
from graphveil.protocol.stages.norm import Norm
from graphveil.protocol.stages.ranks import Ranks
from graphveil.protocol.stages.weight import TotalOfWeights
from graphveil.spec.domain import Domain
from graphveil.spec.queries import Query

__all__ = ["ORDER", "Schedule"]

ORDER: tuple[type[Stage], ...] = (Count, TotalOfWeights, Norm, Ranks)


@dataclass(frozen=True)
class Schedule:
    """The stages with which one release begins.

    Attributes
    ----------
    stages : tuple of Stage
    """

    stages: tuple[Stage, ...]

    @classmethod
    def of(cls, domain: Domain) -> Self:
        """What a release with this domain has to begin with."""
        found = (stage.for_domain(domain) for stage in ORDER)
        return cls(tuple(stage for stage in found if stage is not None))

    @classmethod
    def recorded(cls, domain: Domain, queries: Sequence[Query]) -> Self:
        """What a release with these queries began with; ``domain`` is what it has become."""
        found = (stage.recorded(domain, queries) for stage in ORDER)
        return cls(tuple(stage for stage in found if stage is not None))

    def mu_left(self, mu: float) -> float:
        """The μ that is left for the moments."""
        for stage in self.stages:
            mu = stage.mu_after(mu)
        return mu

    def planned(self, moments: Iterable[PlannedStep]) -> list[PlannedStep]:
        """Every query of the stages and then of the moments, each with its share of the whole μ²."""
        found, left = list[PlannedStep](), 1.0
        for steps in (*(stage.planned() for stage in self.stages), list(moments)):
            found += [replace(step, share=left * step.share) for step in steps]
            left -= left * sum(step.share for step in steps)
        return found

    def ask(self, domain: Domain) -> Generator[QueryBatch, list[Any], None]:
        """Ask all of it again: for answers that are recorded, whose ``domain`` is known."""
        for stage in self.stages:
            yield from stage.ask(domain)

    def begins(self, queries: Sequence[Query]) -> bool:
        """Whether these queries begin with those of the stages, and later ones are about rows alone."""
        asked = [kind for stage in self.stages for kind in stage.asked]
        kinds = [type(query) for query in queries]
        apart = [type(query) for query in queries if query.summed != "rows"]
        return kinds[: len(asked)] == asked and apart == [kind for kind in asked if kind.summed != "rows"]
