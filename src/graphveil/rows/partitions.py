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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.group_rows import GroupRows, pick_rows
from graphveil.rows.ids import Hasher, draw_points
from graphveil.rows.sanitized_errors import sanitized_message
from graphveil.rows.sources import RowSource, open_batch
from graphveil.rows.statistic import Statistic
from graphveil.rows.weights import RowWeights
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.group_counts import GroupCounts
    from graphveil.rows.parallel import Encoding, Progress, Sums
    from graphveil.rows.sources import Block

__all__ = [
    "KeyedRows", "PartitionSum", "PartitionTask", "Partitions", "RemoteGroups", "RemoteRows", "SumTask", "add_sums",
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
class PartitionTask(ABC):
    """What is done with every partition: public facts alone, so that it may travel.

    Attributes
    ----------
    reading : Domain
        What the batches of a partition are opened by.
    labels : Labels or None
    version : str
        Of this package where the work is handed out: another one could clip or round in another way.
    points : pair of int
        Of the hash of ids, the same in every pass.
    """

    reading: Domain
    labels: Labels | None
    version: str
    points: tuple[int, int]

    def __call__(self, part: int, batches: Iterable[Any]) -> PartitionSum:
        """Sum the batches of a partition, each an array or a frame. Never raises: engines log what is raised."""
        nothing = np.empty(0, dtype=np.int64)
        try:
            self._check_version()
            words = self._words(batches)
        except SourceError as error:
            return PartitionSum((part,), nothing, str(error))
        except Exception as error:
            return PartitionSum((part,), nothing, sanitized_message(error, "read"))
        return PartitionSum((part,), words)

    @abstractmethod
    def _words(self, batches: Iterable[Any]) -> "NDArray[np.int64]":
        """What the batches come to: how many rows were read, and then whatever is asked for."""

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """Numbers of words of the parts of an outcome."""

    @property
    def size(self) -> int:
        """Number of words of an outcome."""
        return sum(self.sizes)

    def split(self, outcome: PartitionSum) -> "list[NDArray[np.int64]]":
        """The parts of what all partitions come to."""
        if outcome.words.size != self.size:
            raise SourceError("The engine has lost a part of a sum; nothing from this pass is used.")
        return np.split(outcome.words, np.cumsum(self.sizes)[:-1])

    def _check_version(self) -> None:
        if self.version != installed_version():
            raise SourceError(
                f"A worker of the engine has graphveil {installed_version()}, but the calling process has "
                f"{self.version}: install the same version everywhere."
            )

    def _open(self, batch: Any, hasher: Hasher | None = None) -> RowSource:
        blocks = batch if isinstance(batch, KeyedRows) else open_batch(batch, self.reading, self.labels, hasher)
        if blocks is None:
            raise SourceError(f"A partition is a {type(batch).__name__}; it must be an array or a data frame.")
        return blocks

    def _open_together(self, batches: Iterable[Any]) -> RowSource:
        """All batches, to be read several times. Everybody in them has all of their rows here."""
        hasher = Hasher(self.points)
        return _Together([self._open(batch, hasher) for batch in batches], self.reading)


@dataclass(frozen=True, eq=False, repr=False)
class SumTask(PartitionTask):
    """Sums of all rows, or of those of one level.

    Attributes
    ----------
    domain : Domain
        Of the rows that are summed.
    encoder : Encoder or IdentityEncoder
    statistics : callable
        Makes empty statistics.
    level : pair of int and float, or None
        The place of the column of levels, and the number of the level whose rows are summed.
    """

    domain: Domain
    encoder: "Encoding"
    statistics: Callable[[], list[Statistic]]
    level: tuple[int, float] | None = None

    def _words(self, batches: Iterable[Any]) -> "NDArray[np.int64]":
        counts, found = (self._sum if self.domain.person is None else self._sum_people)(batches)
        return np.concatenate([counts, *(statistic.to_words() for statistic in found)])

    def _sum(self, batches: Iterable[Any]) -> tuple[list[int], list[Statistic]]:
        from graphveil.rows.parallel import sum_blocks

        read = [0]
        blocks = _counted((block for batch in batches for block in self._open(batch).read()), read)
        if self.level is not None:
            blocks = map(partial(pick_rows, *self.level), blocks)
        weighing = None if self.domain.weight is None else RowWeights(None, self.domain.weight.largest)
        seen, found = sum_blocks(blocks, self.encoder, self.statistics(), weighing)
        return [*read, seen.rows, 0], found

    def _sum_people(self, batches: Iterable[Any]) -> tuple[list[int], list[Statistic]]:
        """Everybody in these batches has all of their rows here."""
        from graphveil.rows.by_person import count_people, encode_by_means
        from graphveil.rows.parallel import sum_blocks

        source = whole = self._open_together(batches)
        if self.level is not None:
            source = GroupRows(whole, *self.level)
        people, seen = count_people(source)
        encoder, weighing = self.encoder, None
        if self.domain.weighs_rows:
            weighing = RowWeights(people, None if self.domain.weight is None else self.domain.weight.largest)
        if self.domain.variation != "total":
            source, encoder, *_ = encode_by_means(source, self.domain, people)
        _, found = sum_blocks(source.read(), encoder, self.statistics(), weighing)
        return [seen.rows if self.level is None else whole.count(), seen.rows, people.count()], found

    @property
    def sizes(self) -> list[int]:
        """Three counts, and the words of each statistic."""
        return [3, *(statistic.to_words().size for statistic in self.statistics())]

    def sums(self, outcome: PartitionSum) -> "tuple[list[int], list[Statistic]]":
        """Numbers of rows read, and of rows and people that were summed; and their statistics."""
        counts, *parts = self.split(outcome)
        found = self.statistics()
        for statistic, words in zip(found, parts, strict=True):
            statistic.add_from_words(words)
        return counts.tolist(), found


def _counted(blocks: "Iterable[Block]", total: list[int]) -> "Iterator[Block]":
    """The same blocks; how many rows they have is added to ``total``."""
    for block in blocks:
        total[0] += len(block[0])
        yield block


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


class Partitions(RemoteGroups):
    """Rows in the partitions of an engine.

    Attributes
    ----------
    reading : Domain
        What a partition is opened by: the columns of the domain, and the level where there are groups.
    marks : tuple of float
        The numbers of the declared levels; none where there are no groups.
    place : int
        The column of the level.
    """

    labels: Labels | None
    reading: Domain
    marks: tuple[float, ...] = ()
    place: int = -1

    def match(self, opened: RowSource, domain: Domain, by: Grouping | None) -> None:
        """Take the columns of what was opened, but the level, which is after all of them but the weight."""
        columns, self.n_features = opened.columns, opened.n_features
        if by is not None:
            if columns is None:
                raise SourceError("An array has no column of levels: with by, give a data frame of the engine.")
            place = len(columns) - (1 if domain.weight is None else 2)
            columns, self.n_features = (*columns[:place], *columns[place + 1 :]), self.n_features - 1
            self.place, self.marks = place, by.marks
        self.columns, self.domain = columns, domain.resolve(columns, self.n_features)

    def accumulate(
        self, encoder: "Encoding", statistics: Callable[[], list[Statistic]], progress: "Progress | None"
    ) -> "Sums":
        """One pass: what was seen, and every statistic over all rows."""
        n_people = 0 if self.domain.person is None else self.count_people()
        return self.sum_rows(encoder, statistics, progress, None, (None, n_people))

    def sum_rows(
        self,
        encoder: "Encoding",
        statistics: Callable[[], list[Statistic]],
        progress: "Progress | None",
        level: tuple[int, float] | None,
        expected: tuple[int | None, int],
    ) -> "Sums":
        """One pass over all rows that sums those of a level, of which so many rows and people are expected."""
        from graphveil.rows.parallel import Tally

        work = SumTask(*self._facts, self.domain, encoder, statistics, level)
        (n_read, n_rows, n_people), found = work.sums(self.checked(work))
        if (n_rows, n_people) != (n_read if expected[0] is None else expected[0], expected[1]):
            raise _lost()
        if progress is not None:
            progress(n_read)
        return Tally(n_rows), found

    def checked(self, work: PartitionTask) -> PartitionSum:
        """What all partitions come to, each of them once, with as many rows as the engine counts."""
        outcome, n_counted = self.run(work)
        if outcome.refusal is not None:
            raise SourceError(outcome.refusal)
        if list(outcome.parts) != list(range(len(outcome.parts))) or work.split(outcome)[0][0] != n_counted:
            raise _lost()
        return outcome

    @cached_property
    def points(self) -> tuple[int, int]:
        """Of the hash of ids: drawn once, so that ids which are taken for one are so in every pass."""
        return draw_points()

    @property
    def _facts(self) -> tuple[Domain, Labels | None, str, tuple[int, int]]:
        """Of every task."""
        return self.reading, self.labels, installed_version(), self.points

    @cached_property
    def group_counts(self) -> "GroupCounts":
        """How many rows and people each group has, by a pass over all rows."""
        from graphveil.rows.group_counts import CountTask

        work = CountTask(*self._facts, self.place, self.marks)
        found = work.counts(self.checked(work))
        if self.domain.person is not None and sum(found.people) != self.count_people():
            raise _lost()
        return found

    def group(self, code: int) -> RemoteRows:
        return PartitionGroup(self, code)

    @abstractmethod
    def run(self, work: PartitionTask) -> tuple[PartitionSum, int]:
        """Do the work on every partition and add up what it comes to; also the number of rows, as the engine counts.

        Its count must not come from the outcomes: a partition without one would be missing in both.
        """

    @abstractmethod
    def count_people(self) -> int:
        """Number of people, counted by the engine itself; where there are groups, of all of them added up."""


class PartitionGroup(RemoteRows):
    """The rows of one level, in the partitions of an engine."""

    knows_count = True  # all groups are counted in one pass

    def __init__(self, rows: Partitions, code: int) -> None:
        self._rows, self._code = rows, code
        self.domain, self.columns, self.n_features = rows.domain, rows.columns, rows.n_features

    def accumulate(
        self, encoder: "Encoding", statistics: Callable[[], list[Statistic]], progress: "Progress | None"
    ) -> "Sums":
        level = self._rows.place, self._rows.marks[self._code]
        n_people = 0 if self.domain.person is None else self.count_people()
        return self._rows.sum_rows(encoder, statistics, progress, level, (self.count(), n_people))

    def count(self) -> int:
        return self._rows.group_counts.rows[self._code]

    def count_people(self) -> int:
        return self._rows.group_counts.people[self._code]

    def cached(self) -> AbstractContextManager[None]:
        return self._rows.cached()


def _lost() -> SourceError:
    return SourceError(
        "The engine has lost a partition, has counted one twice, or returns different rows every time; "
        "nothing from this pass is used. Write the rows to files, and release those."
    )
