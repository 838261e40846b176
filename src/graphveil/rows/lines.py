"""Lines of separated values: every line is one record, whatever it holds.

Guarantee
---------
A record is a line that is not blank, and becomes a row that depends on nothing but that line and the names above it: a
cell that is neither a number nor true or false is NaN, and so are all cells of a line that has not as many as there are
names, or more than 64 MB. No line raises, none is dropped, none is swallowed by a quotation mark that another left
open. Argument: ``privacy/proofs/totality.md`` (theorem 7).

The line of names, which is public, says what separates: commas, semicolons or tabs. Where it is not the comma, a comma
in a number is a decimal point, as spreadsheets write it in most of Europe.

Lines are parsed by pyarrow, whole blocks at a time as declared numbers. Its complaints quote cells, so they are not
repeated: a block that it does not like is parsed again with more patience, and in the end line by line.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.arrow import Selection, floats, slabs
from graphveil.rows.foreign import call_foreign, iterate_foreign
from graphveil.rows.labels import codes_of_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphveil.rows.blocks import Block, Deferred

__all__ = ["Lines"]

_BLOCK = 2**22  # bytes that are read at a time,
_CACHED = 2**20  # and parsed at a time, because the cells of so many fit a cache
_LONGEST = 2**26  # bytes of a line, more than a block has;
_TOO_LONG = b"x"  # stands for one that has more: a record like any other, without a number
_MARK = b"\xef\xbb\xbf"  # of UTF-8; spreadsheets write it
_SEPARATORS = b",;\t"
_TRUE, _FALSE = r"(?i)^[ \t]*true[ \t]*$", r"(?i)^[ \t]*false[ \t]*$"
# What pyarrow takes for a number, but for NaN, which need not be told from what is none.
_NUMBER = r"^[ \t]*[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)[ \t]*$"


class Lines:
    """The lines of one file.

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
        for head, _ in self._blocks():
            return self._columns(head)
        raise SourceError(f"The file {self._name!r} is empty: it needs a line with the names of its columns.")

    def fetch(self, selection: Selection) -> "Iterator[Block | Deferred]":
        """Start a pass: blocks of whole lines, still to be parsed."""
        parser = None
        for head, block in self._blocks():
            parser = parser or _Parser(self._columns(head), selection, _separator(head))
            yield partial(parser.blocks, block)

    def count(self) -> int:
        """Number of records."""
        return sum(_without_blank_lines(block).count(b"\n") for _, block in self._blocks())

    def _columns(self, head: bytes) -> list[str]:
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ParseOptions(delimiter=_separator(head))
        return call_foreign(
            lambda: [str(name) for name in csv.read_csv(pa.py_buffer(head), parse_options=options).column_names],
            f"opened, file {self._name!r}",
        )

    def _blocks(self) -> Iterator[tuple[bytes, bytes]]:
        """Pairs: the first line of the file, and some lines below it, all of them ended."""
        head, rest, is_long = b"", b"", False
        for data in iterate_foreign(_chunks(self._start), self._name):
            end = data.find(b"\n")
            is_long = is_long or len(rest) + (len(data) if end < 0 else end) > _LONGEST
            if is_long and not head:
                raise SourceError(f"The first line of the file {self._name!r} has more than {_LONGEST:,} bytes.")
            if end < 0:
                rest = b"" if is_long else rest + data
                continue
            cut = data.rfind(b"\n") + 1
            block, rest = _TOO_LONG + data[end:cut] if is_long else rest + data[:cut], data[cut:]
            is_long = False
            if not head:
                first, _, block = block.removeprefix(_MARK).partition(b"\n")
                head = first + b"\n"
            yield head, block
        if is_long or len(rest) > _LONGEST:
            rest = _TOO_LONG
        if rest:  # the last line may lack its end
            yield (head, rest + b"\n") if head else (rest.removeprefix(_MARK) + b"\n", b"")


def _chunks(start: Callable[[], Any]) -> Iterator[bytes]:
    with start() as stream:
        while data := stream.read(_BLOCK):
            yield data


def _separator(head: bytes) -> str:
    """Whichever stands most often in the line of names, outside of quotation marks; of equals the first."""
    plain = b"".join(head.split(b'"')[::2])
    return chr(max(_SEPARATORS, key=plain.count))


def _without_blank_lines(block: bytes) -> bytes:
    if not block.startswith((b"\n", b"\r")) and b"\n\n" not in block and b"\n\r" not in block:
        return block
    return b"\n".join([*(line for line in block.split(b"\n") if line.strip(b"\r")), b""])


class _Parser:
    """Lines become rows of the columns that are wanted."""

    def __init__(self, names: list[str], selection: Selection, separator: str = ",") -> None:
        self._separator = separator
        self._decimals = (".",) if separator == "," else (",", ".")
        self._features, self._labels = len(selection.features), selection.labels
        # Columns by number: the names that nobody wants may repeat each other.
        self._numbers = [str(j) for j in range(len(names))]
        self._wanted = [self._numbers[names.index(name)] for name in selection.wanted]

    def blocks(self, lines: bytes) -> "Iterator[Block]":
        """Rows of lines: of all at once; if they do not come out as that many records, of each half by itself."""
        if not lines:
            return
        count = lines.count(b"\n")
        for decimal in (*self._decimals, None):
            table = call_foreign(partial(self._table, lines, decimal), "read")
            if table is not None and table.num_rows == count:
                yield from self._rows(table)
                return
        lines = _without_blank_lines(lines)
        if lines.count(b"\n") < count:
            yield from self.blocks(lines)
            return
        if count == 1:
            unknown = None if self._labels is None else np.full(1, -1, dtype=np.intp)
            yield np.full((1, self._features), np.nan), unknown
            return
        cut = lines.find(b"\n", len(lines) // 2) + 1
        if cut == len(lines):
            cut = lines.rfind(b"\n", 0, -1) + 1
        yield from self.blocks(lines[:cut])
        yield from self.blocks(lines[cut:])

    def _table(self, lines: bytes, decimal: str | None) -> Any:
        """Columns of numbers, or of bytes without ``decimal``; None if pyarrow refuses, or could split a record."""
        import pyarrow as pa
        from pyarrow import csv

        if b"\r" in lines and lines.count(b"\r") != lines.count(b"\r\n"):
            return None
        size = _CACHED if decimal else len(lines) + 1  # a longer line needs patience
        kinds = dict.fromkeys(self._wanted, pa.float64() if decimal else pa.binary())
        if self._labels is not None:
            kinds[self._wanted[-1]] = pa.binary()
        try:
            return csv.read_csv(
                pa.py_buffer(lines),
                read_options=csv.ReadOptions(column_names=self._numbers, use_threads=False, block_size=size),
                parse_options=csv.ParseOptions(delimiter=self._separator),
                convert_options=csv.ConvertOptions(
                    column_types=kinds, include_columns=self._wanted, decimal_point=decimal or "."
                ),
            )
        except pa.ArrowInvalid:  # it quotes a cell
            return None

    def _rows(self, table: Any) -> "Iterator[Block]":
        comma = "," in self._decimals
        columns = [call_foreign(partial(_numbers, column, comma), "read") for column in table.columns[: self._features]]
        codes = None if self._labels is None else codes_of_text(table.column(self._wanted[-1]), self._labels)
        return slabs(columns, codes)


def _numbers(column: Any, comma: bool) -> "NDArray[np.float64]":
    """Parsed numbers, or those of bytes that pyarrow would have parsed: the same bits for the same cell."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    column = column.combine_chunks()
    if t.is_binary(column.type):
        if comma:
            column = pc.replace_substring(column, ",", ".")
        for word, number in ((_TRUE, b"1"), (_FALSE, b"0")):
            column = pc.if_else(pc.match_substring_regex(column, word), number, column)
        known = pc.match_substring_regex(column, _NUMBER)
        text = pc.if_else(known, column, None).cast(pa.string())
        column = pc.cast(pc.utf8_trim(text, " \t"), pa.float64())
    return floats(column)
