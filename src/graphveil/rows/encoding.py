"""Clipping: every record becomes an integer row inside a fixed ball. No record raises an error, none is dropped.

Guarantee
---------
Let (k, c) be an encoded row. Then Σ k_j² ≤ ``lattice.row_square`` in exact arithmetic, for every input bit pattern, and
k depends on its own record alone: not on the batch, the order, the memory layout or the number of threads. Only
IEEE-exact operations (+, -, ×, ÷, √, rint, comparisons) are used, in a fixed order.

==================================  ===============================================================================
value                               becomes
==================================  ===============================================================================
NaN, null, masked                   the centre of its column (0 after scaling)
text, codes, levels                 what ``rows/recoding.py`` makes of them, as the codebook says
outside the bounds, ±inf            the nearest bound (without bounds: ±2⁵⁰⁰, then the norm)
row longer than ``data_norm``       the same direction, norm ``data_norm``
subnormal, ±0                       0 (as a difference from the centre)
unknown or missing label            zeros in place of the one-hot label
==================================  ===============================================================================

Proof: ``privacy/proofs/quantization.md``.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import b1, f8, i8, void
from numba.core.types import Array

from graphveil._compiled import compiled
from graphveil.exceptions import GuaranteeError
from graphveil.rows.recoding import Recoder
from graphveil.spec.augmentation import Augment, Labels
from graphveil.spec.codebook import Codebook
from graphveil.spec.domain import Domain
from graphveil.spec.kinds import Category
from graphveil.spec.quantization import MISSING, PERSON_WEIGHT, RowGrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Encoder",
    "IdentityEncoder",
    "encode_mapped",
    "encode_with_norm",
    "keep_in_ball",
    "map_rows",
    "project_to_ball",
    "row_norms",
    "weigh_rows",
]

# Differences that vanish on any lattice become zero before they are multiplied: a processor takes ten times as long for
# subnormal numbers, and that would tell.
_NEGLIGIBLE = 2.0**-1000
_INPUT = Array(f8, 2, "C", readonly=True)  # a mutable array converts to this, a read-only one to nothing else
_SHORTEN = void(f8[:, ::1], f8, f8, f8, f8, f8[:, ::1])
_BALL = void(_INPUT, f8[::1], f8[::1], f8[:, ::1], *_SHORTEN.args[1:])
_MAP = (b1, f8[::1], f8[::1], f8[:, ::1], f8[::1], f8[:, ::1])  # cuts, low, high, matrix, offset, memory for rows


@compiled(void(_INPUT, f8[::1], f8[::1], f8[:, ::1], f8, f8[:, ::1]), error_model="numpy")
def _encode_with_bounds(rows, centre, scale, ends, levels, out):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Clamp to the box and round to ``levels`` steps on either side of the centre: |k| ≤ levels exactly."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[i, j] - centre[j]
            value = (0.0 if abs(value) < _NEGLIGIBLE else value) * scale[j]
            inside = max(min(value, ends[1, j]), ends[0, j])
            out[i, j] = np.rint(inside * levels) if value == value else 0.0  # NaN  # noqa: PLR0124


@compiled("f8(f8[:,::1], i8, i8)")
def _square_norm(rows, i, p):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Σ_j rows[i, j]² over j < p in eight lanes of a fixed order: fast, and the same bits on every processor."""
    a = b = c = d = e = f = g = h = 0.0
    for eight in range(p // 8):
        j = 8 * eight  # of a range in steps of eight the compiler would check whether any index is negative
        a += rows[i, j] ** 2
        b += rows[i, j + 1] ** 2
        c += rows[i, j + 2] ** 2
        d += rows[i, j + 3] ** 2
        e += rows[i, j + 4] ** 2
        f += rows[i, j + 5] ** 2
        g += rows[i, j + 6] ** 2
        h += rows[i, j + 7] ** 2
    for j in range(p - p % 8, p):
        a += rows[i, j] ** 2
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


# Reordering is allowed here because every partial sum is an integer below 2⁵³: no order can change the result.
@compiled("f8(f8[:,::1], i8, i8)", fastmath={"reassoc"})
def _exact_square_norm(rows, i, p):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Σ_j rows[i, j]² over j < p of integers, exactly."""
    total = 0.0
    for j in range(p):
        total += rows[i, j] * rows[i, j]
    return total


@compiled("f8(f8, f8, f8, f8)", error_model="numpy")
def _factor(square, inner, norm, ball):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """What shortens a row of this squared norm to ``norm``, and makes that norm ``ball`` steps.

    With ``inner`` > 0 only what reaches beyond that norm counts: a row of norm r keeps √(min(r, norm)² - inner²).
    """
    length = np.sqrt(square)
    # No branch on a value: a long row takes as long as a short one.
    if inner == 0.0:
        return ball / max(length, norm)
    kept, reach = min(length, norm), np.sqrt((norm - inner) * (norm + inner))
    return ball * (np.sqrt(max((kept - inner) * (kept + inner), 0.0)) / max(length, inner) / reach)


@compiled(_BALL, error_model="numpy")
def encode_with_norm(rows, centre, scale, ends, inner, norm, ball, row_square, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Clamp to the box, shorten to ``norm``, round, and make sure in exact arithmetic that Σ k² ≤ ``row_square``."""
    p = rows.shape[1]
    for i in range(rows.shape[0]):
        for j in range(p):
            value = rows[i, j] - centre[j]
            value = (0.0 if abs(value) < _NEGLIGIBLE else value) * scale[j]
            inside = max(min(value, ends[1, j]), ends[0, j])
            out[i, j] = inside if value == value else 0.0  # NaN  # noqa: PLR0124
        factor = _factor(_square_norm(out, i, p), inner, norm, ball)
        for j in range(p):
            out[i, j] = np.rint(out[i, j] * factor)
        # It never fails, because the margin of `ball` covers rounding; checking it makes the bound unconditional.
        while _exact_square_norm(out, i, p) > row_square:
            for j in range(p):
                out[i, j] = np.trunc(out[i, j] * (1.0 - 2.0**-10))


@compiled(_SHORTEN, error_model="numpy")
def project_to_ball(rows, inner, norm, ball, row_square, out):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The same of finite rows that are in the cache and need no clamp: roots and quotients of several rows at once."""
    n, p = rows.shape
    factors = np.empty(n)
    for i in range(n):
        factors[i] = _square_norm(rows, i, p)
    for i in range(n):
        factors[i] = _factor(factors[i], inner, norm, ball)
    for i in range(n):
        for j in range(p):
            out[i, j] = np.rint(rows[i, j] * factors[i])
        while _exact_square_norm(out, i, p) > row_square:
            for j in range(p):
                out[i, j] = np.trunc(out[i, j] * (1.0 - 2.0**-10))


@compiled(void(_INPUT, *_MAP, f8[:, ::1]))
def map_rows(rows, cuts, low, high, matrix, offset, inside, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """clip(k, low, high) · matrix - offset: exact, hence the same bits from any BLAS. Unless it ``cuts``, no clip."""
    if cuts:
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                inside[i, j] = max(min(rows[i, j], high[j]), low[j])
        np.dot(inside, matrix, out)
    else:
        np.dot(rows, matrix, out)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] -= offset[j]


@compiled(void(_INPUT, *_MAP, f8[:, ::1], *_SHORTEN.args[1:]))
def encode_mapped(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    rows, cuts, low, high, matrix, offset, inside, product, inner, norm, ball, row_square, out
):
    """Map rows and :func:`project_to_ball` them, as many at a time as stay cached in ``inside`` and ``product``.

    One call for a whole piece: workers that came back to Python every few rows would wait for its lock.
    """
    for start in range(0, rows.shape[0], product.shape[0]):
        end = min(start + product.shape[0], rows.shape[0])
        exact = product[: end - start]
        map_rows(rows[start:end], cuts, low, high, matrix, offset, inside[: end - start], exact)
        project_to_ball(exact, inner, norm, ball, row_square, out[start:end])


@compiled(void(f8[:, ::1], i8, i8, f8), error_model="numpy")
def _shorten(rows, i, p, most):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Make sure that Σ k² ≤ ``most`` where rounding was too much: by less than a step of each coordinate, mostly."""
    square = _exact_square_norm(rows, i, p)
    while square > most:
        shorter = np.sqrt(most / square) * (1.0 - 2.0**-40)
        for j in range(p):
            rows[i, j] = np.trunc(rows[i, j] * shorter)
        square = _exact_square_norm(rows, i, p)


@compiled(void(f8[:, ::1], i8))
def keep_in_ball(rows, row_square):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Integer rows that are longer than that by their rounding become shorter."""
    for i in range(rows.shape[0]):
        _shorten(rows, i, rows.shape[1], float(row_square))


@compiled(void(f8[:, ::1], i8[::1], i8, i8), error_model="numpy")
def weigh_rows(rows, weights, n_features, row_square):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Scale integer rows by √(w/2²⁰) and round, so that Σ k² ≤ ``row_square``·w/2²⁰, and c² too for what is appended.

    ``row_square`` and c² are at most 2⁴⁰, and w at most 2²⁰: the products are exact in 64 bits.
    """
    for i in range(rows.shape[0]):
        root, most = np.sqrt(weights[i] / PERSON_WEIGHT), float(row_square * weights[i] // PERSON_WEIGHT)
        for j in range(n_features):
            rows[i, j] = np.rint(rows[i, j] * root)
        _shorten(rows, i, n_features, most)
        for j in range(n_features, rows.shape[1]):
            appended = i8(rows[i, j]) * i8(rows[i, j]) * weights[i] // PERSON_WEIGHT
            rows[i, j] = np.floor(np.sqrt(float(appended)))  # of an integer below 2⁵³ the floor of the root is exact


@compiled(void(f8[:, ::1], f8[::1]))
def row_norms(rows, out):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Norms of rows, in a fixed order of operations; an overflow is an infinite norm."""
    for i in range(rows.shape[0]):
        out[i] = np.sqrt(_square_norm(rows, i, rows.shape[1]))


class IdentityEncoder:
    """Rows as they are, NaN as 0: for norms that are counted before any bound is known."""

    def __init__(self, n_features: int) -> None:
        self.width = n_features

    def encode(self, rows: "NDArray[np.float64]", codes: "NDArray[Any] | None", out: "NDArray[np.float64]") -> None:
        """Copy; ``codes`` do not count."""
        np.copyto(out, rows)
        np.copyto(out, 0.0, where=np.isnan(rows))  # in the same time however many there are


class Encoder:
    """The clip for one domain: public parameters, private inputs.

    Parameters
    ----------
    domain : Domain
        With its number of columns known.
    augment : Augment
        What is appended to a row.
    shift : bool
        Whether the middle of the bounds becomes the origin; rows that are taken to be centred are only scaled.
    marks_gaps : bool, default False
        Whether a missing value of a column that declares some becomes ``MISSING``, for statistics that know of it,
        instead of the centre.
    """

    def __init__(self, domain: Domain, augment: Augment, *, shift: bool, marks_gaps: bool = False) -> None:
        self._gaps = [column for columns in domain.gaps for column in columns] if marks_gaps else []
        self.augment = augment
        self.lattice = RowGrid.of(domain, augment)
        self._centre, half, self._ends = domain.scaling(shift=shift)
        self._scale = 1.0 / half  # a multiplication is seven times faster than a division
        self._norm = domain.radius
        self.width = self._centre.size + (augment.width if augment is not None else 0)
        self._weighed = domain.weight is not None
        codebook = domain.codebook
        self._recoder = None if codebook is None or codebook.is_plain else Recoder(codebook)
        if codebook is not None and self.lattice.levels:
            self._check_indicators(codebook)

    def _check_indicators(self, codebook: Codebook) -> None:
        """All that the indicators of a category can be is as long as one column of numbers, in exact arithmetic."""
        for kind, place in zip(codebook.kinds, codebook.places, strict=True):
            if isinstance(kind, Category):
                count = len(place)
                points = np.vstack([np.zeros(count), np.eye(count), np.full(count, 1.0 / kind.n_levels)])
                steps, own = np.empty(points.shape), slice(place.start, place.stop)
                centre, scale, ends = self._centre[own], self._scale[own], np.ascontiguousarray(self._ends[:, own])
                _encode_with_bounds(points, centre, scale, ends, float(self.lattice.levels), steps)
                if (steps**2).sum(axis=1).max() > self.lattice.levels**2:
                    raise GuaranteeError("There are too many levels and columns for one lattice. Leave some out.")

    @property
    def box(self) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float | None]":
        """Centre, factor and ends of every column, and the norm if one is to be enforced: what a database is told."""
        return self._centre, self._scale, self._ends, None if self.lattice.levels else self._norm

    def encode(self, rows: "NDArray[np.float64]", codes: "NDArray[Any] | None", out: "NDArray[np.float64]") -> None:
        """Encode C-contiguous float64 rows into ``out``: integers, in float64 for the BLAS.

        ``codes`` are class numbers, -1 for an unknown label; what stands beside rows without labels does not count, nor
        does a last column of weights.
        """
        p, lattice = self._centre.size, self.lattice
        if self._weighed:
            rows = np.ascontiguousarray(rows[:, :-1])
        if self._recoder is not None:
            rows = self._recoder.recode(rows)
        if lattice.levels:
            _encode_with_bounds(rows, self._centre, self._scale, self._ends, float(lattice.levels), out)
        else:
            norm, bound = self._norm, float(lattice.row_square)
            encode_with_norm(rows, self._centre, self._scale, self._ends, 0.0, norm, lattice.ball, bound, out)
        if self._gaps:
            out[:, self._gaps] = np.where(np.isnan(rows[:, self._gaps]), MISSING, out[:, self._gaps])
        if isinstance(self.augment, Labels):
            assert codes is not None
            known = np.flatnonzero(codes >= 0)
            out[:, p:] = 0.0
            out[known, p + codes[known]] = lattice.constant
        elif self.augment is not None:
            out[:, p] = lattice.constant
