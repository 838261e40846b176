"""Rows that lie on other machines: every partition is summed where it is, and only sums of integers travel.

Guarantee
---------
Each partition is counted once or the pass fails: sums carry the numbers of the partitions that they hold, no number may
come twice, none may be left out, and the rows in the sums must be as many as the engine itself counts. An engine may
therefore run a partition as often as it likes. Words add without rounding and without overflow, so the total is the one
that a single process would have found, to the last bit. Proof: ``privacy/proofs/quantization.md``.

With a person column the engine brings all rows of a person into one partition, which then knows how many they are. If
it did not, somebody would count in two, and there would be more people in the sums than the engine counts. Proof:
``privacy/proofs/people.md`` (theorem 13).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.people import Hasher
from graphveil.rows.sanitized_errors import sanitized_message
from graphveil.rows.sources import RowSource, open_batch
from graphveil.rows.statistic import Statistic
from graphveil.rows.weights import RowWeights
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.parallel import Encoding, Progress, Sums
    from graphveil.rows.sources import Block

__all__ = [
    "KeyedRows", "PartitionSum", "PartitionTask", "Partitions", "RemoteGroups", "RemoteRows", "add_sums",
    "installed_version",
]  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class PartitionSum:
    """What some partitions came to: the sum of their words, or the reason why they cannot be summed.

    It travels between the machines that hold the rows, and is never shown.
    """

    parts: tuple[int, ...]
    words: "NDArray[np.int64]"
    refusal: str | None = None

    def __repr__(self) -> str:
        return "<PartitionSum: unreleased, not shown>"


@dataclass(frozen=True, eq=False, repr=False)
class PartitionTask:
    """What is done with every partition: public facts alone, so that it may travel.

    Attributes
    ----------
    domain : Domain
    labels : Labels or None
    encoder : Encoder or IdentityEncoder
    statistics : callable
        Makes empty statistics.
    version : str
        Of this package where the work is handed out: another one could clip or round in another way.
    """

    domain: Domain
    labels: Labels | None
    encoder: "Encoding"
    statistics: Callable[[], list[Statistic]]
    version: str

    def __call__(self, part: int, batches: Iterable[Any]) -> PartitionSum:
        """Sum the batches of a partition, each an array or a frame. Never raises: engines log what is raised."""
        nothing = np.empty(0, dtype=np.int64)
        try:
            self._check_version()
            n_rows, n_people, found = (self._sum if self.domain.person is None else self._sum_people)(batches)
            words = np.concatenate([[n_rows, n_people], *(statistic.to_words() for statistic in found)])
        except SourceError as error:
            return PartitionSum((part,), nothing, str(error))
        except Exception as error:
            return PartitionSum((part,), nothing, sanitized_message(error, "read"))
        return PartitionSum((part,), words)

    def _sum(self, batches: Iterable[Any]) -> tuple[int, int, list[Statistic]]:
        from graphveil.rows.parallel import sum_blocks

        opened = (self._opened(batch) for batch in batches)
        blocks = (block for blocks in opened for block in blocks.read())
        weighing = None if self.domain.weight is None else RowWeights(None, self.domain.weight.largest)
        seen, found = sum_blocks(blocks, self.encoder, self.statistics(), weighing)
        return seen.rows, 0, found

    def _sum_people(self, batches: Iterable[Any]) -> tuple[int, int, list[Statistic]]:
        """Everybody in these batches has all of their rows here."""
        from graphveil.rows.by_person import count_people, encode_by_means
        from graphveil.rows.parallel import sum_blocks

        hasher = Hasher()
        source: RowSource = _Together([self._opened(batch, hasher) for batch in batches], self.domain)
        people, seen = count_people(source)
        encoder, weighing = self.encoder, None
        if self.domain.weighs_rows:
            weighing = RowWeights(people, None if self.domain.weight is None else self.domain.weight.largest)
        if self.domain.variation != "total":
            source, encoder, *_ = encode_by_means(source, self.domain, people)
        _, found = sum_blocks(source.read(), encoder, self.statistics(), weighing)
        return seen.rows, people.count(), found

    def _check_version(self) -> None:
        if self.version != installed_version():
            raise SourceError(
                f"A worker of the engine has graphveil {installed_version()}, but the calling process has "
                f"{self.version}: install the same version everywhere."
            )

    def _opened(self, batch: Any, hasher: Hasher | None = None) -> RowSource:
        blocks = batch if isinstance(batch, KeyedRows) else open_batch(batch, self.domain, self.labels, hasher)
        if blocks is None:
            raise SourceError(f"A partition is a {type(batch).__name__}; it must be an array or a data frame.")
        return blocks

    @property
    def size(self) -> int:
        """Number of words of an outcome."""
        return 2 + sum(statistic.to_words().size for statistic in self.statistics())

    def sums(self, outcome: PartitionSum) -> "tuple[int, int, list[Statistic]]":
        """Numbers of rows and of people, and statistics, from the words of all partitions."""
        found = self.statistics()
        ends = np.cumsum([2, *(statistic.to_words().size for statistic in found)])
        if outcome.words.size != ends[-1]:
            raise SourceError("The engine has lost a part of a sum; nothing from this pass is used.")
        counts, *parts = np.split(outcome.words, ends[:-1])
        for statistic, words in zip(found, parts, strict=True):
            statistic.add_from_words(words)
        return int(counts[0]), int(counts[1]), found


class KeyedRows(RowSource):
    """Rows of a partition, with the keys of their people."""

    columns = None

    def __init__(self, rows: "NDArray[np.float64]", keys: "NDArray[np.uint64]") -> None:
        self._block, self.n_features = (rows, keys), rows.shape[1]

    def read(self) -> "Iterator[Block]":
        yield self._block


class _Together(RowSource):
    """The batches of a partition, one after the other, as often as it is read."""

    def __init__(self, batches: list[RowSource], domain: Domain) -> None:
        self._batches, self.columns, self.n_features = batches, domain.columns, domain.require_n_features()

    def read(self) -> "Iterator[Block]":
        for batch in self._batches:
            yield from batch.read()


@cache
def installed_version() -> str:
    """Of this package, on this machine."""
    try:
        return version("graphveil")
    except PackageNotFoundError:  # sent along as files
        return "of no version"


def add_sums(outcomes: Iterable[PartitionSum]) -> PartitionSum:
    """The sum of outcomes: a refusal if one of them is, or if a partition has come twice."""
    parts: list[int] = []
    words = None
    for outcome in outcomes:
        if outcome.refusal is not None:
            return outcome
        parts += outcome.parts
        words = outcome.words if words is None else words + outcome.words
    if len(set(parts)) != len(parts):
        return PartitionSum(tuple(parts), np.empty(0, dtype=np.int64), "A partition was counted twice by the engine.")
    return PartitionSum(tuple(sorted(parts)), np.empty(0, dtype=np.int64) if words is None else words)


class RemoteRows(RowSource):
    """Rows that are summed where they are."""

    domain: Domain

    def read(self) -> "Iterator[Block]":
        raise SourceError("These rows are on other machines, and are only summed there.")

    @abstractmethod
    def accumulate(
        self, encoder: "Encoding", statistics: Callable[[], list[Statistic]], progress: "Progress | None"
    ) -> "Sums":
        """One pass: what was seen, and every statistic over all rows."""

    @abstractmethod
    def count(self) -> int:
        """Number of rows, counted by the engine itself."""

    @abstractmethod
    def count_people(self) -> int:
        """Number of people, counted by the engine itself; all rows without an id are one nobody's."""


class RemoteGroups(RemoteRows):
    """Rows that are summed where they are, those of each group by themselves if that is asked for."""

    @abstractmethod
    def group(self, code: int) -> RemoteRows:
        """The rows of one level, by its number among the declared ones."""


class Partitions(RemoteRows):
    """Rows in the partitions of an engine."""

    labels: Labels | None

    def accumulate(
        self, encoder: "Encoding", statistics: Callable[[], list[Statistic]], progress: "Progress | None"
    ) -> "Sums":
        """One pass: what was seen, and every statistic over all rows."""
        from graphveil.rows.parallel import Tally

        work = PartitionTask(self.domain, self.labels, encoder, statistics, installed_version())
        outcome, n_counted = self.run(work)
        if outcome.refusal is not None:
            raise SourceError(outcome.refusal)
        n_rows, n_people, found = work.sums(outcome)
        expected = 0 if self.domain.person is None else self.count_people()
        if list(outcome.parts) != list(range(len(outcome.parts))) or (n_rows, n_people) != (n_counted, expected):
            raise SourceError(
                "The engine has lost a partition, has counted one twice, or returns different rows every time; "
                "nothing from this pass is used. Write the rows to files, and release those."
            )
        if progress is not None:
            progress(n_rows)
        return Tally(n_rows), found

    @abstractmethod
    def run(self, work: PartitionTask) -> tuple[PartitionSum, int]:
        """Do the work on every partition and add up what it comes to; also the number of rows, as the engine counts.

        Its count must not come from the outcomes: a partition without one would be missing in both.
        """
