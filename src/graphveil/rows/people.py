"""People: each person counts once, as the average of their rows, however many there are.

A row of a person with m rows gets the integer weight ⌊2²⁰/m⌋, so that a person's weights add up to at most 2²⁰; with
survey weights, the m-th part of its own. Every query sums weight × f(row): a person adds a point of the convex hull of
f's values, and a hull is no wider than its set.

Guarantee
---------
A weight depends on how many rows its own person has, and on nothing else, unless two ids were mistaken for one
(``rows/ids.py``). Proof: ``privacy/proofs/people.md`` (theorem 13).
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import i4, i8, u8, void
from numba.types import Tuple  # type: ignore[attr-defined] # not in its type information

from graphveil._compiled import compiled
from graphveil.rows.statistic import Unreleased
from graphveil.spec.quantization import PERSON_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]  # of shape (n, 2)

__all__ = ["People"]

_FULL = 0.85  # share of a table that is filled before it grows
_GROWTH = 1.5
_MOST_ROWS = 2**31 - 1  # of one person that are counted: beyond 2²⁰ their weight is zero anyway

_KEYS = u8[:, ::1]


# ------------------------------------------------------------------ keys are counted
@compiled(u8(u8, u8, u8))
def _mix(first: Any, second: Any, secret: Any) -> Any:
    """Spread a key over 64 bits; which keys meet depends on a secret, so nobody can choose ids that do."""
    z = (second ^ secret) * u8(0x9E3779B97F4A7C15) + first * u8(0xC2B2AE3D27D4EB4F)
    z = (z ^ (z >> u8(30))) * u8(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u8(27)) ^ secret) * u8(0x94D049BB133111EB)
    return z ^ (z >> u8(31))


@compiled(i8(u8, u8, u8, _KEYS, i4[::1]))
def _find(first: Any, second: Any, mixed: Any, table: Any, counts: Any) -> Any:
    """The place of a key in a table, or the empty place where it belongs."""
    size = counts.size
    at = i8(mixed % u8(size))
    while counts[at] != 0 and (table[at, 0] != first or table[at, 1] != second):
        at = at + 1 if at + 1 < size else 0
    return at


@compiled(Tuple((i8, i8, u8))(_KEYS, i8, u8, _KEYS, i4[::1], i8, i8))
def _count(keys: Any, start: Any, secret: Any, table: Any, counts: Any, filled: Any, most: Any) -> Any:
    """Count keys from ``start`` on until ``most`` places are filled; return where it stopped, how many, a checksum."""
    total = u8(0)
    for i in range(start, keys.shape[0]):
        if filled >= most:
            return i, filled, total
        mixed = _mix(keys[i, 0], keys[i, 1], secret)
        total += mixed
        at = _find(keys[i, 0], keys[i, 1], mixed, table, counts)
        if counts[at] == 0:
            table[at, 0], table[at, 1] = keys[i, 0], keys[i, 1]
            filled += 1
        if counts[at] < _MOST_ROWS:
            counts[at] += 1
    return keys.shape[0], filled, total


@compiled(void(_KEYS, i4[::1], u8, _KEYS, i4[::1]))
def _move(table: Any, counts: Any, secret: Any, larger: Any, larger_counts: Any) -> None:
    for i in range(counts.size):
        if counts[i] != 0:
            at = _find(table[i, 0], table[i, 1], _mix(table[i, 0], table[i, 1], secret), larger, larger_counts)
            larger[at, 0], larger[at, 1], larger_counts[at] = table[i, 0], table[i, 1], counts[i]


@compiled(u8(_KEYS, u8, _KEYS, i4[::1], i8[::1]))
def _weigh(keys: Any, secret: Any, table: Any, counts: Any, out: Any) -> Any:
    """Divide the weight of each key's row by how many its person has, 0 if nobody has it; add up the keys."""
    total = u8(0)
    for i in range(keys.shape[0]):
        mixed = _mix(keys[i, 0], keys[i, 1], secret)
        at = _find(keys[i, 0], keys[i, 1], mixed, table, counts)
        out[i] = out[i] // counts[at] if counts[at] > 0 else 0
        total += mixed
    return total


@compiled(void(_KEYS, u8, _KEYS, i4[::1], i8[::1]))
def _place(keys: Any, secret: Any, table: Any, counts: Any, out: Any) -> None:
    """Write where each key is in the table."""
    for i in range(keys.shape[0]):
        out[i] = _find(keys[i, 0], keys[i, 1], _mix(keys[i, 0], keys[i, 1], secret), table, counts)


class People(Unreleased):
    """How many rows each person has: about 35 bytes a person, 60 while the table grows."""

    __slots__ = ("_counts", "_filled", "_secret", "_table", "checksum")

    def __init__(self) -> None:
        self._secret = np.uint64(int.from_bytes(os.urandom(8), "little"))
        self._table, self._counts, self._filled = np.zeros((1024, 2), np.uint64), np.zeros(1024, np.int32), 0
        self.checksum = 0

    def add(self, keys: "Keys") -> None:
        """Count the rows of some keys."""
        start = 0
        while True:
            most = int(_FULL * self._counts.size)
            found = _count(keys, start, self._secret, self._table, self._counts, self._filled, most)
            start, self._filled = found[:2]
            self.checksum = (self.checksum + int(found[2])) % 2**64
            if start == len(keys):
                break
            self._grow()

    def weigh(self, keys: "Keys", own: "NDArray[np.int64] | None" = None) -> "tuple[NDArray[np.int64], int]":
        """The weights of rows, and a checksum of whose they are: sums of it tell whether rows changed hands.

        ``own`` are integers of at most 2²⁰, of which everybody's rows get equal parts; 2²⁰ each by default.
        """
        weights = np.full(len(keys), PERSON_WEIGHT, np.int64) if own is None else own.copy()
        return weights, int(_weigh(keys, self._secret, self._table, self._counts, weights))

    def place(self, keys: "Keys") -> "NDArray[np.int64]":
        """A number for each row that is the same for all rows of a person, below :attr:`room`."""
        places = np.empty(len(keys), np.int64)
        _place(keys, self._secret, self._table, self._counts, places)
        return places

    @property
    def keys(self) -> "Keys":
        """Everybody's key, once."""
        return self._table[self._counts > 0]

    @property
    def room(self) -> int:
        """What no place exceeds."""
        return self._counts.size

    @property
    def rows_at(self) -> "NDArray[np.int32]":
        """How many rows the person at each place has; 0 for a place that is nobody's."""
        return self._counts

    def count(self) -> int:
        """Number of people."""
        return self._filled

    def _grow(self) -> None:
        size = int(_GROWTH * self._counts.size)
        table, counts = np.zeros((size, 2), np.uint64), np.zeros(size, np.int32)
        _move(self._table, self._counts, self._secret, table, counts)
        self._table, self._counts = table, counts
