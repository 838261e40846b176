"""One pass over the rows with all cores: read a block, clip it, add it to every statistic that is asked for.

The calling thread reads, because a source may belong to it; workers decode what can be decoded anywhere, clip and sum.
Sums are exact, so they may take pieces in any order. For moderate widths every worker has its own sums and a BLAS
limited to one thread; nested thread pools cost a factor of two. For wide rows the product dominates everything and has
p² numbers, so one sum with a threaded BLAS is both faster and smaller.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from queue import Empty, Full, Queue
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numba import config

from graphveil._threads import one_blas_thread
from graphveil.exceptions import GuaranteeError
from graphveil.rows.partitions import RemoteRows
from graphveil.rows.sources import RowSource
from graphveil.rows.statistic import Statistic
from graphveil.rows.weights import RowWeights
from graphveil.spec.quantization import EXACT_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block, DecodeTask

__all__ = ["Tally", "accumulate", "as_floats", "sum_blocks"]

_PIECE_ENTRIES = 2**18  # 2 MB of encoded rows stay near a core's cache,
_PIECE_ROWS = 2**10  # but the BLAS wants its sums at least this long
_WIDE = 1024


class Encoding(Protocol):
    """What turns rows into integer rows."""

    width: int

    def encode(self, rows: "NDArray[np.float64]", beside: "NDArray[Any] | None", out: "NDArray[np.float64]") -> None:
        """Encode C-contiguous rows into ``out``; ``beside`` is what stands beside them."""
        ...


# Called once per piece, and in the end, with the number of rows that are summed so far.
Progress = Callable[[int], None]


@dataclass(eq=True)
class Tally:
    """What every pass must find again: how many rows there are, and a checksum of whose they are."""

    rows: int = 0
    owners: int = 0

    def add(self, other: "Tally") -> None:
        """Add what another thread has seen."""
        self.rows += other.rows
        self.owners = (self.owners + other.owners) % 2**64


Sums = tuple[Tally, list[Statistic]]


def accumulate(
    blocks: RowSource,
    encoder: Encoding,
    statistics: Callable[[], list[Statistic]],
    progress: Progress | None = None,
    weighing: RowWeights | None = None,
) -> Sums:
    """What was seen, and every statistic over all rows; an interruption stops within one piece.

    With ``weighing``, rows count by their weights.
    """
    if isinstance(blocks, RemoteRows):
        return blocks.accumulate(encoder, statistics, progress)
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pieces = _pieces(blocks, encoder.width)
    begun = list(islice(pieces, 2))
    pieces = chain(begun, pieces)
    if encoder.width > _WIDE or workers == 1 or len(begun) < 2:  # threads take longer to start than one piece to sum
        tally = Tally()
        seen, totals = _sum(_report(pieces, [tally], progress), encoder, statistics(), tally, weighing)
    else:
        seen, totals = _sum_together(pieces, encoder, statistics, progress, workers, weighing)
    if progress is not None:
        progress(seen.rows)
    return seen, totals


def _sum_together(
    pieces: "Iterator[Block | DecodeTask]",
    encoder: Encoding,
    statistics: Callable[[], list[Statistic]],
    progress: Progress | None,
    workers: int,
    weighing: RowWeights | None,
) -> Sums:
    """Every worker has its own sums; they are merged in the end."""
    waiting: Queue[Block | DecodeTask | None] = Queue(maxsize=2 * workers)
    over = Event()
    tallies = [Tally() for _ in range(workers)]
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            futures = [
                pool.submit(_sum, _take(waiting, over), encoder, statistics(), tally, weighing) for tally in tallies
            ]
            for piece in _report(pieces, tallies, progress):
                _hand_over(waiting, piece, futures)
            for _ in futures:
                _hand_over(waiting, None, futures)
            (seen, totals), *others = [future.result() for future in futures]
        finally:
            over.set()  # whatever happened, and however often it is interrupted: no worker waits for more
    for more, parts in others:
        seen.add(more)
        for total, part in zip(totals, parts, strict=True):
            total.merge(part)
    return seen, totals


def sum_blocks(
    blocks: "Iterator[Block]", encoder: Encoding, statistics: list[Statistic], weighing: RowWeights | None = None
) -> Sums:
    """The same of given blocks, in this thread."""
    return _sum(blocks, encoder, statistics, Tally(), weighing)


def _report(
    pieces: "Iterator[Block | DecodeTask]", tallies: list[Tally], progress: Progress | None
) -> "Iterator[Block | DecodeTask]":
    """Report to ``progress``, in the calling thread, how many rows the workers have summed."""
    for piece in pieces:
        yield piece
        if progress is not None:
            progress(sum(tally.rows for tally in tallies))


def _take(waiting: "Queue[Block | DecodeTask | None]", over: Event) -> "Iterator[Block | DecodeTask]":
    """Pieces until None comes, or until the pass is over because something failed."""
    while not over.is_set():
        try:
            piece = waiting.get(timeout=0.1)
        except Empty:
            continue
        if piece is None:
            return
        yield piece


def _hand_over(
    waiting: "Queue[Block | DecodeTask | None]", piece: "Block | DecodeTask | None", futures: "list[Future[Sums]]"
) -> None:
    """Put a piece; should a worker have failed, raise what it raised."""
    while True:
        for future in futures:
            if future.done():
                future.result()
        try:
            return waiting.put(piece, timeout=0.1)
        except Full:
            continue


def _sum(
    pieces: "Iterator[Block | DecodeTask]",
    encoder: Encoding,
    statistics: list[Statistic],
    tally: Tally,
    weighing: RowWeights | None,
) -> Sums:
    # In kernels that are not compiled integers of numpy overflow, and a value decides whether that is an error.
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise GuaranteeError("NUMBA_DISABLE_JIT is set, but the proofs hold only for compiled kernels. Unset it.")
    step = _piece_rows(encoder.width)
    buffer = np.empty((step, encoder.width))
    for piece in pieces:
        for rows, beside in piece() if callable(piece) else [piece]:
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                encoded = buffer[: len(rows[part])]
                numbers, marks, weights = as_floats(rows[part]), None if beside is None else beside[part], None
                if weighing is not None:
                    weights, owners = weighing.weigh(numbers, marks)
                    tally.add(Tally(0, owners))
                encoder.encode(numbers, marks, encoded)
                for statistic in statistics:
                    statistic.update(encoded, weights)
                tally.rows += len(encoded)
    return tally, statistics


def _piece_rows(width: int) -> int:
    return min(EXACT_ROWS, max(_PIECE_ROWS, _PIECE_ENTRIES // width))


def _pieces(blocks: RowSource, width: int) -> "Iterator[Block | DecodeTask]":
    """Cut blocks to size, so that workers share them; what is still to be decoded is shared as it is."""
    step = _piece_rows(width)
    for block in blocks.iter_tasks():
        if callable(block):
            yield block
            continue
        rows, beside = block
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            # A worker looks at a piece later, when the source may have filled the memory of a batch anew.
            piece = rows[part].copy() if blocks.reuses_buffer else rows[part]
            yield piece, None if beside is None else beside[part]


def as_floats(rows: "NDArray[np.generic]") -> "NDArray[np.float64]":
    """C-contiguous, aligned float64; masked values become NaN."""
    with np.errstate(all="ignore"):  # a warning about a cast would tell something about a value
        if isinstance(rows, np.ma.MaskedArray):
            rows = np.ma.filled(rows.astype(np.float64), np.nan)
        return np.require(rows, dtype=np.float64, requirements=["C", "ALIGNED", "ENSUREARRAY"])
