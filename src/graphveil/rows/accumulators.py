"""The exact answer to each query in ``spec/queries.py``, as integers, before noise.

Guarantee
---------
Every statistic is a sum over rows of a function of one integer row, computed without rounding: the same bits
whatever the order, the batches, the merges or the threads. Proofs: ``privacy/proofs/quantization.md``,
``privacy/proofs/whitening.md``, ``privacy/proofs/columns.md``.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from graphveil.exceptions import GuaranteeError
from graphveil.rows.encoding import encode_mapped, map_rows, row_norms, weigh_rows
from graphveil.rows.exact_sums import ExactMoments, join_words, split_words
from graphveil.rows.statistic import Statistic
from graphveil.spec.quantization import CELL_LEVELS, MISSING, PERSON_WEIGHT, MomentLayout, RowGrid
from graphveil.spec.queries import (
    CellCounts,
    ClippedTail,
    ColumnMeans,
    ColumnSquares,
    Moments,
    NormCounts,
    ObservedPairs,
    Query,
    RowMap,
    TotalWeight,
)
from graphveil.spec.row_space import RowSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]
    Weights = NDArray[np.int64]

_CACHED = 2**14  # entries of mapped rows that are handled at a time: 128 kB a buffer
_SMALL = 10**6  # multiplications up to which OpenBLAS takes a kernel for small matrices, faster by a third

__all__ = [
    "CellCounter",
    "ColumnTotals",
    "Count",
    "Filled",
    "MappedMoments",
    "NormCounter",
    "PairCounter",
    "Questions",
    "RowMoments",
    "WeightTotals",
    "statistic_for",
]


class _MomentStatistic(Statistic):
    """Exact moments of rows that a subclass makes of encoded ones."""

    __slots__ = ("_layout", "_moments", "_row_square")

    def __init__(self, layout: MomentLayout, row_square: int) -> None:
        self._layout, self._row_square = layout, row_square
        self._moments = ExactMoments(layout.size)

    def merge(self, other: Self) -> None:
        self._moments.merge(other._moments)

    def to_words(self) -> "NDArray[np.int64]":
        return self._moments.to_words()

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        self._moments.add_from_words(words)

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        return _coordinates(self._moments, self._layout)


class RowMoments(_MomentStatistic):
    """Moments of the rows of the domain, with what the release appends to them."""

    __slots__ = ()

    def __init__(self, layout: MomentLayout, lattice: RowGrid) -> None:
        super().__init__(layout, lattice.row_square)

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        if weights is not None:
            encoded = encoded.copy()  # other statistics are to see it too
            weigh_rows(encoded, weights, self._layout.n_features, self._row_square)
        self._moments.update(encoded)


class _Mapped:
    """(clip(k) - centre) · matrix, exactly, a few rows at a time in memory that stays in the cache.

    The product of the centre is subtracted from the products of rows: unless the window cuts, rows need no copy.
    """

    __slots__ = ("arguments", "product")

    def __init__(self, row_map: RowMap, edge: float) -> None:
        p = row_map.centre.size
        rows = _rows_at_a_time(p)
        matrix = np.ascontiguousarray(row_map.matrix)
        offset, inside = row_map.centre @ matrix, np.empty((rows, p))
        self.arguments = (row_map.cuts(edge), row_map.low, row_map.high, matrix, offset, inside)
        self.product = np.empty((rows, p))

    def pieces(self, encoded: "Rows") -> "Iterator[tuple[slice, Rows]]":
        """Mapped rows with their places; each is overwritten by the next."""
        cuts, low, high, matrix, offset, inside = self.arguments
        for start in range(0, len(encoded), len(inside)):
            rows = encoded[start : start + len(inside)]
            n = len(rows)
            map_rows(rows, cuts, low, high, matrix, offset, inside[:n], self.product[:n])
            yield slice(start, start + n), self.product[:n]


class MappedMoments(_MomentStatistic):
    """Moments of mapped rows, shortened to a norm; or of what that shortening cut off.

    ``edge`` is what no coordinate of the rows exceeds, if that is known: a window that is as wide need not be applied.
    """

    __slots__ = ("_arguments", "_constant", "_encoded", "_mapped")

    def __init__(
        self, query: Moments | ClippedTail, lattice: RowGrid, layout: MomentLayout, edge: float = math.inf
    ) -> None:
        assert query.row_map is not None
        super().__init__(layout, lattice.row_square)
        self._mapped, self._constant = _Mapped(query.row_map, edge), lattice.constant
        inner, norm = (query.inner, query.outer) if isinstance(query, ClippedTail) else (0.0, query.radius)
        self._arguments = (inner, norm, lattice.ball, float(lattice.row_square))
        self._encoded = np.empty((0, layout.size))

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        if len(self._encoded) < len(encoded):
            self._encoded = np.full((len(encoded), self._layout.size), float(self._constant))
        out = self._encoded[: len(encoded)]
        encode_mapped(encoded, *self._mapped.arguments, self._mapped.product, *self._arguments, out)
        if weights is not None:
            out[:, encoded.shape[1] :] = self._constant
            weigh_rows(out, weights, encoded.shape[1], self._row_square)
        self._moments.update(out)


class NormCounter(Statistic):
    """How many mapped rows, or raw ones, have a norm in each bin; ``edge`` as for :class:`MappedMoments`."""

    __slots__ = ("_counts", "_edges", "_mapped")

    def __init__(self, query: NormCounts, edge: float = math.inf) -> None:
        self._mapped, self._edges = None if query.row_map is None else _Mapped(query.row_map, edge), query.edges
        self._counts = np.zeros(query.edges.size + 1, dtype=np.int64)

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        norms = np.empty(len(encoded))
        if self._mapped is None:
            row_norms(encoded, norms)
        else:
            for place, exact in self._mapped.pieces(encoded):
                row_norms(exact, norms[place])
        bins = np.searchsorted(self._edges, norms, side="right")
        self._counts += _count_in_bins(bins, weights, self._counts.size)

    def merge(self, other: Self) -> None:
        self._counts += other._counts

    def to_words(self) -> "NDArray[np.int64]":
        return self._counts.ravel()

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        self._counts += words.reshape(self._counts.shape)

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        return {"counts": self._counts.astype(object)}


class ColumnTotals(Statistic):
    """Σk and Σk² of every column inside a window: enough for means, and for squares about any centre.

    Where rows have weights, Σwk, Σwk² and Σw. A sum for means is about ``origin``, a point of the window, if there is
    one. Where Σw should be 2²⁰ times a public ``n_people``, it is less than that by what rounding weights down has
    lost, and adding that many origins again makes up for it. Where values may be missing, everything is summed over
    those that are there, also the number of rows.
    """

    __slots__ = ("_gaps", "_high", "_low", "_n_people", "_origin", "_rows", "_squares", "_sums")

    def __init__(
        self,
        low: "Rows",
        high: "Rows",
        n_people: int | None = None,
        *,
        origin: "Rows | None" = None,
        gaps: bool = False,
    ) -> None:
        if gaps and not ((low <= 0.0) & (high >= 0.0)).all():
            raise GuaranteeError("a window of columns with missing values must contain zero, which they count as.")
        self._low, self._high, self._n_people = low, high, n_people
        self._origin, self._gaps = origin, gaps
        self._rows = np.zeros(low.size, dtype=object)
        self._sums = np.zeros(low.size, dtype=object)
        self._squares = np.zeros(low.size, dtype=object)

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        inside, there = np.clip(encoded, self._low, self._high), None
        if self._gaps:
            there = encoded != MISSING
            inside = np.where(there, inside, 0.0)
        if weights is not None:
            return self._update_weighted(inside, there, weights)
        self._rows = self._rows + (len(inside) if there is None else there.sum(axis=0).astype(object))
        self._sums = self._sums + inside.sum(axis=0).astype(np.int64).astype(object)
        # At most 2¹³ rows of squares of at most 2⁴⁰: the float sum is exact.
        self._squares = self._squares + (inside**2).sum(axis=0).astype(np.int64).astype(object)

    def _update_weighted(self, inside: "Rows", there: "NDArray[np.bool_] | None", weights: "Weights") -> None:
        # Weights are at most 2²⁰, and so are coordinates and the halves of their squares: over 2¹³ rows every partial
        # sum of products is an integer of at most 2⁵³.
        squares, w = inside**2, weights.astype(np.float64)
        upper = np.floor(squares / PERSON_WEIGHT)
        lower = squares - upper * PERSON_WEIGHT
        self._rows = self._rows + (int(weights.sum()) if there is None else _whole(w @ there))
        self._sums = self._sums + _whole(w @ inside)
        self._squares = self._squares + _whole(w @ upper) * PERSON_WEIGHT + _whole(w @ lower)

    def merge(self, other: Self) -> None:
        self._rows = self._rows + other._rows
        self._sums = self._sums + other._sums
        self._squares = self._squares + other._squares

    def to_words(self) -> "NDArray[np.int64]":
        return split_words(np.concatenate([self._rows, self._sums, self._squares]))

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        rows, sums, squares = np.array(join_words(words), dtype=object).reshape(3, -1)
        self._rows, self._sums, self._squares = self._rows + rows, self._sums + sums, self._squares + squares

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        """Weighted sums, or weighted squares expanded about a centre, in Python integers."""
        assert isinstance(query, ColumnMeans | ColumnSquares)
        which = query.columns.astype(np.intp)
        weights, sums, rows = _whole(query.weights), self._sums[which], self._rows[which]
        if isinstance(query, ColumnMeans):
            if self._origin is not None:
                public = 0 if self._n_people is None else self._n_people * PERSON_WEIGHT
                sums = sums + (public - rows) * _whole(self._origin)[which]
            return {"means": weights * sums}
        centre = _whole(query.centre)[which]
        return {"squares": weights * (self._squares[which] - 2 * centre * sums + rows * centre * centre)}


class Count(Statistic):
    """How many people there are, or rows; counted before, and not a sum over encoded rows."""

    __slots__ = ("_count",)

    def __init__(self, count: int) -> None:
        self._count = count

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        raise NotImplementedError

    merge = add_from_words = to_words = update  # type: ignore[assignment]

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        return {"count": np.array([self._count], dtype=object)}


class WeightTotals(Statistic):
    """Sums of weights, and of weights times what each row's own weight is short of the largest."""

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        self._sums = np.zeros(2, dtype=object)

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        assert weights is not None
        short = PERSON_WEIGHT - encoded[:, 0].astype(np.int64)
        # At most 2¹³ products of at most 2⁴⁰.
        self._sums = self._sums + np.array([int(weights.sum()), int((weights * short).sum())], dtype=object)

    def merge(self, other: Self) -> None:
        self._sums = self._sums + other._sums

    def to_words(self) -> "NDArray[np.int64]":
        return split_words(self._sums)

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        self._sums = self._sums + join_words(words)

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        return {"totals": self._sums * np.array([PERSON_WEIGHT, 3], dtype=object)}


class CellCounter(Statistic):
    """How many rows fall into each cell of some columns, at every level."""

    __slots__ = ("_columns", "_counts", "_levels")

    def __init__(self, query: CellCounts, levels: int) -> None:
        self._columns = query.columns.astype(np.intp)
        self._levels = levels
        self._counts = np.zeros((self._columns.size, 2 ** CELL_LEVELS[0]), dtype=np.int64)

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        finest, values = CELL_LEVELS[0], encoded[:, self._columns]
        steps = values.astype(np.int64) + self._levels
        cells = (steps << finest) // (2 * self._levels + 1)
        cells[values == MISSING] = self._counts.shape[1]  # a cell of their own, which is not counted
        size = self._counts.shape[1] + 1
        self._counts += np.stack([_count_in_bins(column, weights, size)[:-1] for column in cells.T])

    def merge(self, other: Self) -> None:
        self._counts += other._counts

    def to_words(self) -> "NDArray[np.int64]":
        return self._counts.ravel()

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        self._counts += words.reshape(self._counts.shape)

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        finest = CELL_LEVELS[0]
        coarser = [
            self._counts.reshape(len(self._counts), 2**level, 2 ** (finest - level)).sum(axis=2)
            for level in CELL_LEVELS
        ]
        return {"cells": np.concatenate(coarser, axis=1).ravel().astype(object)}


class PairCounter(Statistic):
    """Sums of signs, 1 for a value that is there and -1 for one that is not, and of their products."""

    __slots__ = ("_columns", "_moments")

    def __init__(self, query: ObservedPairs) -> None:
        self._columns = query.columns.astype(np.intp)
        self._moments = np.zeros((self._columns.size + 1,) * 2, dtype=np.int64)

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        signs = np.ones((len(encoded), self._columns.size + 1))
        signs[:, :-1] = np.where(encoded[:, self._columns] == MISSING, -1.0, 1.0)
        # Weights are at most 2²⁰, and rows at most 2¹³: every partial sum is an integer of at most 2³³.
        weighted = signs if weights is None else signs * weights[:, None]
        self._moments += (weighted.T @ signs).astype(np.int64)

    def merge(self, other: Self) -> None:
        self._moments += other._moments

    def to_words(self) -> "NDArray[np.int64]":
        return self._moments.ravel()

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        self._moments += words.reshape(self._moments.shape)

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        m = self._columns.size
        pairs = self._moments[:m, :m][np.triu_indices(m, 1)]
        return {"signs": np.concatenate([self._moments[:m, m], pairs]).astype(object)}


class Filled(Statistic):
    """Another statistic, of rows in which missing values are where a map of rows has its centre."""

    __slots__ = ("_centre", "_of_rows")

    def __init__(self, of_rows: Statistic, row_map: RowMap) -> None:
        self._of_rows, self._centre = of_rows, row_map.centre

    def update(self, encoded: "Rows", weights: "Weights | None" = None) -> None:
        self._of_rows.update(np.where(encoded == MISSING, self._centre, encoded), weights)

    def merge(self, other: Self) -> None:
        self._of_rows.merge(other._of_rows)

    def to_words(self) -> "NDArray[np.int64]":
        return self._of_rows.to_words()

    def add_from_words(self, words: "NDArray[np.int64]") -> None:
        self._of_rows.add_from_words(words)

    def answer(self, query: Query) -> "dict[str, NDArray[Any]]":
        return self._of_rows.answer(query)


def _count_in_bins(bins: "NDArray[np.int64]", weights: "Weights | None", size: int) -> "NDArray[np.int64]":
    """How many rows fall into each bin, or what they weigh: of 2¹³ weights of at most 2²⁰ the float sum is exact."""
    counts = np.bincount(bins, weights, minlength=size)
    return counts if weights is None else counts.astype(np.int64)


def _rows_at_a_time(p: int) -> int:
    """Few enough for the cache and for fast small products; but with fewer, reading the matrix costs the most."""
    few = min(_CACHED // p, _SMALL // p**2)
    if few >= 100:
        return few
    return 128 if p <= 512 else 1024  # beyond, the matrix itself leaves the cache of a core


def _whole(values: "Rows") -> "NDArray[Any]":
    return values.astype(np.int64).astype(object)


def _coordinates(moments: ExactMoments, layout: MomentLayout) -> "dict[str, NDArray[Any]]":
    diagonal, off_diagonal = layout.split(moments.total())
    return {"diagonal": diagonal, "off_diagonal": off_diagonal, "trace": diagonal.sum(keepdims=True)}


# ------------------------------------------------------------------ which statistic answers which query
def statistic_for(query: Query, space: RowSpace) -> Statistic:
    """An empty statistic that sums what ``query`` asks for.

    Values may be missing in the rows of a ``space`` with gaps: what knows nothing of them is given rows without.
    """
    statistic = _STATISTICS[type(query)](query, space)
    row_map = getattr(query, "row_map", None)
    if not space.gaps or isinstance(statistic, ColumnTotals | CellCounter | PairCounter | WeightTotals):
        return statistic
    if row_map is None:
        raise GuaranteeError("Moments of rows with missing values need a map of rows.")
    return Filled(statistic, row_map)


@dataclass(frozen=True)
class Questions:
    """What one pass is to answer; called, it makes the empty statistics. Public facts alone, so that it may travel."""

    queries: tuple[Query, ...]
    space: RowSpace

    def __call__(self) -> list[Statistic]:
        return [statistic_for(query, self.space) for query in self.queries]


def _column_totals(query: ColumnMeans | ColumnSquares, space: RowSpace) -> Statistic:
    means = ColumnMeans(query.low, query.high, query.weights, query.columns)
    origin = means.middle if space.hides_count else means.next_to_zero if space.weighs else None
    return ColumnTotals(query.low, query.high, space.n_people, origin=origin, gaps=bool(space.gaps))


def _weight_totals(query: TotalWeight, space: RowSpace) -> Statistic:
    return WeightTotals()


def _cell_counter(query: CellCounts, space: RowSpace) -> Statistic:
    return CellCounter(query, space.known_lattice.levels)


def _norm_counter(query: NormCounts, space: RowSpace) -> Statistic:
    return NormCounter(query, space.edge)


def _pair_counter(query: ObservedPairs, space: RowSpace) -> Statistic:
    return PairCounter(query)


def _moments(query: Moments | ClippedTail, space: RowSpace) -> Statistic:
    lattice, layout = query.geometry(space)
    return RowMoments(layout, lattice) if query.row_map is None else MappedMoments(query, lattice, layout, space.edge)


_STATISTICS: dict[type[Query], Callable[[Any, RowSpace], Statistic]] = {
    TotalWeight: _weight_totals,
    ColumnMeans: _column_totals,
    ColumnSquares: _column_totals,
    CellCounts: _cell_counter,
    NormCounts: _norm_counter,
    ObservedPairs: _pair_counter,
    Moments: _moments,
    ClippedTail: _moments,
}
