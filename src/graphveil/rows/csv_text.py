"""Files of separated values (CSV): whatever a record holds, it is one row.

Guarantee
---------
A record is what a writer of RFC 4180 writes as one, line breaks inside quoted cells included, and becomes a row that
depends on nothing but its own bytes and the names above it. A cell that is neither a number nor true or false is NaN,
or, where text is declared, one that is no declared level; and so are cells that are not there, all cells but the id of
a record that has more than there are names (empty ones aside), and all of one with more than 64 MB. No record raises,
none is dropped. Proof: ``privacy/proofs/records.md`` (theorem 15).

The line of names, which is public, says what separates: commas, semicolons or tabs. Where it is not the comma, a comma
in a number is a decimal point, as spreadsheets write it in most of Europe.
"""

import csv
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.arrow import Selection, batch_rows
from graphveil.rows.csv_kernels import AT_CELL, IN_CELL, IN_QUOTES, cut_records, read_records
from graphveil.rows.labels import codes_of_text
from graphveil.rows.sanitized_errors import call_sanitized, iterate_sanitized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block, DecodeTask

__all__ = ["CsvText"]

_BLOCK = 2**22  # bytes that are read at a time
_LONGEST = 2**26  # bytes of a record;
_TOO_LONG = b"x"  # stands for one that has more: a record like any other, without a number
_SEPARATORS = b",;\t"
_ALIKE = bytes.maketrans(_SEPARATORS, b",,,")
_QUOTED = re.compile(rb'(?<![^,;\t])"(?:[^"]|"")*"')  # a cell in quotation marks, whichever separates
_MARK = b"\xef\xbb\xbf"  # of UTF-8; spreadsheets write it
# How files begin that are no text in UTF-8.
_FOREIGN = {
    b"\xff\xfe": "It is text in UTF-16: save it as UTF-8.",
    b"\xfe\xff": "It is text in UTF-16: save it as UTF-8.",
    b"\x1f\x8b": "It is compressed with gzip: let its name end in .csv.gz.",
    b"PK\x03\x04": "It is a ZIP archive or a spreadsheet: export it as CSV.",
    b"PAR1": "It is a Parquet file: let its name end in .parquet.",
}


class CsvText:
    """The records of one file.

    Parameters
    ----------
    start : callable
        Opens a stream of bytes.
    name : str
        Of the file, for errors.
    """

    def __init__(self, start: Callable[[], Any], name: str) -> None:
        self._start, self._name = start, name

    def names(self) -> list[str]:
        """What the first line says."""
        chunks = self._chunks()
        try:
            return self._columns(self._head(chunks)[0])
        finally:
            chunks.close()

    def iter_tasks(self, selection: Selection) -> "Iterator[Block | DecodeTask]":
        """Start a pass: blocks of whole records, still to be read."""
        chunks = self._chunks()
        head, rest = self._head(chunks)
        names = self._columns(head)
        reader = _Reader(names, selection, _separator(head))
        for block in _whole_records(rest, chunks, _separator(head)):
            yield partial(reader.read, block)

    def count(self) -> int:
        """Number of records."""
        chunks = self._chunks()
        head, rest = self._head(chunks)
        separator, alone = _separator(head), len(self._columns(head)) == 1
        blocks = _whole_records(rest, chunks, separator)
        return sum(cut_records(_bytes(block), ord(separator), AT_CELL, alone)[3] for block in blocks)

    def _chunks(self) -> Any:
        return iterate_sanitized(_read_chunks(self._start), self._name)

    def _head(self, chunks: Iterator[bytes]) -> tuple[bytes, bytes]:
        """The line of names, and what was read of the bytes below it."""
        data, end, state = b"", 0, AT_CELL
        for chunk in chunks:
            data += chunk
            end, state = _end_of_names(data)
            if end > 0:
                break
            if len(data) > _LONGEST:
                raise self._refused(f"Its first line has more than {_LONGEST:,} bytes.")
        if not data:
            raise SourceError(f"The file {self._name!r} is empty: it needs a header with the column names.")
        if state == IN_QUOTES:
            raise self._refused("A quotation mark in its header is never closed.")
        end = end or len(data)
        return data[:end], data[end:]

    def _columns(self, head: bytes) -> list[str]:
        """Names of the columns. What is wrong with them is said without repeating them: they may be a record."""
        for start, what in _FOREIGN.items():
            if head.startswith(start):
                raise self._refused(what)
        if b"\0" in head:
            raise self._refused("Its first line contains NUL bytes: it is not text, or it is UTF-16 or UTF-32.")
        line = head.removeprefix(_MARK).removesuffix(b"\n").removesuffix(b"\r")
        if not line.strip():
            raise self._refused("Its first line is blank: it must contain the column names.")
        if b"\r" in _QUOTED.sub(b"", line):
            raise self._refused("Its lines end in a bare carriage return: save it with modern line endings.")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise self._refused("Its header is not UTF-8: save the file as UTF-8.")
        try:
            return next(csv.reader([text], delimiter=_separator(head), strict=True))
        except csv.Error:
            pass
        raise self._refused("Its header has a misplaced quotation mark.")

    def _refused(self, why: str) -> SourceError:
        return SourceError(f"The file {self._name!r} cannot be read as CSV. {why}")


def _read_chunks(start: Callable[[], Any]) -> Iterator[bytes]:
    with start() as stream:
        while data := stream.read(_BLOCK):
            yield data


def _end_of_names(data: bytes) -> tuple[int, int]:
    """Where the first record ends, 0 for nowhere, and the state in which the last one leaves off.

    What separates is not known yet: each of the three may.
    """
    start, state = len(_MARK) if data.startswith(_MARK) else 0, AT_CELL
    for stop in (data.find(b"\n") + 1, len(data)):  # few names hold a line end
        text = data[start:stop].translate(_ALIKE)
        first, _, state, _ = cut_records(_bytes(text), ord(","), AT_CELL, False)
        if first > 0:
            return start + first, AT_CELL
    return 0, state


def _separator(head: bytes) -> str:
    """Whichever stands most often in the line of names, outside of quotation marks; of equals the first."""
    plain = _QUOTED.sub(b"", head.removeprefix(_MARK))
    return chr(max(_SEPARATORS, key=plain.count))


def _whole_records(rest: bytes, chunks: Iterator[bytes], separator: str) -> Iterator[bytes]:
    """Cut a stream of bytes where records end; the last record may lack its end, and gets it."""
    state, begun, length = AT_CELL, b"", 0  # of the record that is not yet ended
    for chunk in chain([rest] if rest else [], chunks):
        first, last, state = _cut(chunk, separator, state)
        if last == 0:
            length += len(chunk)
            begun = b"" if length > _LONGEST else begun + chunk
            continue
        yield begun + chunk[:last] if length + first <= _LONGEST else _TOO_LONG + chunk[first - 1 : last]
        begun, length = chunk[last:], len(chunk) - last
    if length:
        end = b'"\n' if state == IN_QUOTES else b"\n"
        yield begun + end if length + 1 <= _LONGEST else _TOO_LONG + b"\n"


def _cut(chunk: bytes, separator: str, state: int) -> tuple[int, int, int]:
    """Where the first and the last record end, 0 for nowhere, and the state in which the rest leaves off."""
    if state in (AT_CELL, IN_CELL) and b'"' not in chunk:
        state = AT_CELL if chunk[-1:] in (b"\n", separator.encode()) else IN_CELL
        return chunk.find(b"\n") + 1, chunk.rfind(b"\n") + 1, state
    return cut_records(_bytes(chunk), ord(separator), state, False)[:3]  # type: ignore[no-any-return]


def _bytes(data: bytes) -> "NDArray[np.uint8]":
    return np.frombuffer(data, dtype=np.uint8)


class _Reader:
    """Records become rows of the columns that are wanted."""

    def __init__(self, names: list[str], selection: Selection, separator: str) -> None:
        self._separator, self._labels, self._hasher = separator, selection.labels, selection.hasher
        self._beside = selection.beside is not None
        self._n_features = len(selection.features)
        places = {name: place for place, name in enumerate(names)}
        self._slots = np.full(len(names), -1, dtype=np.int32)
        self._slots[[places[name] for name in selection.wanted]] = range(len(selection.wanted))
        self._levels = _levels([selection.levels.get(name, ()) for name in selection.features])

    def read(self, block: bytes) -> "Iterator[Block]":
        """Rows of whole records, some at a time."""
        data, start, p = _bytes(block), 0, self._n_features
        most = min(batch_rows(p), block.count(b"\n"))
        text, ends = np.empty(data.size, np.uint8), np.zeros(most * p + 1, np.int32)
        places, counts = np.empty(most * p, np.int64), np.empty(2, np.int64)
        labelled = self._beside
        label, label_ends = np.empty(data.size * labelled, np.uint8), np.zeros(most * labelled + 1, np.int32)
        while start < data.size:
            rows = np.empty((most, p))
            start = read_records(
                data, start, ord(self._separator), self._separator != ",", self._hasher is not None, self._slots,
                *self._levels, rows, counts, text, ends[1:], places, label, label_ends[1:],
            )  # fmt: skip
            n_rows, n_long = counts.tolist()
            if n_long:
                rows.ravel()[places[:n_long]] = call_sanitized(partial(_cast, text, ends, n_long), "read")
            beside: NDArray[Any] | None = None
            if self._hasher is not None:
                beside = self._hasher.keys_of_text(label, label_ends[: n_rows + 1].astype(np.int64))
            elif self._labels is not None:
                beside = codes_of_text(_arrow(label, label_ends, n_rows, "binary"), self._labels.classes)
            yield rows[:n_rows], beside


def _levels(of_columns: "list[tuple[str, ...]]") -> "tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]":
    """Which level is the first of each column, all levels as bytes, and where each one ends there."""
    encoded = [level.encode(errors="surrogatepass") for levels in of_columns for level in levels]
    first = np.cumsum([0, *map(len, of_columns)], dtype=np.int64)
    return first, _bytes(b"".join(encoded)), np.cumsum([*map(len, encoded)], dtype=np.int64)


def _cast(text: "NDArray[np.uint8]", ends: "NDArray[np.int32]", count: int) -> "NDArray[np.float64]":
    """The nearest float64 of decimal numbers of any length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(np.from_dlpack(pc.cast(_arrow(text, ends, count, "string"), pa.float64())))


def _arrow(text: "NDArray[np.uint8]", ends: "NDArray[np.int32]", count: int, kind: str) -> Any:
    """An Arrow array of ``count`` pieces of ``text``; piece i ends at ``ends[i + 1]``."""
    import pyarrow as pa

    return pa.Array.from_buffers(getattr(pa, kind)(), count, [None, pa.py_buffer(ends), pa.py_buffer(text)])
