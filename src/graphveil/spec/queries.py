"""The queries that rows can answer: public descriptions, one class per query.

Rows are integer vectors k on the lattice of the domain (:class:`~graphveil.spec.quantization.RowGrid`). Each query is a
sum over rows of a function of one row, with public parameters, chosen in advance or from earlier answers. Its class
says how many numbers the answer has, how far one row and one person can move them, and what they are divided by; the
sum itself is a statistic in ``rows/accumulators.py``. A query is never removed or given another meaning, because
release files hold them.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from graphveil._typing import Vector
from graphveil.exceptions import GuaranteeError, InvalidParameter
from graphveil.spec import sensitivity
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import CELLS, MAX_SQUARE, PERSON_WEIGHT, MomentLayout, RowGrid
from graphveil.spec.row_space import RowSpace

__all__ = [
    "CellCounts",
    "ClippedTail",
    "ColumnMeans",
    "ColumnSquares",
    "Moments",
    "NormCounts",
    "ObservedPairs",
    "Query",
    "RowCount",
    "RowMap",
    "TotalWeight",
]

_COLUMN_NORM = 2.0**31
_NORMS = (1e-250, 1e250)
_LARGEST_WEIGHT = 2.0**20


@dataclass(frozen=True, eq=False)
class RowMap:
    """An affine map of integer rows that float64 applies exactly: clamp to a window, subtract a centre, multiply.

    z = (clip(k, low, high) - centre) · integers · 2^-exponents, column by column.

    Guarantee
    ---------
    ‖clip(k)‖ and ‖centre‖ are at most 2²⁰ and every column of ``integers`` has norm at most 2³¹, so by Cauchy–Schwarz
    every product, every partial sum and every difference is an integer of at most 2⁵², in any order: float64 is exact,
    and z is a function of its own record alone. Proof: ``privacy/proofs/whitening.md`` (theorem 6).

    Attributes
    ----------
    low, high : (p,) arrays of integers
        The window; the whole lattice unless a column was given narrower bounds. It lies in the ball of the rows, or is
        ±2²⁰ everywhere and changes nothing.
    centre : (p,) array of integers
    integers : (p, p) array of integers
    exponents : (p,) array of integers
    """

    low: Vector
    high: Vector
    centre: Vector
    integers: Vector
    exponents: Vector

    def __post_init__(self) -> None:
        p = self.centre.size
        shapes = [self.low.shape, self.high.shape, self.exponents.shape, self.integers.shape]
        if shapes != [(p,), (p,), (p,), (p, p)]:
            raise InvalidParameter("a map of rows needs vectors of length p and a (p, p) matrix.")
        for values in (self.low, self.high, self.centre, self.integers, self.exponents):
            if not (np.isfinite(values).all() and (values == np.rint(values)).all()):
                raise InvalidParameter("a map of rows must be made of integers.")
        if not np.sum(self.centre**2) <= MAX_SQUARE:
            raise InvalidParameter("the centre of a map must lie in the ball of the rows.")
        reach = np.maximum(np.abs(self.low), np.abs(self.high))
        cuts = not ((self.low**2 == MAX_SQUARE) & (self.high**2 == MAX_SQUARE) & (self.low < self.high)).all()
        if (self.low > self.high).any() or (cuts and np.sum(reach**2) > MAX_SQUARE):
            raise InvalidParameter("the window of a map must lie in the ball of the rows, or contain it.")
        # At most 2¹⁶ squares are added, each rounded, so the sum is off by less than 2⁻³⁶ of itself.
        if (np.sum(self.integers**2, axis=0) > _COLUMN_NORM**2 * (1.0 - 2.0**-36)).any():
            raise InvalidParameter("the columns of a map are too long for exact arithmetic.")
        if (np.abs(self.exponents) > 900).any():
            raise InvalidParameter("the scales of a map are too extreme for exact arithmetic.")

    @classmethod
    def of(cls, matrix: Vector, centre: Vector, low: Vector, high: Vector) -> Self:
        """Round a wish to integers; what is returned *is* the map from then on, also when it is undone.

        ``matrix`` and ``centre`` are in lattice steps.
        """
        if matrix.ndim != 2 or centre.shape != matrix.shape[:1] or not np.isfinite(matrix).all():
            raise InvalidParameter("a map of rows needs a finite matrix and a centre of its height.")
        largest = np.abs(matrix).max(axis=0, initial=0.0)
        norms = largest * np.sqrt(((matrix / np.where(largest > 0.0, largest, 1.0)) ** 2).sum(axis=0))
        if not ((norms >= _NORMS[0]) & (norms <= _NORMS[1])).all():
            raise InvalidParameter("the columns of a map must have norms between 1e-250 and 1e250.")
        # Rounding moves a column by at most √p/2; 2^-s is the largest power of two that keeps its norm at 2³¹.
        exponents = np.floor(np.log2((_COLUMN_NORM - np.sqrt(len(matrix))) / norms))
        integers = np.rint(np.ldexp(matrix, exponents.astype(np.int64)))
        return cls(np.rint(low), np.rint(high), np.rint(centre), integers, exponents)

    def cuts(self, edge: float) -> bool:
        """Whether the window can change a row none of whose coordinates exceeds ``edge``."""
        return bool((self.low > -edge).any() or (self.high < edge).any())

    @property
    def matrix(self) -> Vector:
        """The matrix that is really applied."""
        return np.asarray(np.ldexp(self.integers, -self.exponents.astype(np.int64)))

    def inverse(self, unit: float) -> Vector:
        """What undoes the map of rows whose lattice has steps of ``unit``, or InvalidParameter if nothing does."""
        with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
            found = np.linalg.inv(self.matrix / unit)
            if np.isfinite(found).all():
                return np.asarray(found)
        raise InvalidParameter("a map of rows in this release cannot be undone: graphveil did not make it like this.")


@dataclass(frozen=True, eq=False)
class Query:
    """A question; arrays and numbers survive the file of a release.

    ``description`` is what it is called by somebody who did not write it; ``power`` is that of a lattice step in its
    answer, 0 for counts. ``weighted``: the weights of rows, where they have some, multiply what is summed; otherwise
    rows are scaled by their roots. ``summed``: what is summed, integer "rows", the "weights" of rows, or "people".
    """

    description: ClassVar[str]
    power: ClassVar[int]
    weighted: ClassVar[bool] = True
    summed: ClassVar[str] = "rows"

    def geometry(self, space: RowSpace) -> tuple[RowGrid, MomentLayout]:
        """Lattice and layout of the rows that are summed: those of the domain, unless the question maps them."""
        return space.known_lattice, space.layout

    def unit_factor(self, space: RowSpace, n_samples: float) -> float:
        """From integer sums to averages over ``n_samples``, in scaled units; counts stay counts."""
        weight = space.weight_unit if self.weighted else 1
        if self.power == 0:
            return 1.0 / weight
        lattice, _ = self.geometry(space)
        return float(lattice.unit**self.power / n_samples) / weight

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """How many numbers the answer has, by group."""
        raise NotImplementedError

    def largest_term(self, space: RowSpace) -> float:
        """The most that one row adds to a number of the answer, in integers."""
        return float(space.weight_unit)  # of counts

    def sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """L2 sensitivity of the integer sums to one person, who is replaced, or added or removed as ``space`` says.

        Guarantee
        ---------
        A proof is of one class: one that inherits the method of another is refused. Proofs: those of
        :mod:`graphveil.spec.sensitivity`, ``privacy/proofs/columns.md``, ``privacy/proofs/add_remove.md``.
        """
        change = "added" if space.hides_count else "replaced"
        if f"{change}_sensitivity" not in vars(type(self)):
            raise GuaranteeError(f"{type(self).__name__} has no proof for people who are {change}.")
        bound: float = getattr(self, f"{change}_sensitivity")(space, rows_per_person)
        return bound

    @property
    def window_key(self) -> bytes | None:
        """What identifies the sums of columns that hold the answer; None where it has sums of its own."""
        return None

    def facts(self) -> dict[str, Any]:
        """The numbers, for the header."""
        return {"kind": type(self).__name__} | {k: v for k, v in vars(self).items() if isinstance(v, int | float)}

    def arrays(self) -> dict[str, Vector]:
        """The arrays, for the body."""
        found = {k: v for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        row_map = getattr(self, "row_map", None)
        if row_map is not None:
            found |= {f"row_map.{k}": v for k, v in vars(row_map).items()}
        return found

    @staticmethod
    def rebuild(facts: dict[str, Any], arrays: dict[str, Vector]) -> "Query":
        """Undo :meth:`facts` and :meth:`arrays`; every field is checked again."""
        content: dict[str, Any] = dict(facts)
        kinds: dict[str, type[Query]] = {kind.__name__: kind for kind in Query.__subclasses__()}
        kind = kinds.get(str(content.pop("kind", None)))
        if kind is None:
            raise InvalidParameter.of("query", "one of " + ", ".join(sorted(kinds)), facts.get("kind"))
        inner = {name.removeprefix("row_map."): a for name, a in arrays.items() if name.startswith("row_map.")}
        content |= {name: a for name, a in arrays.items() if not name.startswith("row_map.")}
        if inner:
            inner["integers"] = inner["integers"].reshape(inner["centre"].size, -1)
            content["row_map"] = RowMap(**inner)
        return kind(**content)


@dataclass(frozen=True, eq=False)
class RowCount(Query):
    """How many people there are, or rows where no column tells them apart; asked where that is a secret."""

    description, power, weighted, summed = "the number of people", 0, False, "people"

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """One number."""
        return {"count": 1}

    def largest_term(self, space: RowSpace) -> float:
        """A person counts once."""
        return 1.0

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        return sensitivity.added_count_sensitivity(rows_per_person)


@dataclass(frozen=True, eq=False)
class TotalWeight(Query):
    """Σ t and 3 Σ t(1 - t) over people, where t is their weight as a share of the largest; asked where rows have some.

    Rows of one person have equal parts in it. Every other sum is divided by the first; both together tell how much the
    weights differ. In integers, W = 2²⁰: W Σ u and 3 Σ u(W - v), where v is the row's own weight, from 0 to W, and u is
    v over the number of its person's rows, rounded down.
    """

    description, power, summed = "the total weight of the records, and how much weights differ", 0, "weights"

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """The two sums."""
        return {"totals": 2}

    def largest_term(self, space: RowSpace) -> float:
        """That of a row with the largest weight."""
        return float(PERSON_WEIGHT**2)

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 18."""
        return PERSON_WEIGHT**2 * sensitivity.weight_sensitivity(rows_per_person)

    def unit_factor(self, space: RowSpace, n_samples: float) -> float:
        """From integer sums to shares of the largest weight."""
        return 1.0 / PERSON_WEIGHT**2


@dataclass(frozen=True, eq=False)
class ColumnMeans(Query):
    """Σ weight_j clip(k_j, low_j, high_j) for some columns j: their means inside a window.

    Where what the sum is to be divided by is secret, it is of distances from a point of the window: from the middle
    where that is the number of rows, which makes it zero without rows; from the point next to zero where it is the
    total of survey weights.
    """

    description, power = "means of columns", 1

    low: Vector
    high: Vector
    weights: Vector
    columns: Vector

    def __post_init__(self) -> None:
        _check_columns(self.low, self.high, self.weights, self.columns)

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """A number for each column."""
        return {"means": self.columns.size}

    def largest_term(self, space: RowSpace) -> float:
        """At the farther end of a window."""
        farthest = np.maximum(np.abs(self.low), np.abs(self.high)).max()
        return float(space.weight_unit * self.weights.max() * farthest)

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 10."""
        which, weights = self.columns.astype(int), _integers(self.weights)
        widths, square = _integers((self.high - self.low)[which]), space.known_lattice.row_square
        return space.weight_unit * sensitivity.mean_sensitivity(widths, weights, square, rows_per_person)

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        which, weights, middle = self.columns.astype(int), _integers(self.weights), _integers(self.middle)
        reaches, square = _integers((self.high - self.middle)[which]), space.known_lattice.row_square
        return space.weight_unit * sensitivity.added_mean_sensitivity(reaches, weights, middle, square, rows_per_person)

    @property
    def window_key(self) -> bytes:
        """The window."""
        return self.low.tobytes() + self.high.tobytes()

    @property
    def middle(self) -> Vector:
        """Of the window, in integers."""
        return np.floor((self.low + self.high) / 2.0)

    @property
    def next_to_zero(self) -> Vector:
        """The point of the window where a row of zeros is."""
        return np.asarray(np.clip(0.0, self.low, self.high))


@dataclass(frozen=True, eq=False)
class ColumnSquares(Query):
    """Σ weight_j (clip(k_j, low_j, high_j) - centre_j)² for some columns: variances about a centre in the window."""

    description, power = "variances of columns", 2

    low: Vector
    high: Vector
    centre: Vector
    weights: Vector
    columns: Vector

    def __post_init__(self) -> None:
        _check_columns(self.low, self.high, self.weights, self.columns)
        inside = (self.low <= self.centre) & (self.centre <= self.high)
        if not (inside & (self.centre == np.rint(self.centre))).all():
            raise InvalidParameter("squares need integer centres inside the window.")

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """A number for each column."""
        return {"squares": self.columns.size}

    def largest_term(self, space: RowSpace) -> float:
        """At the end of a window that is farther from the centre."""
        return float(space.weight_unit * self.weights.max() * self._reaches.max() ** 2)

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 10."""
        reaches, weights, centre = self._lengths
        square = space.known_lattice.row_square
        return space.weight_unit * sensitivity.square_sensitivity(reaches, weights, centre, square, rows_per_person)

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        reaches, weights, centre = self._lengths
        square = space.known_lattice.row_square
        bound = sensitivity.added_square_sensitivity(reaches, weights, centre, square, rows_per_person)
        return space.weight_unit * bound

    @property
    def window_key(self) -> bytes:
        """The window."""
        return self.low.tobytes() + self.high.tobytes()

    @property
    def _reaches(self) -> Vector:
        """How far a row can be from the centre, in each column."""
        return np.asarray(np.maximum(self.high - self.centre, self.centre - self.low))

    @property
    def _lengths(self) -> tuple[list[int], list[int], list[int]]:
        """Reaches and weights of the columns in question, and the centre of all."""
        which = self.columns.astype(int)
        return _integers(self._reaches[which]), _integers(self.weights), _integers(self.centre)


def _check_columns(low: Vector, high: Vector, weights: Vector, columns: Vector) -> None:
    whole = all((values == np.rint(values)).all() for values in (low, high, weights, columns))
    ordered = (low <= high).all() and (np.diff(columns) > 0).all() and columns.size == weights.size > 0
    if not (whole and ordered and columns[0] >= 0 and columns[-1] < low.size):
        raise InvalidParameter("questions about columns need integer windows, weights and ascending column numbers.")
    if not (np.maximum(np.abs(low), np.abs(high)) ** 2 <= MAX_SQUARE).all():
        raise InvalidParameter("the windows of columns must lie in the ball of the rows.")
    if weights.min() < 1 or weights.max() > _LARGEST_WEIGHT:
        raise InvalidParameter("weights of columns must be from 1 to 2**20.")


@dataclass(frozen=True, eq=False)
class CellCounts(Query):
    """How many rows fall into each of 2^12, 2^11, …, 2^3 equal cells of the lattice, for some columns."""

    description, power = "counts of values in ranges of columns", 0

    columns: Vector

    def __post_init__(self) -> None:
        whole = self.columns.size > 0 and np.array_equal(self.columns, np.rint(np.abs(self.columns)))
        if not whole or not np.isfinite(self.columns).all() or not (np.diff(self.columns) > 0).all():
            raise InvalidParameter("the columns of cell counts must be numbers of columns, in rising order.")

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """The cells of all levels, for each column."""
        return {"cells": self.columns.size * CELLS}

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 10."""
        _require_bounds(space)
        return space.weight_unit * sensitivity.cell_sensitivity(self.columns.size, rows_per_person)

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        _require_bounds(space)
        return space.weight_unit * sensitivity.added_cell_sensitivity(self.columns.size, rows_per_person)


def _require_bounds(space: RowSpace) -> None:
    if space.known_lattice.levels == 0:
        raise GuaranteeError("Cells are counted between bounds: rows that have a norm instead could lie beyond them.")


@dataclass(frozen=True, eq=False)
class NormCounts(Query):
    """Histogram of the norms of mapped rows; every row falls into exactly one of ``edges.size`` + 1 bins.

    Bin i holds norms in [edges_{i-1}, edges_i), the first everything below, the last everything from the last edge on.
    Without a map: of rows as they are in the source, before any bound on them is known.
    """

    description, power = "a histogram of how far records lie from their centre", 0

    edges: Vector
    row_map: RowMap | None = None

    def __post_init__(self) -> None:
        rising = (np.diff(self.edges) > 0).all() and (self.edges > 0).all()
        if not rising or not np.isfinite(self.edges).all():
            raise InvalidParameter("the edges of a histogram must be positive, finite and increase.")

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """The bins between the edges, and beyond them."""
        return {"counts": self.edges.size + 1}

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 10."""
        return space.weight_unit * sensitivity.histogram_sensitivity(rows_per_person)

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        return space.weight_unit * sensitivity.added_count_sensitivity(rows_per_person)


@dataclass(frozen=True, eq=False)
class ObservedPairs(Query):
    """Σ s_i and Σ s_i s_j over pairs i < j of some columns, where s is 1 for a value that is there and -1 otherwise."""

    description, power = "how often values are missing, and pairs of them", 0

    columns: Vector

    def __post_init__(self) -> None:
        CellCounts(self.columns)  # the same rule for numbers of columns

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """The columns, and their pairs."""
        return {"signs": self.columns.size * (self.columns.size + 1) // 2}

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 10."""
        return space.weight_unit * sensitivity.sign_sensitivity(self.columns.size, rows_per_person)


@dataclass(frozen=True, eq=False)
class Moments(Query):
    """Second moment, trace and (with a constant) mean of mapped rows shortened to norm ``radius``.

    Without a map: of the rows of the domain themselves, with what the release appends to them.
    """

    description, power, weighted = "products of pairs of columns, averaged over records", 2, False

    radius: float
    constant: float = 0.0
    row_map: RowMap | None = None

    def __post_init__(self) -> None:
        if not (0.0 < self.radius < math.inf and 0.0 <= self.constant <= self.radius):
            raise InvalidParameter.of("radius, constant", "0 ≤ constant ≤ radius", (self.radius, self.constant))

    def geometry(self, space: RowSpace) -> tuple[RowGrid, MomentLayout]:
        """Of the mapped rows, with their constant."""
        if self.row_map is None:
            return super().geometry(space)
        p = space.n_features
        return self.lattice(p), MomentLayout(p, Constant() if self.constant else None)

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """The triangle of the matrix, and its trace where that is free."""
        return _sizes_of_moments(self.geometry(space)[1], space)

    def largest_term(self, space: RowSpace) -> float:
        """The squared norm of a row."""
        return float(self.geometry(space)[0].total_square)

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorems 1 and 2."""
        return sensitivity.moment_sensitivity(self.geometry(space)[0].total_square, rows_per_person)

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        return sensitivity.added_moment_sensitivity(self.geometry(space)[0].total_square, rows_per_person)

    def lattice(self, p: int) -> RowGrid:
        """Of the mapped rows."""
        return RowGrid.of_ball(p, self.radius, self.constant / self.radius)


@dataclass(frozen=True, eq=False)
class ClippedTail(Query):
    """Second moment and trace of what shortening to ``inner`` cut off, itself cut at ``outer``.

    A mapped row z of norm r counts as z·√(min(r, outer)² - inner²)/r, or as zero when r ≤ inner.
    """

    description, power, weighted = "the same products of what clipping had cut off", 2, False

    row_map: RowMap
    inner: float
    outer: float

    def __post_init__(self) -> None:
        if not 0.0 < self.inner < self.outer < math.inf:
            raise InvalidParameter.of("inner, outer", "0 < inner < outer < ∞", (self.inner, self.outer))

    def geometry(self, space: RowSpace) -> tuple[RowGrid, MomentLayout]:
        """Of what is left of the mapped rows."""
        return self.lattice(space.n_features), MomentLayout(space.n_features, None)

    def sizes(self, space: RowSpace) -> dict[str, int]:
        """The triangle of the matrix, and its trace where that is free."""
        return _sizes_of_moments(self.geometry(space)[1], space)

    def largest_term(self, space: RowSpace) -> float:
        """The squared norm of a row."""
        return float(self.geometry(space)[0].total_square)

    def replaced_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorems 1 and 2."""
        return sensitivity.moment_sensitivity(self.geometry(space)[0].total_square, rows_per_person)

    def added_sensitivity(self, space: RowSpace, rows_per_person: int) -> float:
        """Theorem 14."""
        return sensitivity.added_moment_sensitivity(self.geometry(space)[0].total_square, rows_per_person)

    def lattice(self, p: int) -> RowGrid:
        """Of what is left of the mapped rows."""
        return RowGrid.of_ball(p, math.sqrt((self.outer - self.inner) * (self.outer + self.inner)), 0.0)


def _sizes_of_moments(layout: MomentLayout, space: RowSpace) -> dict[str, int]:
    trace = {} if space.hides_count else {"trace": 1}
    return {"diagonal": layout.n_diagonal, "off_diagonal": layout.n_off_diagonal, **trace}


def _integers(values: Vector) -> list[int]:
    return [int(value) for value in values]
