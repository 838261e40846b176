"""How many rows and people the groups of a partition have, in words that engines add up.

Guarantee
---------
Everybody has all of their rows in one partition, so that counts of people add up. Proof: ``privacy/proofs/groups.md``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.rows.group_rows import number_groups
from graphveil.rows.ids import Hasher
from graphveil.rows.parallel import as_floats
from graphveil.rows.partitions import PartitionSum, PartitionTask
from graphveil.rows.people import People
from graphveil.rows.statistic import Unreleased

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CountTask", "GroupCounts"]


class GroupCounts(Unreleased):
    """The counts.

    Parameters
    ----------
    rows, people : arrays
        Of each group; no people where nothing tells them apart.
    in_several : array
        How many people are in one group, in two, and so on.
    """

    def __init__(self, rows: "NDArray[np.int64]", people: "NDArray[np.int64]", in_several: "NDArray[np.int64]") -> None:
        self.rows: list[int] = rows.tolist()
        self.people: list[int] = people.tolist()
        self._in_several = in_several

    @property
    def groups_per_person(self) -> int:
        """In how many groups somebody is, at most."""
        return int(np.flatnonzero(self._in_several).max(initial=0)) + 1


@dataclass(frozen=True, eq=False, repr=False)
class CountTask(PartitionTask):
    """Counts the groups of a partition.

    Attributes
    ----------
    place : int
        The column of levels.
    marks : tuple of float
        The numbers of the declared levels.
    """

    place: int
    marks: tuple[float, ...]

    def _words(self, batches: Iterable[Any]) -> "NDArray[np.int64]":
        n_read, rows = 0, np.zeros(len(self.marks), np.int64)
        people = [People() for _ in self.marks]
        hasher = Hasher(self.points)
        for block, keys in (block for batch in batches for block in self._open(batch, hasher).read()):
            n_read += len(block)
            codes = number_groups(as_floats(block)[:, self.place], self.marks)
            rows += np.bincount(codes[codes >= 0], minlength=rows.size)
            if keys is not None:
                for code, group in enumerate(people):
                    group.add(keys[codes == code])
        met = People()
        for group in people:
            met.add(group.keys)
        several = np.bincount(met.rows_at[met.rows_at > 0], minlength=len(self.marks) + 1)[1:]
        return np.concatenate([[n_read], rows, [group.count() for group in people], several]).astype(np.int64)

    @property
    def sizes(self) -> list[int]:
        """How many rows were read, and three counts for each group."""
        return [1, *3 * [len(self.marks)]]

    def counts(self, outcome: PartitionSum) -> GroupCounts:
        """From the words of all partitions."""
        return GroupCounts(*self.split(outcome)[1:])
