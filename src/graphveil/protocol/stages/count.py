"""The number of people, if membership in the table is secret: one noisy count.

Everything after it, including the choice of queries, uses the released number (``privacy/proofs/add_remove.md``,
theorem 14).
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Self

from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.stage import PlannedStep, QueryBatch, Stage
from graphveil.spec.domain import Domain
from graphveil.spec.queries import RowCount

__all__ = ["Count"]


@dataclass(frozen=True)
class Count(Stage):
    """A count of the people."""

    share = PROTOCOL.count_share
    asked = (RowCount,)

    @classmethod
    def for_domain(cls, domain: Domain) -> Self | None:
        """Asked where the number is a secret."""
        return cls() if domain.hides_count else None

    def planned(self) -> list[PlannedStep]:
        """One number."""
        return [PlannedStep(1, self.share)]

    def ask(self, domain: Domain) -> Generator[QueryBatch, list[Any], Domain]:
        """Ask for the count, which changes nothing in the domain."""
        yield [(RowCount(), self.share)]
        return domain
