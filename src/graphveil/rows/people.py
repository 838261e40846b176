"""People: each person counts once, as the average of their rows, however many there are.

A row of a person with m rows gets the integer weight ⌊2²⁰/m⌋, so that a person's weights add up to at most 2²⁰; with
survey weights, the m-th part of its own. Every query sums weight × f(row): a person adds a point of the convex hull of
f's values, and a hull is no wider than its set.

Guarantee
---------
A weight depends on how many rows its own person has, and on nothing else, unless two ids were mistaken for one.
Integers are compared as they are, among objects of Python as their text. Text and bytes are compared by two polynomials
modulo 2⁶¹ - 1, at points that the operating system draws for every source. The probability that two of n ids are taken
for one is part of the guarantee (``collision_probability`` in ``spec/events.py``). Ids, and anything derived from them,
stay in this process. Proof:
``privacy/proofs/people.md`` (theorem 13).
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import i4, i8, u1, u8, void
from numba.core.types import Array
from numba.types import Tuple  # type: ignore[attr-defined] # not in its type information

from graphveil._compiled import compiled
from graphveil.exceptions import SourceError
from graphveil.rows.columns import keys as dictionary_keys
from graphveil.rows.labels import TIMES_AND_NESTED, codes_and_categories
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.rows.statistic import Unreleased
from graphveil.spec.quantization import PERSON_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]  # of shape (n, 2)

__all__ = ["LONGEST_ID", "Hasher", "People", "can_be_ids", "draw_points", "holds_integers"]

_PRIME = (1 << 61) - 1
LONGEST_ID = 256  # bytes of an id; a longer id counts as missing
_WORDS = 38  # of seven bytes in the longest id, and one for its length
_NOBODY = (1 << 64) - 1
_FULL = 0.85  # share of a table that is filled before it grows
_GROWTH = 1.5
_MOST_ROWS = 2**31 - 1  # of one person that are counted: beyond 2²⁰ their weight is zero anyway

_KEYS = u8[:, ::1]
_BYTES = Array(u1, 1, "C", readonly=True)
_OFFSETS = Array(i8, 1, "C", readonly=True)


def can_be_ids(kind: Any) -> bool:
    """Whether a column of this Arrow type can hold ids: integers, text or bytes, for which "the same" is exact."""
    import pyarrow.types as t

    if t.is_dictionary(kind):
        kind = kind.value_type
    kind = getattr(kind, "storage_type", kind)  # UUIDs
    text = t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
    raw = t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind) or t.is_binary_view(kind)
    return bool(t.is_integer(kind) or text or raw)


def holds_integers(kind: Any) -> bool:
    """Whether a column of this Arrow type, which can hold ids, holds integers."""
    import pyarrow.types as t

    return bool(t.is_integer(kind.value_type if t.is_dictionary(kind) else kind))


# ------------------------------------------------------------------ ids become keys
@compiled(u8(u8, u8))
def _times(a: Any, b: Any) -> Any:
    """A·b modulo 2⁶¹ - 1 for factors below it, in 64 bits: halves of 31 and 30 bits, and 2⁶¹ = 1."""
    low, high = u8(2**31 - 1), u8(2**30 - 1)
    a0, a1, b0, b1 = a & low, a >> u8(31), b & low, b >> u8(31)
    middle = a0 * b1 + a1 * b0
    total = ((a1 * b1) << u8(1)) + (middle >> u8(30)) + ((middle & high) << u8(31)) + a0 * b0
    total = (total & u8(_PRIME)) + (total >> u8(61))
    return total - u8(_PRIME) if total >= u8(_PRIME) else total


@compiled(void(_BYTES, _OFFSETS, u8, u8, _KEYS))
def _hash_text(data: Any, ends: Any, first: Any, second: Any, out: Any) -> None:
    """Two polynomials, at two points, of each piece of ``data``: its words of seven bytes, then its length."""
    for i in range(out.shape[0]):
        start, end = ends[i], ends[i + 1]
        if end - start > LONGEST_ID or end <= start:
            out[i, 0] = out[i, 1] = u8(_NOBODY)
            continue
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
        out[i, 0] = (one - u8(_PRIME) if one >= u8(_PRIME) else one) + u8(2)
        out[i, 1] = two - u8(_PRIME) if two >= u8(_PRIME) else two


class Hasher(Unreleased):
    """Turns ids into keys of 128 bits: the same for the same id, and for no other.

    Several of them agree if they are given the same ``points``, of :func:`draw_points`.
    """

    __slots__ = ("_points", "integers")

    def __init__(self, points: tuple[int, int] | None = None) -> None:
        self._points = tuple(np.uint64(point) for point in points or draw_points())
        self.integers: bool | None = None  # whether ids are, by the type of the first column

    def check_alike(self, integers: bool) -> None:
        """Refuse text beside integers: somebody whose id is 7 here and "7" there would be two people."""
        if self.integers not in (None, integers):
            raise SourceError(
                "Ids of people are integers in one part of the source and text in another (in a CSV file they are "
                "text), so that one person would count as two. Write all parts alike."
            )
        self.integers = integers

    def keys_of_column(self, column: Any) -> "Keys":
        """Of an Arrow column; a null is nobody's."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as t

        if isinstance(column, pa.ChunkedArray):
            return np.concatenate([np.empty((0, 2), np.uint64), *map(self.keys_of_column, column.chunks)])
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        if t.is_dictionary(column.type):
            known = np.concatenate([self.keys_of_column(column.dictionary), _nobodies(1)])
            return known[call_sanitized(lambda: dictionary_keys(column), "read")]
        if t.is_integer(column.type):
            signed = not t.is_uint64(column.type)
            plain = pc.fill_null(column.cast(pa.int64()) if signed else column, 0)
            keys = _keys_of_integers(np.asarray(np.from_dlpack(plain)))
        else:
            keys = call_sanitized(lambda: self._keys_of_bytes(column), "read")
        if column.null_count:
            keys[np.asarray(column.is_null().to_numpy(zero_copy_only=False))] = _NOBODY
        return keys

    def keys_of_text(self, data: "NDArray[np.uint8]", ends: "NDArray[np.int64]") -> "Keys":
        """Of pieces of text, piece i from ``ends[i]`` to ``ends[i + 1]``; one that is empty is nobody's."""
        keys = np.empty((len(ends) - 1, 2), np.uint64)
        _hash_text(data, ends, *self._points, keys)
        return keys

    def keys_of(self, ids: Any) -> "Keys":
        """Of ids beside the rows: an array, a series, an Arrow column, a list."""
        import pyarrow as pa

        if isinstance(ids, pa.Array | pa.ChunkedArray):
            if not can_be_ids(ids.type):
                raise _refusal(str(ids.type))
            return self.keys_of_column(ids)
        if isinstance(ids, np.ndarray):
            if ids.ndim != 1:
                raise SourceError(f"person must have 1 dimension, one id for every row; it has {ids.ndim}.")
            if ids.dtype.kind in "iu":
                plain = np.ma.getdata(ids)
                keys = _keys_of_integers(plain.astype(np.uint64 if ids.dtype.kind == "u" else np.int64))
                keys[np.ma.getmaskarray(ids)] = _NOBODY
                return keys
            if ids.dtype.kind not in "USO":
                raise _refusal(ids.dtype.type.__name__)
        elif not isinstance(ids, list | tuple):
            if not hasattr(ids, "to_numpy"):
                raise _refusal(type(ids).__name__)
            if (coded := codes_and_categories(ids)) is not None:
                codes, categories = coded
                return np.take(np.concatenate([self.keys_of(categories), _nobodies(1)]), codes, axis=0)
            if hasattr(ids.dtype, "pyarrow_dtype"):
                return self.keys_of(call_sanitized(ids.array.__arrow_array__, "read"))
            if str(ids.dtype).lower().startswith(("float", "decimal", *TIMES_AND_NESTED)):
                raise _refusal(str(ids.dtype))
        whole = str(getattr(ids, "dtype", "object")).lower().startswith(("int", "uint"))
        return self._keys_of_objects(call_sanitized(lambda: list(ids), "read"), whole)

    def _keys_of_bytes(self, column: Any) -> "Keys":
        import pyarrow as pa

        if column.type in (pa.string(), pa.large_string()):
            column = column.view(pa.binary() if column.type == pa.string() else pa.large_binary())
        elif column.type == pa.string_view():
            column = column.view(pa.binary_view())
        column = column.cast(pa.large_binary())
        column.validate(full=True)  # of a damaged file, ends could lie in others' memory
        _, offsets, data = column.buffers()
        ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
        return self.keys_of_text(np.frombuffer(data or b"", np.uint8), ends)

    def _keys_of_objects(self, ids: list[Any], whole: bool) -> "Keys":
        """One by one: no id decides what becomes of another. What is neither integer, text nor bytes is nobody's.

        Unless the type says that all of them are integers, an integer is the text that it would be in a file: pandas
        makes integers of ids in one stretch of a column, and text in the next.
        """
        plain = [value.item() if isinstance(value, np.generic) else value for value in ids]
        integers = [type(value) is int and -(2**63) <= value < 2**64 for value in plain]
        if not whole:
            plain = [str(value) if is_integer else value for value, is_integer in zip(plain, integers, strict=True)]
        texts = [_as_bytes(value) for value in plain]
        data = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
        keys = self.keys_of_text(data, ends)
        for place in np.flatnonzero(integers) if whole else ():
            keys[place] = (plain[place] < 0, plain[place] % 2**64)
        return keys


def draw_points() -> tuple[int, int]:
    """Where the two polynomials of a hasher are taken: drawn by the operating system."""
    return _draw_point(), _draw_point()


def _draw_point() -> int:
    """A uniform number below 2⁶¹ - 1, from the operating system."""
    while (point := int.from_bytes(os.urandom(8), "little") >> 3) >= _PRIME:
        pass
    return point


def _as_bytes(value: Any) -> bytes:
    if type(value) is str:
        return value.encode(errors="surrogatepass")
    return value if type(value) is bytes else b""


def _keys_of_integers(values: "NDArray[Any]") -> "Keys":
    return np.stack([(values < 0).astype(np.uint64), values.view(np.uint64)], axis=1)


def _nobodies(count: int) -> "Keys":
    return np.full((count, 2), _NOBODY, np.uint64)


def _refusal(kind: str) -> SourceError:
    return SourceError(
        f"Ids of people cannot be of type {kind}: whether two of them are the same must be exact. Give integers, text "
        "or bytes."
    )


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
