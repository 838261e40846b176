"""One group of a source: the rows whose level is a declared one; no other row has any part in it.

Guarantee
---------
Whether a row is in a group depends on its own level alone. Proof: ``privacy/proofs/groups.md``.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.by_person import count_people
from graphveil.rows.partitions import RemoteRows
from graphveil.rows.people import People
from graphveil.rows.sources import RowSource

if TYPE_CHECKING:
    from graphveil.rows.sources import Block, DecodeTask
    from graphveil.rows.streaming import StreamedMoments
    from graphveil.spec.options import ReleaseOptions

__all__ = ["GroupRows", "count_groups", "split_groups"]


class GroupRows(RowSource):
    """The rows of one level.

    Parameters
    ----------
    rows : RowSource
        Rows with the numbers of their levels beside them; or, where their people are beside them, with their levels as
        the last column.
    mark : float
        What tells the level.
    by_person : bool
    """

    def __init__(self, rows: "RowSource | StreamedMoments", mark: float, *, by_person: bool = False) -> None:
        if not isinstance(rows, RowSource):
            raise SourceError("by= needs rows that can be read again, not batches that were collected.")
        self.columns, self.n_features = rows.columns, rows.n_features
        if by_person:
            self.columns, self.n_features = rows.columns and rows.columns[:-1], rows.n_features - 1
        self._rows, self._mark, self.by_person = rows, mark, by_person

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        for part in self._rows.iter_tasks():
            # What is there already is picked now, because its memory may be filled anew.
            yield partial(self._pick_decoded, part) if callable(part) else self._pick(part)

    def _pick_decoded(self, decode: "DecodeTask") -> "Iterator[Block]":
        yield from map(self._pick, decode())

    def _pick(self, block: "Block") -> "Block":
        rows, beside = block
        assert beside is not None
        if not self.by_person:
            return rows[beside == self._mark], None
        chosen = rows[:, -1] == self._mark
        return np.ascontiguousarray(rows[chosen, :-1]), beside[chosen]


def split_groups(rows: "RowSource | StreamedMoments", options: "ReleaseOptions") -> list[RowSource]:
    """All groups of a source, in the order of their levels."""
    assert options.by is not None
    if isinstance(rows, RemoteRows):
        return [rows.group(code) for code in range(len(options.by.levels))]
    if options.domain.person is not None:
        return [GroupRows(rows, mark, by_person=True) for mark in options.by.marks]
    return [GroupRows(rows, code) for code in range(len(options.by.levels))]


def count_groups(groups: Sequence[RowSource]) -> tuple[list[int], int]:
    """How many rows, or people, are in each group, and in how many groups somebody is, at most. All of it is public."""
    if not any(isinstance(group, GroupRows) and group.by_person for group in groups):
        return [group.count() for group in groups], 1
    counts, met = [], People()
    for group in groups:
        people, _ = count_people(group)
        counts.append(people.count())
        met.add(people.keys)
    return counts, int(met.rows_at.max())
