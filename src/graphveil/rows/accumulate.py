"""One pass over the rows with all cores: read a block, clip it, add its products.

Sums are exact, so threads may take blocks in any order. For moderate widths every thread has its own sum and a BLAS
limited to one thread; nested thread pools cost a factor of two. For wide rows the product dominates everything and has
p² numbers, so one sum with a threaded BLAS is both faster and smaller.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from graphveil.rows.blocks import Blocks
from graphveil.rows.clipping import Encoder
from graphveil.rows.moments import ExactMoments
from graphveil.spec.lattice import EXACT_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.blocks import Block

__all__ = ["accumulate"]

_PIECE_ENTRIES = 2**18  # 2 MB of encoded rows stay near a core's cache,
_PIECE_ROWS = 2**10  # but the BLAS wants its sums at least this long
_WIDE = 1024

# Passed on once per block with the number of rows read so far.
Progress = Callable[[int], None]


def accumulate(blocks: Blocks, encoder: Encoder, progress: Progress | None = None) -> ExactMoments:
    """Sum the encoded rows of a source; an interruption stops all threads within one piece."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pieces = _Pieces(blocks, encoder.width, progress)
    if encoder.width > _WIDE or workers == 1:
        return _sum(pieces, encoder)
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        try:
            futures = [pool.submit(_sum, pieces, encoder) for _ in range(workers)]
            parts = [future.result() for future in futures]
        finally:
            pieces.stop()
    for part in parts[1:]:
        parts[0].merge(part)
    return parts[0]


def _sum(pieces: "_Pieces", encoder: Encoder) -> ExactMoments:
    moments = ExactMoments(encoder.width)
    buffer = np.empty((_piece_rows(encoder.width), encoder.width))
    while (piece := pieces.take()) is not None:
        rows, codes = piece
        encoded = buffer[: len(rows)]
        encoder.encode(_as_floats(rows), codes, encoded)
        moments.update(encoded)
    return moments


class _Pieces:
    """Blocks cut to size and handed out to threads, one at a time."""

    def __init__(self, blocks: Blocks, width: int, progress: Progress | None) -> None:
        self._pieces = self._cut(blocks, width, progress)
        self._lock = threading.Lock()
        self._stopped = False

    def take(self) -> "Block | None":
        with self._lock:
            return None if self._stopped else next(self._pieces, None)

    def stop(self) -> None:
        self._stopped = True

    @staticmethod
    def _cut(blocks: Blocks, width: int, progress: Progress | None) -> "Iterator[Block]":
        step, done = _piece_rows(width), 0
        for rows, codes in blocks.read():
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                yield rows[part], None if codes is None else codes[part]
                done += len(rows[part])
                if progress is not None:
                    progress(done)


def _piece_rows(width: int) -> int:
    return min(EXACT_ROWS, max(_PIECE_ROWS, _PIECE_ENTRIES // width))


def _as_floats(rows: "NDArray[np.generic]") -> "NDArray[np.float64]":
    """C-contiguous, aligned float64; masked values become NaN."""
    with np.errstate(all="ignore"):  # a warning about a cast would tell something about a value
        if isinstance(rows, np.ma.MaskedArray):
            rows = np.ma.filled(rows.astype(np.float64), np.nan)
        return np.require(rows, dtype=np.float64, requirements=["C", "ALIGNED", "ENSUREARRAY"])
