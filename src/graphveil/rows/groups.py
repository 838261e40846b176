"""One group of a source: the rows whose level is a declared one; no other row has any part in it.

Guarantee
---------
Whether a row is in a group depends on its own level alone. Proof: ``privacy/proofs/groups.md``.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from graphveil.exceptions import SourceError
from graphveil.rows.partitions import RemoteRows
from graphveil.rows.sources import RowSource

if TYPE_CHECKING:
    from graphveil.rows.sources import Block, DecodeTask
    from graphveil.rows.streaming import StreamedMoments

__all__ = ["GroupRows"]


class GroupRows(RowSource):
    """The rows of one level.

    Parameters
    ----------
    rows : RowSource
        Rows with the numbers of their levels beside them.
    code : int
        The number of the level.
    """

    def __init__(self, rows: "RowSource | StreamedMoments", code: int) -> None:
        if isinstance(rows, RemoteRows):
            raise SourceError(
                "These rows are on other machines, where by= is not supported yet. Write them to Parquet files first."
            )
        if not isinstance(rows, RowSource):
            raise SourceError("by= needs rows that can be read again, not batches that were collected.")
        self.columns, self.n_features = rows.columns, rows.n_features
        self._rows, self._code = rows, code

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        for part in self._rows.iter_tasks():
            # What is there already is picked now, because its memory may be filled anew.
            yield partial(self._pick_decoded, part) if callable(part) else self._pick(part)

    def _pick_decoded(self, decode: "DecodeTask") -> "Iterator[Block]":
        yield from map(self._pick, decode())

    def _pick(self, block: "Block") -> "Block":
        rows, codes = block
        assert codes is not None
        return rows[codes == self._code], None
