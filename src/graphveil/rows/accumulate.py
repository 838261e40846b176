"""One pass over the rows with all cores: read a block, clip it, add it to every statistic that is asked for.

The calling thread reads, because a source may belong to it; workers clip and sum. Sums are exact, so they may take
pieces in any order. For moderate widths every worker has its own sums and a BLAS limited to one thread; nested
thread pools cost a factor of two. For wide rows the product dominates everything and has p² numbers, so one sum with
a threaded BLAS is both faster and smaller.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from queue import Empty, Full, Queue
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from graphveil.rows.blocks import Blocks
from graphveil.rows.clipping import Encoder, RawRows
from graphveil.rows.unreleased import Statistic
from graphveil.spec.lattice import EXACT_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.blocks import Block

__all__ = ["accumulate", "as_floats"]

_PIECE_ENTRIES = 2**18  # 2 MB of encoded rows stay near a core's cache,
_PIECE_ROWS = 2**10  # but the BLAS wants its sums at least this long
_WIDE = 1024

Encoding = Encoder | RawRows
# Called once per piece with the number of rows read so far.
Progress = Callable[[int], None]
Sums = tuple[int, list[Statistic]]


def accumulate(
    blocks: Blocks,
    encoder: Encoding,
    statistics: Callable[[], list[Statistic]],
    progress: Progress | None = None,
) -> Sums:
    """Number of rows, and every statistic over all of them; an interruption stops within one piece."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pieces = _pieces(blocks, encoder.width, progress)
    if encoder.width > _WIDE or workers == 1:
        return _sum(pieces, encoder, statistics())
    begun = list(islice(pieces, 2))
    if len(begun) < 2:  # threads take longer to start than one piece to sum
        return _sum(iter(begun), encoder, statistics())
    waiting: Queue[Block | None] = Queue(maxsize=2 * workers)
    over = Event()
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        try:
            futures = [pool.submit(_sum, _taken(waiting, over), encoder, statistics()) for _ in range(workers)]
            for piece in chain(begun, pieces):
                _hand_over(waiting, piece, futures)
            for _ in futures:
                _hand_over(waiting, None, futures)
            (n_rows, totals), *others = [future.result() for future in futures]
        finally:
            over.set()  # whatever happened, and however often it is interrupted: no worker waits for more
    for more_rows, parts in others:
        n_rows += more_rows
        for total, part in zip(totals, parts, strict=True):
            total.merge(part)
    return n_rows, totals


def _taken(waiting: "Queue[Block | None]", over: Event) -> "Iterator[Block]":
    """Pieces until None comes, or until the pass is over because something failed."""
    while not over.is_set():
        try:
            piece = waiting.get(timeout=0.1)
        except Empty:
            continue
        if piece is None:
            return
        yield piece


def _hand_over(waiting: "Queue[Block | None]", piece: "Block | None", futures: "list[Future[Sums]]") -> None:
    """Put a piece, unless the workers have all ended, which they do early only by an error."""
    while not all(future.done() for future in futures):
        try:
            return waiting.put(piece, timeout=0.1)
        except Full:
            continue


def _sum(pieces: "Iterator[Block]", encoder: Encoding, statistics: list[Statistic]) -> Sums:
    n_rows = 0
    buffer = np.empty((_piece_rows(encoder.width), encoder.width))
    for rows, codes in pieces:
        encoded = buffer[: len(rows)]
        encoder.encode(as_floats(rows), codes, encoded)
        for statistic in statistics:
            statistic.update(encoded)
        n_rows += len(rows)
    return n_rows, statistics


def _piece_rows(width: int) -> int:
    return min(EXACT_ROWS, max(_PIECE_ROWS, _PIECE_ENTRIES // width))


def _pieces(blocks: Blocks, width: int, progress: Progress | None) -> "Iterator[Block]":
    """Cut blocks to size."""
    step, done = _piece_rows(width), 0
    for rows, codes in blocks.read():
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            # A worker looks at a piece later, when the source may have filled the memory of a batch anew.
            piece = rows[part].copy() if blocks.overwritten else rows[part]
            yield piece, None if codes is None else codes[part]
            done += len(piece)
            if progress is not None:
                progress(done)


def as_floats(rows: "NDArray[np.generic]") -> "NDArray[np.float64]":
    """C-contiguous, aligned float64; masked values become NaN."""
    with np.errstate(all="ignore"):  # a warning about a cast would tell something about a value
        if isinstance(rows, np.ma.MaskedArray):
            rows = np.ma.filled(rows.astype(np.float64), np.nan)
        return np.require(rows, dtype=np.float64, requirements=["C", "ALIGNED", "ENSUREARRAY"])
