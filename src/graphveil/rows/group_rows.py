"""One group of a source: the rows with one declared level, and no others.

Guarantee
---------
Whether a row is in a group depends on its own level alone. Proof: ``privacy/proofs/groups.md``.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.sources import RowSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block, DecodeTask
    from graphveil.rows.streaming import StreamedMoments

__all__ = ["GroupRows", "number_groups", "pick_rows"]


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
        self._rows, self._pick = rows, partial(pick_rows, place, mark)

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        for part in self._rows.iter_tasks():
            # What is there already is picked now, because its memory may be filled anew.
            yield partial(self._pick_decoded, part) if callable(part) else self._pick(part)

    def _pick_decoded(self, decode: "DecodeTask") -> "Iterator[Block]":
        yield from map(self._pick, decode())


def pick_rows(place: int, mark: float, block: "Block") -> "Block":
    """The rows of a block whose level is ``mark``, without the column of levels."""
    rows, beside = block
    chosen = rows[:, place] == mark
    own = np.ascontiguousarray(np.delete(rows[chosen], place, axis=1))
    return own, None if beside is None else beside[chosen]


def number_groups(levels: "NDArray[np.float64]", marks: tuple[float, ...]) -> "NDArray[np.intp]":
    """The number of the group that each row is in, of those with these marks; -1 for none."""
    same = levels[:, np.newaxis] == np.asarray(marks)
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)
