"""Queries in, exact integers out: sums rows, without noise, budget or ledger.

Guarantee
---------
A later pass that finds a different number of rows is refused. The results are unreleased: their repr shows nothing, and
they cannot be pickled. Proof: ``privacy/proofs/spending.md`` (theorem 11).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.accumulators import Count, Questions
from graphveil.rows.by_person import count_people, encode_by_means
from graphveil.rows.encoding import Encoder, IdentityEncoder
from graphveil.rows.parallel import Encoding, Tally, accumulate
from graphveil.rows.partitions import RemoteRows
from graphveil.rows.people import People
from graphveil.rows.sanitized_errors import leave_no_frames
from graphveil.rows.sources import RowSource
from graphveil.rows.statistic import Statistic, Unreleased
from graphveil.rows.streaming import StreamedMoments
from graphveil.rows.weights import RowWeights, WeightEncoder
from graphveil.spec.augmentation import Augment
from graphveil.spec.domain import Domain
from graphveil.spec.queries import ColumnMeans, Query
from graphveil.spec.row_space import RowSpace

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["Evaluator"]


class Evaluator(Unreleased):
    """The rows of one release, ready for queries.

    Parameters
    ----------
    source : RowSource or StreamedMoments
        Rows that can be read again, or sums of rows that were seen once.
    domain : Domain
        With its number of columns known.
    augment : Augment
        What the release appends to a row.
    adaptive : bool
        Adaptive rounds append their constant to mapped rows; the rows of the domain stay as they are.
    progress : callable, optional
        Called with the number of rows read so far; if it has a method ``begin_pass``, that is called before every pass.
    """

    @leave_no_frames
    def __init__(
        self,
        source: RowSource | StreamedMoments,
        domain: Domain,
        augment: Augment,
        *,
        adaptive: bool,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._source, self._augment, self._adaptive, self._progress = source, augment, adaptive, progress
        self._seen: Tally | None = None
        self._people: People | None = None  # those of rows that are read here
        self._n_people: int | None = None
        self._totals: dict[bytes, Statistic]  # sums of columns by window: means and squares share them
        self.use(domain)

    @leave_no_frames
    def use(self, domain: Domain) -> None:
        """Encode rows by this domain from now on: its norm or normal scores may have been found meanwhile."""
        self._totals = {}  # of rows that were encoded otherwise
        appended = None if self._adaptive else self._augment
        self._hides_count = domain.hides_count
        self._largest = None if domain.weight is None else domain.weight.largest
        if domain.person is not None and self._n_people is None:
            self._count_people()
        n_people = self._n_people if domain.weighs_rows and not domain.hides_count else None
        self.space = RowSpace.of(domain, self._augment, appended, n_people)
        if domain.wants_private_norm:
            self._encoder: Encoding = IdentityEncoder(self.space.n_features)
        elif domain.variation == "total" or isinstance(self._source, RemoteRows):  # which replace rows themselves
            gaps = self._adaptive
            self._encoder = Encoder(domain, appended, shift=self._augment is not None, marks_gaps=gaps)
        else:
            self._replace_by_means(domain)

    def _replace_by_means(self, domain: Domain) -> None:
        assert isinstance(self._source, RowSource)
        assert self._people is not None
        self._source, self._encoder, self._people, seen = encode_by_means(self._source, domain, self._people)
        self._check_seen(seen)
        if self._people is None:  # other rows from now on
            self._seen = None

    def cached(self) -> "AbstractContextManager[None]":
        """While this is open, passes come one after the other: an engine may keep the rows at hand."""
        assert isinstance(self._source, RowSource)
        return self._source.cached()

    @leave_no_frames
    def count(self) -> int:
        """Number of people, if a column tells them apart, or else of rows; every later pass must find the same."""
        return self._count_rows().rows if self._n_people is None else self._n_people

    def _count_rows(self) -> Tally:
        if self._seen is not None:
            return self._seen
        known = isinstance(self._source, StreamedMoments) or self._source.knows_count
        # Columns are not asked about in one round, whose rows have a constant appended, nor without a lattice.
        if known or not self._adaptive or self.space.lattice is None:
            return self._check_seen(Tally(self._source.count()))
        # A pass is needed to count: let it answer the first question about columns too, whatever that will be.
        edge = np.full(self.space.n_features, self.space.lattice.edge)
        low, high = self.space.window or (-edge, edge)
        every = np.arange(edge.size, dtype=np.float64)
        query = ColumnMeans(low, high, np.ones(edge.size), every)
        (totals,) = self._sum([query], self._encoder)
        self._totals[query.window_key] = totals
        return self._count_rows()

    @leave_no_frames
    def evaluate(self, queries: list[Query]) -> list[Statistic]:
        """A statistic that holds the exact answer to each query, in one pass (none, if earlier sums hold it)."""
        if isinstance(self._source, StreamedMoments):
            self.count()
            return [self._source.moments()]
        keys = [query.window_key for query in queries]
        counted: dict[int, Statistic] = {
            i: Count(self.count()) for i, query in enumerate(queries) if query.summed == "people"
        }
        counted |= {i: self._sum_weights(query) for i, query in enumerate(queries) if query.summed == "weights"}
        missing = [i for i, key in enumerate(keys) if i not in counted and (key is None or key not in self._totals)]
        made = self._sum([queries[i] for i in missing], self._encoder) if missing else []
        found = counted | dict(zip(missing, made, strict=True))
        self._totals |= {key: found[i] for i, key in enumerate(keys) if key is not None and i in found}
        return [found[i] if key is None else self._totals[key] for i, key in enumerate(keys)]

    def _sum_weights(self, query: Query) -> Statistic:
        assert self._largest is not None
        return self._sum([query], WeightEncoder(self._largest))[0]

    def _sum(self, queries: list[Query], encoder: Encoding) -> list[Statistic]:
        """One pass."""
        assert isinstance(self._source, RowSource)
        begin_pass: Callable[[], None] | None = getattr(self._progress, "begin_pass", None)
        if begin_pass is not None:
            begin_pass()
        asked, weighing = Questions(tuple(queries), self.space), None
        if self._people is not None or self._largest is not None:
            weighing = RowWeights(self._people, self._largest)
        seen, found = accumulate(self._source, encoder, asked, self._progress, weighing)
        self._check_seen(seen)
        return found

    def _count_people(self) -> None:
        assert isinstance(self._source, RowSource)  # sums of rows that were seen once have no people
        if isinstance(self._source, RemoteRows):
            self._n_people = self._source.count_people()
            return
        self._people, seen = count_people(self._source)
        self._n_people = self._people.count()
        self._check_seen(seen)

    def _check_seen(self, seen: Tally) -> Tally:
        if seen.rows == 0 and not self._hides_count:
            raise SourceError("The source has no rows.")
        if self._seen not in (None, seen):
            raise SourceError(
                "The source returned a different number of rows on a later pass, or rows that belong to other people."
            )
        self._seen = seen
        return seen
