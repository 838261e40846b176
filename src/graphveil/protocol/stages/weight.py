"""The total of survey weights and how much they differ.

Everything after it is divided by the released total (``privacy/proofs/weights.md``, theorem 18).
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Self

from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.stage import PlannedStep, QueryBatch, Stage
from graphveil.spec.domain import Domain
from graphveil.spec.queries import TotalWeight

__all__ = ["TotalOfWeights"]


@dataclass(frozen=True)
class TotalOfWeights(Stage):
    """Two sums of the weights."""

    share = PROTOCOL.weight_share
    asked = (TotalWeight,)

    @classmethod
    def for_domain(cls, domain: Domain) -> Self | None:
        """Asked where rows have weights."""
        return None if domain.weight is None else cls()

    def planned(self) -> list[PlannedStep]:
        """Both sums."""
        return [PlannedStep(2, self.share, counts=False)]

    def ask(self, domain: Domain) -> Generator[QueryBatch, list[Any], Domain]:
        """Ask for both, which changes nothing in the domain."""
        yield [(TotalWeight(), self.share)]
        return domain
