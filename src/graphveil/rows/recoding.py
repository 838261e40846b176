"""Recodes cells as numbers according to a codebook: codes of missing values, logarithms, scores, indicators.

Guarantee
---------
The new row is a function of its own record alone, for every input bit pattern: only IEEE-exact operations are used, in
a fixed order, and the logarithm is one of our own that is made of these (those of libraries differ between processors,
and between the first and the last rows of a block). Of the indicators of a category at most one is 1, the others are 0;
or all are 1/(number of levels). Proof: ``privacy/proofs/quantization.md``.

======================================  ========================================================================
cell                                    becomes
======================================  ========================================================================
a code of a missing value               missing
no number (NaN)                         missing
none of the levels                      missing
missing, of a number or an ordinal      NaN
missing, of a category                  NaN if that is declared, or the indicator of its own level; otherwise
                                        an equal part of every level
======================================  ========================================================================
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import f8, i8, njit, void
from numba.core.types import Array

from graphveil._compiled import compiled
from graphveil.spec.codebook import Codebook
from graphveil.spec.kinds import Category, Kind, Number, Ordinal

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LN2_HIGH", "LN2_LOW", "ODD_NUMBERS", "SQRT_HALF", "Recoder", "logarithm", "missing_codes"]

_ROWS = Array(f8, 2, "C", readonly=True)
_WHOLE, _REAL = i8[::1], f8[::1]
_LINEAR, _LOG, _SQRT, _RANK, _LOG_RANK, _SCORE, _LEVEL = range(7)  # what is done with a cell
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is ln 2; the first has 32 bits
SQRT_HALF = 0.7071067811865476
ODD_NUMBERS = range(21, 1, -2)  # of the powers of the series


@compiled(f8(f8), error_model="numpy")
def logarithm(x: Any) -> Any:
    """The natural logarithm of a positive, finite number: 2 atanh((m - 1)/(m + 1)) + e ln 2, to 2 units of 2⁻⁵²."""
    m, e = math.frexp(x)
    if m < SQRT_HALF:
        m *= 2.0
        e -= 1
    s = (m - 1.0) / (m + 1.0)  # |s| ≤ 0.1716: the first power that is left out is below 2⁻⁵⁷ of s
    q, series = s * s, 0.0
    for k in range(21, 1, -2):
        series = (series + 1.0 / k) * q
    return e * LN2_HIGH + (2.0 * s + (2.0 * s * series + e * LN2_LOW))


@njit(error_model="numpy")
def _on_curve(x, corners, heights, start, end):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """The height of a curve of straight lines between corners; beyond its ends, that of the end."""
    if end == start:  # no curve yet: ranks are still to be counted
        return x
    if not x > corners[start]:
        return heights[start]
    low, high = start, end - 1
    if x >= corners[high]:
        return heights[high]
    while high - low > 1:
        middle = (low + high) // 2
        if x < corners[middle]:
            high = middle
        else:
            low = middle
    share = (x - corners[low]) / (corners[high] - corners[low])
    return heights[low] + share * (heights[high] - heights[low])


@compiled(
    void(_ROWS, i8[::1], f8[::1], f8[::1], f8[::1], i8[::1], f8[::1], i8[::1], f8[::1], f8[::1], i8[::1], f8[:, ::1])
)
def _recode(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    rows, actions, low, high, fill, code_ends, codes, value_ends, values, scores, places, out
):
    """Write the numbers of every cell.

    Codes and values of variable j end at ``code_ends[j]`` and ``value_ends[j]``, its columns begin at ``places[j]``. Of
    a category without a level, ``fill[j]`` is what its indicators are, or negative if that is a level too.
    """
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            cell, action, first = rows[i, j], actions[j], places[j]
            for c in range(code_ends[j - 1] if j else 0, code_ends[j]):
                cell = np.nan if cell == codes[c] else cell
            if action < _SCORE:
                inside = max(min(cell, high[j]), low[j])
                number = cell
                if action in (_LOG, _LOG_RANK):
                    number = logarithm(inside)
                elif action == _SQRT:
                    number = np.sqrt(inside)
                elif action == _RANK:
                    number = inside
                if action >= _RANK:
                    number = _on_curve(number, values, scores, value_ends[j - 1] if j else 0, value_ends[j])
                out[i, first] = number if cell == cell else np.nan  # noqa: PLR0124
                continue
            start, end = value_ends[j - 1] if j else 0, value_ends[j]
            found = -1
            for k in range(start, end):
                found = k - start if cell == values[k] else found
            if action == _SCORE:
                out[i, first] = scores[start + found] if found >= 0 else np.nan
                continue
            if found < 0 and fill[j] < 0.0:  # the last one
                found = places[j + 1] - first
            for k in range(first, places[j + 1]):
                out[i, k] = (1.0 if found == k - first + 1 else 0.0) if found >= 0 else fill[j]


class Recoder:
    """Makes the columns of a release of the variables of a source: public parameters, private inputs.

    Parameters
    ----------
    codebook : Codebook
    """

    def __init__(self, codebook: Codebook) -> None:
        kinds = codebook.kinds
        self.width = len(codebook.columns)
        codes, values, scores = list[float](), list[float](), list[float]()
        code_ends, value_ends = [], []
        for kind in kinds:
            codes += missing_codes(kind)
            corners, heights = _pairs(kind)
            values += corners
            scores += heights
            code_ends.append(len(codes))
            value_ends.append(len(values))
        bounds = [(kind.low, kind.high) if isinstance(kind, Number) else (0.0, 0.0) for kind in kinds]
        low, high = np.ascontiguousarray(np.array(bounds).T)
        fill = np.array([_fill(kind) for kind in kinds])
        whole = [np.array(part, dtype=np.int64) for part in (code_ends, value_ends)]
        numbers = [np.array(part, dtype=np.float64) for part in (codes, values, scores)]
        places = np.array([*(place.start for place in codebook.places), self.width], dtype=np.int64)
        actions = np.array([_action(kind) for kind in kinds], dtype=np.int64)
        self._arguments = (actions, low, high, fill, whole[0], numbers[0], whole[1], numbers[1], numbers[2], places)

    def recode(self, rows: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Columns of numbers, NaN for missing values."""
        out = np.empty((len(rows), self.width))
        _recode(rows, *self._arguments, out)
        return out


def _action(kind: Kind) -> int:
    if isinstance(kind, Number):
        if kind.counts_logarithms:
            return _LOG_RANK
        return {"linear": _LINEAR, "log": _LOG, "sqrt": _SQRT, "rank": _RANK}[kind.scale]
    return _SCORE if isinstance(kind, Ordinal) else _LEVEL


def _pairs(kind: Kind) -> tuple[Sequence[float], Sequence[float]]:
    """Values of a cell that mean something, and what they become: levels, or the corners of a curve."""
    if isinstance(kind, Number):
        curve = kind.normal_scores or ()
        return [value for value, _ in curve], [score for _, score in curve]
    return kind.values, kind.scores if isinstance(kind, Ordinal) else kind.values


def _fill(kind: Kind) -> float:
    """What the indicators of a category are where its level is missing, -1 if that is a level of its own."""
    if not isinstance(kind, Category) or kind.nullable:
        return math.nan
    return -1.0 if kind.missing_is_level else 1.0 / kind.n_levels


def missing_codes(kind: Kind) -> list[float]:
    """Codes of missing values, and what becomes of them in a column of 32 bits."""
    codes = kind.codes if isinstance(kind, Number) else ()
    with np.errstate(over="ignore"):
        short = [float(np.float32(code)) for code in codes]
    return sorted({*codes, *short})
