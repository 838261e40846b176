"""Records of separated values, byte by byte: where they end, and what their cells say.

A cell that begins with a quotation mark is quoted: separators and line ends inside it are text, and two marks are one
(RFC 4180). In any other cell a quotation mark is a byte like any other. A record ends at the first line end outside of
quoted cells. Each function below starts at the beginning of a record and sees nothing before it.

Proof: ``privacy/proofs/records.md`` (theorem 15).
"""

from typing import Any

import numpy as np
from numba import b1, f8, i4, i8, u1
from numba.core.types import Array, Tuple, UniTuple

from graphveil._compiled import compiled

__all__ = ["AT_CELL", "IN_CELL", "IN_QUOTES", "cut_records", "read_records"]

_BYTES = Array(u1, 1, "C", readonly=True)
# What functions return that return several numbers.
_CUT = UniTuple(i8, 4)  # type: ignore[no-untyped-call]
_CELL = UniTuple(i8, 3)  # type: ignore[no-untyped-call]
_DECIMAL = Tuple((i8, i8, f8))  # type: ignore[no-untyped-call]
_NUMBER = Tuple((i8, i8, i8, i8, f8))  # type: ignore[no-untyped-call]
_TAB, _LINE, _RETURN, _BLANK, _QUOTE, _PLUS, _COMMA, _MINUS, _POINT, _E = b'\t\n\r "+,-.e'
_TRUE, _FALSE, _INF, _INFINITY = (
    np.frombuffer(word, dtype=np.uint8) for word in (b"true", b"false", b"inf", b"infinity")
)
_NOTHING, _SHORT, _LONG = 0, 1, 2  # kinds of numbers
_MOST = 10**17  # ten times this and nine fit into int64
_POWERS = 10.0 ** np.arange(23)  # float64 holds them exactly
AT_CELL, IN_CELL, IN_QUOTES, _AFTER_QUOTE = 0, 1, 2, 3  # where in a record a byte stands


@compiled(_CUT(_BYTES, u1, i8, b1))
def cut_records(data: Any, separator: Any, state: Any, alone: Any) -> Any:
    """Where the first and the last record end (0 for nowhere), the state in which the rest leaves off, how many end.

    ``state`` is that in which the bytes before left off, AT_CELL where a record begins. A blank line counts as a record
    where columns stand ``alone``.
    """
    first, last, count, begin = 0, 0, 0, 0
    for i in range(data.size):
        byte = data[i]
        if state == IN_QUOTES:
            if byte == _QUOTE:
                state = _AFTER_QUOTE
        elif byte == _LINE:
            count += alone or not (i == begin or (i == begin + 1 and data[begin] == _RETURN))
            begin, last, state = i + 1, i + 1, AT_CELL
            if first == 0:
                first = last
        elif byte == separator:
            state = AT_CELL
        elif byte == _QUOTE and state in (AT_CELL, _AFTER_QUOTE):
            state = IN_QUOTES
        else:
            state = IN_CELL
    return first, last, state, count


@compiled(_CELL(_BYTES, i8, u1))
def _find_cell(data: Any, start: Any, separator: Any) -> Any:
    """Where the cell that begins at ``start`` is over, where what it holds ends, and where its quoted part does.

    Without a quoted part that is ``start``. A carriage return before a line end belongs to that, not to the cell.
    """
    i = start
    if data[i] == _QUOTE:
        i += 1
        while i < data.size:
            if data[i] == _QUOTE:
                i += 1
                if i == data.size or data[i] != _QUOTE:
                    break
            i += 1
    unquoted = i
    while i < data.size and data[i] != separator and data[i] != _LINE:
        i += 1
    returned = i > unquoted and data[i - 1] == _RETURN and (i == data.size or data[i] == _LINE)
    return i, i - 1 if returned else i, unquoted


@compiled(_DECIMAL(_BYTES, i8, i8, b1))
def _read_decimal(data: Any, start: Any, end: Any, comma: Any) -> Any:
    """The longest decimal number that begins at ``start``: where it ends, of which kind it is, and its value.

    A quotient or product of two integers that float64 holds exactly is rounded once, to the nearest (Clinger 1990): up
    to 2⁵³ and 10²². Anything larger is _LONG, and has no value here.
    """
    i, negative = start, False
    if i < end and (data[i] == _PLUS or data[i] == _MINUS):
        negative = data[i] == _MINUS
        i += 1
    mantissa, digits, exponent = i8(0), 0, 0
    kind = _SHORT
    for part in range(2):
        while i < end and 48 <= data[i] <= 57:
            if mantissa < _MOST:
                mantissa = 10 * mantissa + (data[i] - 48)
            else:
                kind = _LONG
            exponent -= part
            digits += 1
            i += 1
        if part == 0:
            if not (i < end and (data[i] == _POINT or (comma and data[i] == _COMMA))):
                break
            i += 1
    if digits == 0:
        return start, _NOTHING, 0.0
    if i < end and data[i] | 32 == _E:
        k = i + 1
        down = False
        if k < end and (data[k] == _PLUS or data[k] == _MINUS):
            down = data[k] == _MINUS
            k += 1
        if k < end and 48 <= data[k] <= 57:
            power = 0
            while k < end and 48 <= data[k] <= 57:
                power = min(10 * power + (data[k] - 48), 100_000)
                k += 1
            exponent += -power if down else power
            i = k
    value = 0.0
    if mantissa > 2**53 or (mantissa > 0 and abs(exponent) > 22):
        kind = _LONG
    elif kind == _SHORT and mantissa > 0:
        value = mantissa / _POWERS[-exponent] if exponent < 0 else mantissa * _POWERS[exponent]
    return i, kind, -value if negative else value


@compiled(b1(_BYTES, i8, i8, _BYTES))
def _is_word(data: Any, start: Any, end: Any, word: Any) -> Any:
    """Whether the bytes are this word, in small letters or capitals."""
    if end - start != word.size:
        return False
    same = True
    for i in range(word.size):
        same &= data[start + i] | 32 == word[i]
    return same


@compiled(f8(_BYTES, i8, i8))
def _read_word(data: Any, start: Any, end: Any) -> Any:
    """The value of a cell that is no decimal number: true, false, infinity, or nothing."""
    if _is_word(data, start, end, _TRUE):
        return 1.0
    if _is_word(data, start, end, _FALSE):
        return 0.0
    first = start
    if start < end and (data[start] == _PLUS or data[start] == _MINUS):
        first += 1
    if _is_word(data, first, end, _INF) or _is_word(data, first, end, _INFINITY):
        return -np.inf if data[start] == _MINUS else np.inf
    return np.nan


@compiled(f8(_BYTES, i8, i8, b1))
def _read_grouped(data: Any, start: Any, end: Any, comma: Any) -> Any:
    """The value of a cell whose whole part is grouped by thousands, as in 1,480.73; NaN for any other, and beyond 2⁵³.

    Where a comma is a decimal point, a point groups: 1.480,73.
    """
    mark, point = (_POINT, _COMMA) if comma else (_COMMA, _POINT)
    i, negative = start, False
    if i < end and (data[i] == _PLUS or data[i] == _MINUS):
        negative = data[i] == _MINUS
        i += 1
    if i < end and data[i] == 48:  # 0,125 is not a hundred and twenty-five
        return np.nan
    mantissa, group, groups, decimals = i8(0), 0, 0, -1
    while i < end:
        byte = data[i]
        if 48 <= byte <= 57:
            if mantissa >= _MOST:
                return np.nan
            mantissa = 10 * mantissa + (byte - 48)
            group += decimals < 0
            decimals += decimals >= 0
        elif decimals >= 0 or not (group == 3 or (groups == 0 and byte == mark and 0 < group < 3)):
            return np.nan
        elif byte == mark:
            group, groups = 0, groups + 1
        elif byte == point:
            decimals = 0
        else:
            return np.nan
        i += 1
    decimals = max(decimals, 0)
    if groups == 0 or group != 3 or mantissa > 2**53 or decimals > 22:
        return np.nan
    value = mantissa / _POWERS[decimals]
    return -value if negative else value


@compiled(_NUMBER(_BYTES, i8, u1, b1))
def _read_number(data: Any, start: Any, separator: Any, comma: Any) -> Any:
    """Where the cell is over, where the number in it begins and ends, of which kind it is, and its value."""
    end, kind, value = _read_decimal(data, start, data.size, comma)
    if kind != _NOTHING and end < data.size and (data[end] == separator or data[end] == _LINE):
        return end, start, end, kind, value  # nearly every cell
    over, end, unquoted = _find_cell(data, start, separator)
    first = start
    if unquoted > start:  # a number in quotation marks, with nothing behind them
        first, end = (start + 1, end - 1) if end == unquoted else (end, end)
    while first < end and (data[first] == _BLANK or data[first] == _TAB):
        first += 1
    while first < end and (data[end - 1] == _BLANK or data[end - 1] == _TAB):
        end -= 1
    stop, kind, value = _read_decimal(data, first, end, comma)
    if kind == _NOTHING or stop < end:
        kind, value = _SHORT, _read_grouped(data, first, end, comma)
        if np.isnan(value):
            value = _read_word(data, first, end)
    return over, first, end, kind, value


@compiled(i8(_BYTES, i8, i8, u1[::1], i8))
def _write_number(data: Any, start: Any, end: Any, text: Any, at: Any) -> Any:
    """Write a decimal number with a decimal point and no plus; return where it ends."""
    for i in range(start + (data[start] == _PLUS), end):
        text[at] = _POINT if data[i] == _COMMA else data[i]
        at += 1
    return at


@compiled(i8(_BYTES, i8, i8, i8, u1[::1], i8))
def _write_text(data: Any, start: Any, end: Any, unquoted: Any, text: Any, at: Any) -> Any:
    """Write a cell as the text that it stands for; return where it ends."""
    i = start if unquoted == start else start + 1
    while i < end:
        if i < unquoted and data[i] == _QUOTE:
            i += 1  # the first of two, or the closing one
            if i >= unquoted:
                continue
        text[at] = data[i]
        at += 1
        i += 1
    return at


@compiled(f8(u1[::1], i8, i8, _BYTES, i8[::1], i8, i8))
def _find_level(text: Any, start: Any, end: Any, levels: Any, level_ends: Any, first: Any, last: Any) -> Any:
    """Which of the levels from ``first`` to before ``last`` is this text; NaN for none."""
    found = np.nan
    for k in range(first, last):
        begin = level_ends[k - 1] if k else 0
        if level_ends[k] - begin != end - start:
            continue
        same = True
        for i in range(end - start):
            same &= text[start + i] == levels[begin + i]
        if same:
            found = float(k - first)
    return found


@compiled(
    i8(
        _BYTES, i8, u1, b1, b1, i4[::1], i8[::1], _BYTES, i8[::1],
        f8[:, ::1], i8[::1], u1[::1], i4[::1], i8[::1], u1[::1], i4[::1],
    )
)  # fmt: skip
def read_records(
    data: Any,
    start: Any,
    separator: Any,
    comma: Any,
    is_id: Any,
    slots: Any,
    first_levels: Any,
    levels: Any,
    level_ends: Any,
    rows: Any,
    counts: Any,
    text: Any,
    ends: Any,
    places: Any,
    label: Any,
    label_ends: Any,
) -> Any:
    """Read records from ``start`` on while there is room in ``rows``; return where the next one begins.

    Parameters
    ----------
    data : bytes
        Complete records, the last of them ended by a line end.
    start : int
        Where a record begins.
    separator, comma
        What separates cells, and whether a comma is a decimal point too.
    is_id
        Whether the label says whose record it is: that is read from a record with too many cells, too.
    slots : array
        For each column of the file: which column of ``rows`` it is, ``rows.shape[1]`` for the label, -1 for none.
    first_levels, levels, level_ends : arrays
        Levels of columns of text: which is the first one of each column of ``rows`` (as many as the next one's if it is
        a column of numbers), all of them as text, and where each one ends there.
    rows : array of floats, written
        A row for each record; NaN for whatever is not a number, or not a level.
    counts : array of two integers, written
        How many records there were, and how many numbers that are too long to be computed here.
    text, ends, places : arrays, written
        Those numbers as text, where each one ends there, and its place in ``rows``, counted row by row.
    label, label_ends : arrays, written
        Text of the label cells, and where each one ends there; ``label_ends`` has no entry if no label is wanted.
    """
    n_columns, n_numbers, n_rows, n_long, at, label_at = slots.size, rows.shape[1], 0, 0, 0, 0
    while start < data.size and n_rows < rows.shape[0]:
        begin, column, is_read = start, 0, True
        long_before, at_before, label_before = n_long, at, label_at
        rows[n_rows] = np.nan
        while True:
            slot = slots[column] if column < n_columns else -1
            if 0 <= slot < n_numbers and first_levels[slot] < first_levels[slot + 1]:
                over, end, unquoted = _find_cell(data, start, separator)
                # Written where the next long number will be, and forgotten.
                stop = _write_text(data, start, end, unquoted, text, at)
                last = first_levels[slot + 1]
                rows[n_rows, slot] = _find_level(text, at, stop, levels, level_ends, first_levels[slot], last)
            elif 0 <= slot < n_numbers:
                over, first, end, kind, value = _read_number(data, start, separator, comma)
                if kind == _SHORT:
                    rows[n_rows, slot] = value
                else:
                    at = _write_number(data, first, end, text, at)
                    ends[n_long], places[n_long] = at, n_rows * n_numbers + slot
                    n_long += 1
            else:
                over, end, unquoted = _find_cell(data, start, separator)
                if slot == n_numbers:
                    label_at = _write_text(data, start, end, unquoted, label, label_at)
                elif column >= n_columns and end > start:
                    is_read = False  # more cells than names: which is which?
            column += 1
            start = over + 1
            if over == data.size or data[over] == _LINE:
                break
        if n_columns > 1 and (over == begin or (over == begin + 1 and data[begin] == _RETURN)):
            continue  # a blank line is a record only where one missing value may be all of it
        if not is_read:
            rows[n_rows] = np.nan
            n_long, at = long_before, at_before
            label_at = label_at if is_id else label_before
        if label_ends.size > 0:
            label_ends[n_rows] = label_at
        n_rows += 1
    counts[0], counts[1] = n_rows, n_long
    return start
