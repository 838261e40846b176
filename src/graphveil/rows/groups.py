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
from graphveil.rows.partitions import RemoteGroups
from graphveil.rows.people import People
from graphveil.rows.sources import RowSource
from graphveil.spec.grouping import most_groups

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
        Rows with a column of levels, as numbers.
    place : int
        Which column that is.
    mark : float
        The number of this level.
    """

    def __init__(self, rows: "RowSource | StreamedMoments", place: int, mark: float) -> None:
        if not isinstance(rows, RowSource):
            raise SourceError("by= needs rows that can be read again, not batches that were collected.")
        self.columns = rows.columns and (*rows.columns[:place], *rows.columns[place + 1 :])
        self.n_features = rows.n_features - 1
        self._rows, self._place, self._mark = rows, place, mark

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        for part in self._rows.iter_tasks():
            # What is there already is picked now, because its memory may be filled anew.
            yield partial(self._pick_decoded, part) if callable(part) else self._pick(part)

    def _pick_decoded(self, decode: "DecodeTask") -> "Iterator[Block]":
        yield from map(self._pick, decode())

    def _pick(self, block: "Block") -> "Block":
        rows, beside = block
        chosen = rows[:, self._place] == self._mark
        own = np.ascontiguousarray(np.delete(rows[chosen], self._place, axis=1))
        return own, None if beside is None else beside[chosen]


def split_groups(rows: "RowSource | StreamedMoments", options: "ReleaseOptions") -> list[RowSource]:
    """All groups of a source, in the order of their levels."""
    assert options.by is not None
    if isinstance(rows, RemoteGroups):
        return [rows.group(code) for code in range(len(options.by.levels))]
    place = rows.n_features - (1 if options.domain.weight is None else 2)  # a weight comes after the level
    return [GroupRows(rows, place, mark) for mark in options.by.marks]


def count_groups(groups: Sequence[RowSource], options: "ReleaseOptions") -> tuple[list[int] | None, int]:
    """How many rows, or people, are in each group, and in how many groups somebody is, at most, where that is public.

    Where being in a group is a secret, nothing is counted, and somebody could be in every group.
    """
    assert options.by is not None
    by_person = options.domain.person is not None
    if options.domain.hides_count:
        return None, most_groups(options.by, by_person=by_person)
    if not by_person:
        return [group.count() for group in groups], 1
    counts, met = [], People()
    for group in groups:
        people, _ = count_people(group)
        counts.append(people.count())
        met.add(people.keys)
    return counts, int(met.rows_at.max())
