"""Ids: whose row each row is. One person has one id, however it is written.

Software writes one id in several ways: pandas makes 7.0 of 7 where another id is missing, a type of fixed length is
filled up with blanks, DuckDB writes a UUID to Parquet as 16 bytes and to CSV as text. So every id has one form, in
which it is compared:

================================================  ==================================================================
a number, in whatever type or as text             its value: 7, 7.0, "007", " 7 ", b"7", "+7,00" and "70e-1" are one
a UUID, as text of any spelling or as 16 bytes    its bytes
any other text, and bytes                         their bytes, without what pads them
missing, empty, too long, or NaN, NA, None, …     none: such rows belong to one *nobody*
================================================  ==================================================================

Guarantee
---------
A type that holds no ids is refused before a value is read. Of the others every value has a form, or is nobody's: no
value decides whether a release succeeds, or what becomes of another. A number that is an integer of 64 bits is its own
key. Any other form is compared by two polynomials modulo 2⁶¹ - 1, at points that the operating system draws for every
source. The probability that two of n forms are taken for one is part of the guarantee (``collision_probability`` in
``spec/events.py``). Ids, and anything derived from them, stay in this process. Proof: ``privacy/proofs/people.md``
(theorem 13).
"""

import os
import re
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numba import i8, njit, u1, u8, void
from numba.core.types import Array

from graphveil._compiled import compiled
from graphveil.exceptions import SourceError
from graphveil.rows.columns import keys as dictionary_keys
from graphveil.rows.labels import codes_and_categories
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.rows.statistic import Unreleased

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]  # of shape (n, 2)

__all__ = ["Hasher", "can_be_ids", "draw_points", "write_ids"]

_PRIME = (1 << 61) - 1
_LONGEST = 256  # bytes of the form of an id; a longer id counts as missing
_NOBODY = (1 << 64) - 1
_UUID = 16  # bytes
_SURELY = 19  # digits of an integer that may have more than 63 bits; one of fewer has not
_MARKS = 24  # bytes that the form of a number may have besides its digits
_ROOM = _UUID + _LONGEST + _MARKS  # bytes in which a form is written, the number that a UUID may be behind it
# How types of series that can be ids are called, in small letters; of numpy's own types numpy tells.
_HOLDS_IDS = re.compile(
    r"u?int\d+|float64|(decimal|enum|categorical|sparse\[u?int\d+)\b.*|string|str|object|binary", re.S
)
_MISSING = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # of Python, pandas and numpy
_MOST_BITS = 2**13  # of an integer that Python is asked to write as text: more than 2,000 digits
_UNKNOWN = b"?"  # stands for objects of which nothing says whether two are the same: all of them are one person

_KEYS = u8[:, ::1]
_BYTES = Array(u1, 1, "C", readonly=True)
_OFFSETS = Array(i8, 1, "C", readonly=True)
_NONE, _INTEGER, _TEXT, _WRITTEN = 0, 1, 2, 3  # what an id is: nobody's, an integer, bytes as they stand, or rewritten
_TAB, _RETURN, _BLANK, _PLUS, _MINUS, _POINT, _COMMA, _ZERO, _NINE, _SMALL_E, _OPEN, _CLOSE = b"\t\r +-.,09e{}"
_URN = np.frombuffer(b"urn:uuid:", dtype=np.uint8)
# What programs write where an id is missing, in small letters, and a byte before it that keeps zeros in front.
_NO_IDS = tuple(
    int.from_bytes(b"\1" + word, "big")
    for word in (b"nan", b"+nan", b"-nan", b"nat", b"na", b"<na>", b"n/a", b"#n/a", b"none", b"null", b"\\n")
)
_LONGEST_NO_ID = 4
# Extension types of Arrow whose storage is what others write of the same id. Of any other nobody knows.
_EXTENSIONS = ("arrow.uuid",)


# ------------------------------------------------------------------ types
def can_be_ids(kind: Any) -> bool:
    """Whether a column of this Arrow type can hold ids: integers, text, bytes, decimals, or floats of 64 bits.

    Narrower floats have lost digits of most ids already.
    """
    import pyarrow as pa
    import pyarrow.types as t

    while t.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        if not t.is_dictionary(kind) and kind.extension_name not in _EXTENSIONS:
            return False
        kind = kind.value_type if t.is_dictionary(kind) else kind.storage_type
    text = t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
    raw = t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind) or t.is_binary_view(kind)
    return bool(t.is_integer(kind) or t.is_float64(kind) or t.is_decimal(kind) or text or raw)


# ------------------------------------------------------------------ the form of an id
@njit
def _is_blank(byte: Any) -> Any:
    return byte == _BLANK or (_TAB <= byte <= _RETURN)


@njit
def _is_digit(byte: Any) -> Any:
    return _ZERO <= byte <= _NINE


@njit
def _is_point(byte: Any) -> Any:
    return byte in (_POINT, _COMMA)


@njit
def _is_sign(byte: Any) -> Any:
    return byte in (_PLUS, _MINUS)


@njit
def _small(byte: Any) -> Any:
    return byte + u1(32) if 65 <= byte <= 90 else byte


@njit
def _is_no_id(data: Any, start: Any, end: Any) -> Any:
    """Whether text is what stands for no id."""
    if end - start > _LONGEST_NO_ID:
        return False
    word = 1
    for i in range(start, end):
        word = 256 * word + i8(_small(data[i]))
    return word in _NO_IDS


@njit(forceinline=True)
def _strip(data: Any, start: Any, end: Any) -> Any:
    """Leave out NULs at the end and, unless other control characters show that this is no text, blanks around it."""
    while end > start and data[end - 1] == 0:
        end -= 1
    if end > start and (_is_blank(data[start]) or _is_blank(data[end - 1])):
        for i in range(start, end):
            if data[i] < _BLANK and not _is_blank(data[i]):
                return start, end
        while end > start and _is_blank(data[start]):
            start += 1
        while end > start and _is_blank(data[end - 1]):
            end -= 1
    return start, end


@njit
def _has_word(data: Any, start: Any, word: Any) -> Any:
    """Whether bytes begin with this word, in small letters or capitals."""
    same = True
    for i in range(word.size):
        same &= _small(data[start + i]) == word[i]
    return same


@njit
def _read_uuid(data: Any, start: Any, end: Any, room: Any) -> Any:
    """Whether text is a UUID: 32 digits, with or without dashes, braces and urn:uuid:. Its bytes begin ``room``."""
    if end - start > _URN.size and _has_word(data, start, _URN):
        start += _URN.size
    start += data[start] == _OPEN
    end -= data[end - 1] == _CLOSE
    if end - start != 36 and end - start != 32:
        return False
    has_dashes, n_digits = end - start == 36, 0
    for i in range(end - start):
        byte = data[start + i]
        if has_dashes and i in (8, 13, 18, 23):
            if byte != _MINUS:
                return False
            continue
        if _is_digit(byte):
            digit = byte - _ZERO
        elif 97 <= byte | 32 <= 102:
            digit = (byte | 32) - 87
        else:
            return False
        before = i8(room[n_digits // 2]) if n_digits % 2 else 0
        room[n_digits // 2] = 16 * before + i8(digit)
        n_digits += 1
    return True


@njit
def _read_number(data: Any, start: Any, end: Any, room: Any) -> Any:
    """A decimal number as programs write one: what kind it is, where what is written of it ends, its sign and value.

    It may have a sign, zeros around its digits, a point or a decimal comma, and an exponent of up to three digits
    (1.50e+007). What is no integer of 64 bits is written into ``room`` without what may vary (1.5e7), behind the bytes
    of a UUID.
    """
    nothing = _NONE, _UUID, u8(0), u8(0)
    negative, i, value = data[start] == _MINUS, start, u8(0)
    if negative or data[start] == _PLUS:
        i += 1
    whole = i
    while i < end and _is_digit(data[i]):
        value = value * u8(10) + u8(data[i] - _ZERO)
        i += 1
    n_whole = i - whole
    if i == end and 0 < n_whole < _SURELY:  # nearly every number
        return _INTEGER, _UUID, u8(1) if negative and value > u8(0) else u8(0), ~value + u8(1) if negative else value
    if i < end and _is_point(data[i]):
        i += 1
    fraction = i
    while i < end and _is_digit(data[i]):
        i += 1
    last, exponent = n_whole + i - fraction, 0
    if last == 0:
        return nothing
    if i + 1 < end and _small(data[i]) == _SMALL_E:
        is_small = data[i + 1] == _MINUS
        i += 2 if is_small or data[i + 1] == _PLUS else 1
        if not 1 <= end - i <= 3:
            return nothing
        while i < end and _is_digit(data[i]):
            exponent = 10 * exponent + (data[i] - _ZERO)
            i += 1
        exponent = -exponent if is_small else exponent
    if i < end:
        return nothing
    first = 0
    while first < last and _digit(data, whole, n_whole, fraction, first) == 0:
        first += 1
    while first < last and _digit(data, whole, n_whole, fraction, last - 1) == 0:
        last -= 1
    if first == last:
        return _INTEGER, _UUID, u8(0), u8(0)
    exponent += n_whole - 1 - first  # that of the first digit
    if last - first - 1 <= exponent < 20:
        value, fits = u8(0), True
        for k in range(first, first + exponent + 1):
            digit = _digit(data, whole, n_whole, fraction, k) if k < last else u8(0)
            if value > (u8(_NOBODY) - digit) // u8(10):
                fits = False
            value = value * u8(10) + digit
        if fits and (not negative or value <= u8(2**63)):
            return _INTEGER, _UUID, u8(negative), ~value + u8(1) if negative else value
    if last - first > _LONGEST:
        return _WRITTEN, _UUID + last - first, u8(0), u8(0)  # too long, however it is written
    at = _UUID
    if negative:
        room[at] = _MINUS
        at += 1
    for k in range(first, last):
        room[at] = _ZERO + _digit(data, whole, n_whole, fraction, k)
        at += 1
        if k == first:
            room[at] = _POINT
            at += 1
    room[at] = _SMALL_E
    at += 1
    if exponent < 0:
        room[at] = _MINUS
        at += 1
    return _WRITTEN, _write_integer(u8(abs(exponent)), room, at), u8(0), u8(0)


@njit
def _digit(data: Any, whole: Any, n_whole: Any, fraction: Any, k: Any) -> Any:
    """Digit k of a number whose whole part and whose fraction begin there."""
    return u8(data[whole + k if k < n_whole else fraction + k - n_whole] - _ZERO)


@njit
def _write_integer(value: Any, out: Any, at: Any) -> Any:
    """Write the digits of an integer; return where they end."""
    power = u8(1)
    while power <= value // u8(10):
        power *= u8(10)
    while power > u8(0):
        out[at] = u8(_ZERO) + value // power % u8(10)
        at, power = at + 1, power // u8(10)
    return at


@njit(forceinline=True)
def _read_form(data: Any, start: Any, end: Any, room: Any, kind: Any) -> Any:
    """What stripped bytes are that are no UUID, where their form begins and ends, its sign and its value.

    The form is in ``room`` if it was written there, and in ``data`` otherwise; that of an integer is its value.
    """
    sign = value = u8(0)
    if start < end:
        found, byte = _NONE, data[start]
        if _is_digit(byte) or _is_point(byte) or _is_sign(byte):
            found, stop, sign, value = _read_number(data, start, end, room)
        if found != _NONE:
            kind, start, end = found, _UUID, stop
        elif _is_no_id(data, start, end):
            end = start
    if (start == end and kind != _INTEGER) or end - start > _LONGEST:
        kind = _NONE
    return kind, start, end, sign, value


# ------------------------------------------------------------------ forms become keys
@compiled(u8(u8, u8), forceinline=True)
def _times(a: Any, b: Any) -> Any:
    """A·b modulo 2⁶¹ - 1 for factors below it, in 64 bits: halves of 31 and 30 bits, and 2⁶¹ = 1."""
    low, high = u8(2**31 - 1), u8(2**30 - 1)
    a0, a1, b0, b1 = a & low, a >> u8(31), b & low, b >> u8(31)
    middle = a0 * b1 + a1 * b0
    total = ((a1 * b1) << u8(1)) + (middle >> u8(30)) + ((middle & high) << u8(31)) + a0 * b0
    total = (total & u8(_PRIME)) + (total >> u8(61))
    return total - u8(_PRIME) if total >= u8(_PRIME) else total


@njit(forceinline=True)
def _hash(data: Any, start: Any, end: Any, first: Any, second: Any) -> Any:
    """Two polynomials, at two points, of a piece of ``data``: its words of seven bytes, then its length."""
    one = two = u8(0)
    at = start
    while at < end:
        word = u8(0)
        for j in range(at, min(at + 7, end)):
            word = (word << u8(8)) | u8(data[j])
        one, two = _times(one, first) + word, _times(two, second) + word
        one = one - u8(_PRIME) if one >= u8(_PRIME) else one
        two = two - u8(_PRIME) if two >= u8(_PRIME) else two
        at += 7
    one, two = _times(one, first) + u8(end - start), _times(two, second) + u8(end - start)
    # Integers have 0 or 1 here: text is never taken for one.
    return (one - u8(_PRIME) if one >= u8(_PRIME) else one) + u8(2), two - u8(_PRIME) if two >= u8(_PRIME) else two


@compiled(void(_BYTES, _OFFSETS, u8, u8, _KEYS))
def _hash_ids(data: Any, ends: Any, first: Any, second: Any, out: Any) -> None:
    """The key of each piece of ``data``."""
    room = np.empty(_ROOM, np.uint8)
    for i in range(out.shape[0]):
        start, end = _strip(data, ends[i], ends[i + 1])
        if end - start >= 2 * _UUID and _read_uuid(data, start, end, room):
            start, end = _strip(room, 0, _UUID)
            kind, start, end, sign, value = _read_form(room, start, end, room, _WRITTEN)
        else:
            kind, start, end, sign, value = _read_form(data, start, end, room, _TEXT)
        if kind == _TEXT:
            out[i, 0], out[i, 1] = _hash(data, start, end, first, second)
        elif kind == _WRITTEN:
            out[i, 0], out[i, 1] = _hash(room, start, end, first, second)
        elif kind == _INTEGER:
            out[i, 0], out[i, 1] = sign, value
        else:
            out[i, 0] = out[i, 1] = u8(_NOBODY)


@compiled(void(_BYTES, _OFFSETS, u1[::1], i8[::1]))
def _write_forms(data: Any, ends: Any, out: Any, out_ends: Any) -> None:
    """The form of each piece of ``data`` as bytes, of which it is the form again; none of what is nobody's."""
    room = np.empty(_ROOM, np.uint8)
    at = 0
    for i in range(ends.size - 1):
        start, end = _strip(data, ends[i], ends[i + 1])
        if end - start >= 2 * _UUID and _read_uuid(data, start, end, room):
            start, end = _strip(room, 0, _UUID)
            kind, start, end, sign, value = _read_form(room, start, end, room, _WRITTEN)
        else:
            kind, start, end, sign, value = _read_form(data, start, end, room, _TEXT)
        if kind == _INTEGER:
            if sign:
                out[at], at, value = _MINUS, at + 1, ~value + u8(1)
            at = _write_integer(value, out, at)
        elif kind != _NONE:
            for k in range(start, end):
                out[at] = data[k] if kind == _TEXT else room[k]
                at += 1
        out_ends[i + 1] = at


class Hasher(Unreleased):
    """Turns ids into keys of 128 bits: the same for the same id, and for no other.

    Several of them agree if they are given the same ``points``, of :func:`draw_points`.
    """

    __slots__ = ("_points",)

    def __init__(self, points: tuple[int, int] | None = None) -> None:
        self._points = tuple(np.uint64(point) for point in points or draw_points())

    def keys_of_column(self, column: Any) -> "Keys":
        """Of an Arrow column; a null is nobody's."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as t

        if isinstance(column, pa.ChunkedArray):
            return np.concatenate([np.empty((0, 2), np.uint64), *map(self.keys_of_column, column.chunks)])
        if isinstance(column, pa.ExtensionArray):
            return self.keys_of_column(column.storage)
        if t.is_dictionary(column.type):
            known = np.concatenate([self.keys_of_column(column.dictionary), _nobodies(1)])
            return known[call_sanitized(lambda: dictionary_keys(column), "read")]
        if t.is_integer(column.type):
            signed = not t.is_uint64(column.type)
            plain = pc.fill_null(column.cast(pa.int64()) if signed else column, 0)
            keys = _keys_of_integers(np.asarray(np.from_dlpack(plain)))
        else:
            keys = self.keys_of_text(*call_sanitized(lambda: _pieces(column), "read"))
        if column.null_count:
            keys[np.asarray(column.is_null().to_numpy(zero_copy_only=False))] = _NOBODY
        return keys

    def keys_of_text(self, data: "NDArray[np.uint8]", ends: "NDArray[np.int64]") -> "Keys":
        """Of pieces of text, piece i from ``ends[i]`` to ``ends[i + 1]``; one that is empty is nobody's."""
        keys = np.empty((len(ends) - 1, 2), np.uint64)
        _hash_ids(data, ends, *self._points, keys)
        return keys

    def keys_of(self, ids: Any) -> "Keys":
        """Of ids beside the rows: an array, a series, an Arrow column, a list."""
        import pyarrow as pa

        if isinstance(ids, pa.Array | pa.ChunkedArray):
            if not can_be_ids(ids.type):
                raise _refusal(str(ids.type))
            return self.keys_of_column(ids)
        if isinstance(ids, np.ndarray):
            return self._keys_of_array(ids)
        if not isinstance(ids, list | tuple):
            dtype = getattr(ids, "dtype", None)
            if dtype is None or not hasattr(ids, "to_numpy") or getattr(ids, "nlevels", 1) > 1:
                raise _refusal(type(ids).__name__)
            if (coded := codes_and_categories(ids)) is not None:
                codes, categories = coded
                return np.take(np.concatenate([self.keys_of(categories), _nobodies(1)]), codes, axis=0)
            if hasattr(dtype, "pyarrow_dtype"):
                return self.keys_of(call_sanitized(ids.array.__arrow_array__, "read"))
            if isinstance(dtype, np.dtype):
                return self._keys_of_array(call_sanitized(lambda: np.asarray(ids), "read"))
            if not _HOLDS_IDS.fullmatch(str(dtype).lower()):
                raise _refusal(str(dtype))
        return self._keys_of_objects(call_sanitized(lambda: list(ids), "read"))

    def _keys_of_array(self, ids: "NDArray[Any]") -> "Keys":
        import pyarrow as pa

        if ids.ndim != 1:
            raise SourceError(f"person must have 1 dimension, one id for every row; it has {ids.ndim}.")
        plain = np.ma.getdata(ids)
        if ids.dtype.kind in "iu":
            keys = _keys_of_integers(plain.astype(np.uint64 if ids.dtype.kind == "u" else np.int64))
        elif ids.dtype.kind == "f" and ids.dtype.itemsize == 8:
            keys = self.keys_of_column(pa.array(plain.astype(np.float64)))
        elif ids.dtype.kind in "USTO":
            keys = self._keys_of_objects(call_sanitized(lambda: list(plain), "read"))
        else:
            raise _refusal(ids.dtype.type.__name__)
        keys[np.ma.getmaskarray(ids)] = _NOBODY
        return keys

    def _keys_of_objects(self, ids: list[Any]) -> "Keys":
        return self.keys_of_text(*_joined([_as_text(value) for value in ids]))


def write_ids(column: Any) -> Any:
    """The forms of the ids of an Arrow column, as a column of bytes; null for what is nobody's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data, ends = call_sanitized(lambda: _pieces(column), "read")
    forms, form_ends = _write(data, ends)
    buffers = [None, pa.py_buffer(form_ends), pa.py_buffer(forms)]
    found = pa.Array.from_buffers(pa.large_binary(), len(column), buffers)
    nobodys = pc.or_(pa.array(np.diff(form_ends) == 0), column.is_null())
    return pc.if_else(nobodys, pa.scalar(None, found.type), found).cast(pa.binary())


def draw_points() -> tuple[int, int]:
    """Where the two polynomials of a hasher are taken: drawn by the operating system."""
    return _draw_point(), _draw_point()


def _draw_point() -> int:
    """A uniform number below 2⁶¹ - 1, from the operating system."""
    while (point := int.from_bytes(os.urandom(8), "little") >> 3) >= _PRIME:
        pass
    return point


def _pieces(column: Any) -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    """A column of text, bytes, floats or decimals as bytes, and where each of them ends; none of a null."""
    import pyarrow as pa
    import pyarrow.types as t

    if len(column) == 0:  # may have no buffers
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    if t.is_floating(column.type) or t.is_decimal(column.type):
        column = column.cast(pa.large_string())
    if column.type in (pa.string(), pa.large_string()):
        column = column.view(pa.binary() if column.type == pa.string() else pa.large_binary())
    elif column.type == pa.string_view():
        column = column.view(pa.binary_view())
    column = column.cast(pa.large_binary())
    column.validate(full=True)  # of a damaged file, ends could lie in others' memory
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8), ends


def _joined(texts: list[bytes]) -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    """One piece after the other, and where each of them ends."""
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ends


def _as_text(value: Any) -> bytes:
    """An object of Python as text. Every one has some, so that no id decides whether a release succeeds."""
    try:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, str):
            return str.encode(value, errors="surrogatepass")
        if isinstance(value, bytes | bytearray | memoryview):
            return memoryview(value).tobytes()
        if isinstance(value, float):
            return float.__repr__(value).encode()
        if isinstance(value, int) and not isinstance(value, bool):
            return int.__repr__(value).encode() if value.bit_length() < _MOST_BITS else b""
        if isinstance(value, UUID):
            return str(value).encode()
        if isinstance(value, tuple):
            return b"(" + b", ".join(_write(*_joined([_as_text(part)]))[0].tobytes() for part in value) + b")"
        if type(value).__name__ in _MISSING:
            return b""
        text = str(value)
        # An address, or an order of elements, would be another one in every row.
        return _UNKNOWN if isinstance(value, Mapping | Set) or " at 0x" in text else text.encode(errors="surrogatepass")
    except Exception:
        return _UNKNOWN


def _write(data: "NDArray[np.uint8]", ends: "NDArray[np.int64]") -> "tuple[NDArray[np.uint8], NDArray[np.int64]]":
    """The forms of pieces of text, and where each of them ends."""
    out, out_ends = np.empty(ends[-1] - ends[0] + _MARKS * (len(ends) - 1), np.uint8), np.zeros(len(ends), np.int64)
    _write_forms(data, ends, out, out_ends)
    return out[: out_ends[-1]], out_ends


def _keys_of_integers(values: "NDArray[Any]") -> "Keys":
    return np.stack([(values < 0).astype(np.uint64), values.view(np.uint64)], axis=1)


def _nobodies(count: int) -> "Keys":
    return np.full((count, 2), _NOBODY, np.uint64)


def _refusal(kind: str) -> SourceError:
    return SourceError(
        f"Ids of people cannot be of type {kind}. Give integers, text, bytes or UUIDs, or floats if they have 64 bits."
    )
