"""The average row of each person, for what varies between people and for what varies within them.

Guarantee
---------
A mean is computed from the encoded rows of its own person, whose sum is exact, and from their number. The row of a
person, or a row's deviation from it, is an integer row inside of the ball that encoded rows keep, checked in exact
arithmetic: a person adds to every sum what one row could. Proof: ``privacy/proofs/people.md`` (theorem 13).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import f8, i4, i8, void

from graphveil._compiled import compiled
from graphveil.rows.encoding import Encoder, keep_in_ball
from graphveil.rows.parallel import Tally, as_floats
from graphveil.rows.people import People
from graphveil.rows.sources import RowSource
from graphveil.rows.statistic import Unreleased

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block

__all__ = ["AverageRows", "DeviationEncoder", "PersonMeans"]

_ROWS = 2**12  # that are encoded at a time


@compiled(void(f8[:, ::1], i8[::1], i8[:, ::1]))
def _add(rows, places, sums):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[places[i], j] += i8(rows[i, j])


@compiled(void(i8[:, ::1], i4[::1], f8[:, ::1]))
def _divide(sums, counts, means):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    for i in range(counts.size):
        for j in range(sums.shape[1]):
            means[i, j] = sums[i, j] / max(counts[i], 1)


@compiled(void(f8[:, ::1], i8[::1], f8[:, ::1]))
def _subtract(rows, places, means):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Half of what a row is away from its person's mean, rounded: the whole could reach across the box."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            rows[i, j] = np.rint((rows[i, j] - means[places[i], j]) * 0.5)


class PersonMeans(Unreleased):
    """Means of encoded rows, person by person: 8 bytes for each column of a person, and as much while they are made.

    Parameters
    ----------
    source : RowSource
        With the keys of people beside its rows.
    encoder : Encoder
        Without anything appended.
    people : People
        Everybody, counted.
    """

    __slots__ = ("_encoder", "_people", "means", "seen")

    def __init__(self, source: RowSource, encoder: Encoder, people: People) -> None:
        self._encoder, self._people, self.seen = encoder, people, Tally()
        sums = np.zeros((people.room, encoder.width), np.int64)
        buffer = np.empty((_ROWS, encoder.width))
        for rows, keys in source.read():
            assert keys is not None
            self.seen.add(Tally(len(rows), people.weigh(keys)[1]))
            for start in range(0, len(rows), _ROWS):
                part = slice(start, start + _ROWS)
                encoded = buffer[: len(rows[part])]
                encoder.encode(as_floats(rows[part]), None, encoded)
                _add(encoded, people.place(keys[part]), sums)
        self.means = np.empty(sums.shape)
        _divide(sums, people.rows_at, self.means)

    def average_rows(self) -> "NDArray[np.float64]":
        """One integer row for each person."""
        rows = np.rint(self.means[self._people.rows_at > 0])
        keep_in_ball(rows, self._encoder.lattice.row_square)
        return rows


class AverageRows(RowSource):
    """One encoded row for each person."""

    knows_count = True

    def __init__(self, means: PersonMeans, columns: tuple[str, ...] | None) -> None:
        self._rows = means.average_rows()
        self.columns, self.n_features = columns, self._rows.shape[1]

    def read(self) -> "Iterator[Block]":
        yield self._rows, None

    def count(self) -> int:
        return len(self._rows)


class DeviationEncoder:
    """Encodes a row as half of its deviation from its person's mean."""

    def __init__(self, means: PersonMeans, encoder: Encoder, people: People) -> None:
        self._means, self._encoder, self._people = means, encoder, people
        self.width, self.lattice = encoder.width, encoder.lattice

    def encode(self, rows: "NDArray[np.float64]", beside: "NDArray[Any] | None", out: "NDArray[np.float64]") -> None:
        """Encode rows, whose people are told by the keys beside them."""
        assert beside is not None
        self._encoder.encode(rows, None, out)
        _subtract(out, self._people.place(beside), self._means.means)
        keep_in_ball(out, self.lattice.row_square)
