"""A bound of the rows' norm, for users who have no public one: two noisy histograms of norms.

The first has wide bins over 77 decades and only finds where rows are; the second has narrow bins from there upwards and
finds where they end. Every row falls into exactly one bin of each, so both are ordinary steps of the gate
(``privacy/proofs/norm.md``, theorem 9).

Everything published afterwards describes rows clipped to that norm.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from graphveil.exceptions import InvalidParameter
from graphveil.protocol.parameters import PROTOCOL
from graphveil.protocol.stage import PlannedStep, QueryBatch, Stage
from graphveil.spec.domain import Domain
from graphveil.spec.queries import NormCounts, Query

__all__ = ["Norm"]

_COARSE_EDGES = np.ldexp(1.0, np.arange(-128, 129, 2))
# From the lower end of two coarse bins to a factor of 13 above their upper end.
_FINE_FACTORS = np.power(1.25, np.arange(25.0))


@dataclass(frozen=True)
class Norm(Stage):
    """A coarse and a fine histogram, with equal shares."""

    share = PROTOCOL.norm.share
    asked = (NormCounts, NormCounts)

    @classmethod
    def for_domain(cls, domain: Domain) -> Self | None:
        """Asked where the norm is to be found privately."""
        return cls() if domain.wants_private_norm else None

    @classmethod
    def recorded(cls, domain: Domain, queries: Sequence[Query]) -> Self | None:
        """Asked where norms of raw rows were counted: the domain has the norm that was found."""
        raw = any(isinstance(query, NormCounts) and query.row_map is None for query in queries)
        return cls() if raw else None

    def planned(self) -> list[PlannedStep]:
        """The bins of both."""
        return [PlannedStep(edges.size + 1, self.share / len(self.asked)) for edges in (_COARSE_EDGES, _FINE_FACTORS)]

    def ask(self, domain: Domain) -> Generator[QueryBatch, list[Any], Domain]:
        """Ask for both histograms; the domain gets the norm that they show."""
        share = self.share / len(self.asked)
        (wide,) = yield [(NormCounts(_COARSE_EDGES), share)]
        counts, sd = wide.values["counts"], wide.sd("counts")
        pairs = counts[1:-2] + counts[2:-1]  # without what lies beyond the grid on either side
        visible = np.flatnonzero(pairs > PROTOCOL.norm.seen * np.sqrt(2.0) * sd)
        start = _COARSE_EDGES[visible[-1] if visible.size else int(np.argmax(pairs))]
        edges = start * _FINE_FACTORS
        (narrow,) = yield [(NormCounts(edges), share)]
        tails = np.cumsum(narrow.values["counts"][::-1])[::-1]
        noise = narrow.sd("counts") * np.sqrt(np.arange(tails.size, 0, -1))
        seen = np.flatnonzero(tails > PROTOCOL.norm.seen * noise)
        last = min(int(seen[-1]) if seen.size else 0, edges.size - 1)
        return replace(domain, data_norm=float(PROTOCOL.norm.slack * edges[last]))

    def check_enough_rows(self, n_samples: int, mu: float, rows_per_person: int) -> None:
        """Refuse, from public numbers and before anything is spent, where the norm could come out far too small."""
        sd = float(np.sqrt(2.0) * rows_per_person / (mu * np.sqrt(self.share / len(self.asked))))
        least = int(np.ceil(PROTOCOL.norm.least_rows * sd))
        if n_samples < least:
            raise InvalidParameter(
                f'data_norm="private" needs at least {least} records at this budget, and there are {n_samples}: the '
                "norm could come out far too small. Give bounds or a norm from public knowledge, or a larger epsilon."
            )
