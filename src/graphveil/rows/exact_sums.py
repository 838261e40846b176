"""Exact sums of products of integer rows: the same bits whatever the order, the batches, the threads or the engine.

Guarantee
---------
Entries of an encoded row are integers with Σ k² ≤ 2⁴⁰. The products of 2¹³ such rows and their partial sums, in any
order and with or without fused multiply-add, are integers of at most 2⁵³, which float64 holds exactly. Larger totals
are kept in two int64 words, high·2⁴⁰ + low, without any rounding, also when they travel. Proof:
``privacy/proofs/quantization.md``.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.rows.statistic import Unreleased
from graphveil.spec.quantization import EXACT_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ExactMoments", "join_words", "split_words"]

_WORD = 40  # bits of the low word
_MASK = (1 << _WORD) - 1


def split_words(values: "NDArray[Any]") -> "NDArray[np.int64]":
    """Two words of each integer, the high ones first."""
    return np.concatenate([values >> _WORD, values & _MASK]).astype(np.int64)


def join_words(words: "NDArray[np.int64]") -> "NDArray[Any]":
    """Undo :func:`split_words`, also of sums of words: Python integers."""
    high, low = words.astype(object).reshape(2, -1)
    return np.asarray(high * (1 << _WORD) + low)


class ExactMoments(Unreleased):
    """Running sum of kkᵀ over integer rows k.

    Parameters
    ----------
    width : int
        Length of a row, augmentation included.
    """

    __slots__ = ("_high", "_low", "_pending", "_pending_rows", "_product", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        shape = (width, width)
        self._high = np.zeros(shape, dtype=np.int64)
        self._low = np.zeros(shape, dtype=np.int64)  # in [0, 2⁴⁰) between calls
        self._pending = np.zeros(shape)  # exact: at most EXACT_ROWS rows at a time
        self._pending_rows = 0
        self._product = np.empty(shape)

    def update(self, encoded: "NDArray[np.float64]") -> None:
        """Add encoded rows."""
        for start in range(0, len(encoded), EXACT_ROWS):
            block = encoded[start : start + EXACT_ROWS]
            if self._pending_rows + len(block) > EXACT_ROWS:
                self._settle()
            np.matmul(block.T, block, out=self._product)
            self._pending += self._product
            self._pending_rows += len(block)

    def merge(self, other: "ExactMoments") -> None:
        """Add the rows that ``other`` has seen."""
        self._settle()
        other._settle()
        self._low += other._low
        self._high += other._high
        self._carry()

    def to_words(self) -> "NDArray[np.int64]":
        """High and low words of the upper triangle; sums of words are words of sums."""
        self._settle()
        upper = np.triu_indices(self.width)
        return np.concatenate([self._high[upper], self._low[upper]])

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        """Add what other moments have seen, from a sum of at most 2²³ of their words."""
        self._settle()
        upper = np.triu_indices(self.width)
        theirs = np.zeros((2, self.width, self.width), dtype=np.int64)
        for matrix, half in zip(theirs, words.reshape(2, -1), strict=True):
            matrix[upper] = half
            matrix.T[upper] = half
        self._high += theirs[0]
        self._low += theirs[1]
        self._carry()

    def total(self) -> "NDArray[Any]":
        """The sum as a matrix of Python integers, which never overflow."""
        self._settle()
        return self._high.astype(object) * (1 << _WORD) + self._low

    def _settle(self) -> None:
        """Move the pending float64 sum, exact so far, into the integer words."""
        if self._pending_rows:
            self._low += self._pending.astype(np.int64)
            self._carry()
            self._pending[...] = 0.0
            self._pending_rows = 0

    def _carry(self) -> None:
        self._high += self._low >> _WORD  # arithmetic shift: floor, also for negative sums
        self._low &= _MASK
