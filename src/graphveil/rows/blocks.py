"""Sources of rows: arrays, data frames, and collections of such batches, all read through one small interface.

What may go wrong is decided by the schema (types, shapes, names) and by I/O, never by a value: types are not inferred
from values, and what a foreign library says about a value it dislikes is dropped: an error message is published.
Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.foreign import call_foreign, iterate_foreign
from graphveil.rows.labels import codes_of, codes_of_column
from graphveil.rows.unreleased import Unreleased
from graphveil.spec.augment import Augment, Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Block = tuple[NDArray[np.generic], NDArray[np.intp] | None]

__all__ = ["Blocks", "open_source"]

_KINDS = "a 2-D numeric numpy array, a data frame (pandas, polars, pyarrow), or a collection of such batches"
_FRAME_ROWS = 2**16  # rows of a frame that are converted at a time


class Blocks(Unreleased):
    """Rows that can be read several times. ``read`` yields (rows, class codes or None)."""

    columns: tuple[str, ...] | None
    n_features: int
    overwritten = False  # whether what ``read`` has yielded may change when it goes on

    @abstractmethod
    def read(self) -> "Iterator[Block]":
        """Start a new pass over all rows."""

    def count(self) -> int:
        """Number of rows, by a pass over them where nothing else tells."""
        return sum(len(rows) for rows, _ in self.read())


def open_source(source: Any, domain: Domain, augment: Augment) -> Blocks:
    """Check the schema of ``source`` against the domain and make it readable.

    Raises
    ------
    SourceError
        With the name of what is wrong (a column, a type, a shape), never with a value.
    """
    if isinstance(source, Blocks):
        _match(source, domain)
        return source
    labels = augment if isinstance(augment, Labels) else None
    blocks = _open_batch(source, domain, labels)
    if blocks is not None:
        return blocks
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | dict | set | frozenset):
        advice = " Read the file first, e.g. with pandas.read_csv." if isinstance(source, str) else ""
        raise SourceError(f"The source is a {_type_name(source)}. Give {_KINDS}.{advice}")
    first, second = (call_foreign(lambda: iter(source), "opened") for _ in range(2))
    if first is source or first is second:
        raise SourceError(
            f"The source is a {_type_name(source)}, which can be read only once, and a release may read the rows "
            "several times. Give a list of batches, e.g. list(chunks), or an object whose __iter__ starts anew."
        )
    return _Batches(source, domain, labels)


def _open_batch(source: Any, domain: Domain, labels: Labels | None) -> Blocks | None:
    """Open an array, a frame or a pair (rows, labels); None for anything else."""
    if labels is not None and labels.column is None:
        if not isinstance(source, tuple) or len(source) != 2:
            if isinstance(source, np.ndarray) or hasattr(source, "__arrow_c_stream__"):
                raise SourceError("gv.Labels without a column needs a pair (rows, labels) as source.")
            return None
        rows = _open_batch(source[0], domain, None)
        if rows is None:
            return None
        return _WithLabels(rows, codes_of(source[1], labels))
    if isinstance(source, np.ndarray):
        if labels is not None:
            raise SourceError(
                "An array has no column names: give gv.Labels no column, and a pair (rows, labels) as source."
            )
        return _Array(source, domain)
    if hasattr(source, "toarray") and hasattr(source, "nnz"):
        raise SourceError("The source is a sparse matrix: a precision matrix needs dense rows. Give source.toarray().")
    if type(source).__name__ == "Series":
        raise SourceError("The source is a Series, one column without a table: give a data frame, e.g. frame[['age']].")
    if hasattr(source, "__arrow_c_stream__"):
        return _Frame(source, domain, labels)
    return None


class _Array(Blocks):
    """A 2-D numeric array, read in place."""

    def __init__(self, rows: "NDArray[Any]", domain: Domain) -> None:
        if rows.ndim != 2:
            raise SourceError(f"An array of rows must have 2 dimensions (rows, columns), this one has {rows.ndim}.")
        if rows.dtype.kind not in "fiub":
            raise SourceError(
                f"An array of rows must hold real numbers or booleans, this one has dtype {rows.dtype.type.__name__}. "
                "Convert it where you know what the values mean, e.g. with astype(float)."
            )
        self.columns, self.n_features = None, rows.shape[1]
        self._rows = rows
        _match(self, domain)

    def read(self) -> "Iterator[Block]":
        yield self._rows, None

    def count(self) -> int:
        return len(self._rows)


class _Frame(Blocks):
    """Anything with an Arrow C stream; columns are found by name."""

    def __init__(self, frame: Any, domain: Domain, labels: Labels | None) -> None:
        names = _column_names(frame)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SourceError(f"Column {twice[0]!r} appears more than once in the source: rename or select columns.")
        label = None if labels is None else labels.column
        self._names = domain.columns if domain.columns is not None else tuple(n for n in names if n != label)
        self.columns, self.n_features = self._names, len(self._names)
        if label in self._names:
            raise SourceError(f"Column {label!r} is the label and cannot be a feature too: take it out of the domain.")
        wanted = [*self._names] if label is None else [*self._names, label]
        for name in wanted:
            if name not in names:
                raise SourceError(f"The source has no column {name!r}. {_suggestion(name, names)}")
        self._frame = _selected(frame, names, wanted)
        self._labels = labels
        self._open()
        _match(self, domain)

    def read(self) -> "Iterator[Block]":
        for batch in iterate_foreign(self._open()):
            for start in range(0, batch.num_rows, _FRAME_ROWS):
                part = batch.slice(start, _FRAME_ROWS)
                rows = np.empty((part.num_rows, self.n_features))
                for j, name in enumerate(self._names):
                    rows[:, j] = call_foreign(partial(_floats, part.column(name)), "read")
                codes = None
                if self._labels is not None:
                    codes = codes_of_column(part.column(self._labels.column), self._labels)
                yield rows, codes

    def _open(self) -> Any:
        """Start a stream, with the schema checked: what was checked once could have changed since."""
        import pyarrow as pa

        reader = call_foreign(lambda: pa.RecordBatchReader.from_stream(self._frame), "opened")
        for name in self._names:
            kind = _type_of(reader.schema, name)
            if not _is_numeric(kind):
                raise SourceError(
                    f"Column {name!r} has type {kind}, which is not a number. Convert it where you know what it means, "
                    "or leave it out with Domain(columns=...)."
                )
        if self._labels is not None and not _is_label(_type_of(reader.schema, self._labels.column)):
            kind = _type_of(reader.schema, self._labels.column)
            raise SourceError(f"The label column {self._labels.column!r} has type {kind}: use strings or integers.")
        return reader


class _WithLabels(Blocks):
    """Rows with labels that came beside them."""

    def __init__(self, rows: Blocks, codes: "NDArray[np.intp]") -> None:
        self.columns, self.n_features = rows.columns, rows.n_features
        self._rows, self._codes = rows, codes

    def read(self) -> "Iterator[Block]":
        start = 0
        for rows, _ in self._rows.read():
            codes = self._codes[start : start + len(rows)]
            start += len(rows)
            if start > len(self._codes):
                break
            yield rows, codes
        if start != len(self._codes):
            raise SourceError(f"There are {len(self._codes)} labels, but another number of rows.")


class _Batches(Blocks):
    """A collection of batches, each with the same columns."""

    overwritten = True  # readers of large files often fill one array again and again

    def __init__(self, batches: Iterable[Any], domain: Domain, labels: Labels | None) -> None:
        self._batches, self._domain, self._labels = batches, domain, labels
        opened = self._opened()
        first = next(opened, None)
        opened.close()
        if first is None:
            raise SourceError("The source has no batch, so it has no columns and no rows.")
        self.columns, self.n_features = first.columns, first.n_features
        # The first batch decides for the rest: later ones must have its columns.
        self._domain = domain.matched_to(first.columns, first.n_features)

    def read(self) -> "Iterator[Block]":
        for batch in self._opened():
            yield from batch.read()

    def _opened(self) -> Any:
        for batch in iterate_foreign(self._batches):
            blocks = _open_batch(batch, self._domain, self._labels)
            if blocks is None:
                pair = "a pair (rows, labels) with rows " if self._labels and self._labels.column is None else ""
                raise SourceError(
                    f"A batch is a {_type_name(batch)}; it must be {pair}a 2-D numeric numpy array or a data frame. "
                    "For lists use numpy.asarray(rows, dtype=float) or pandas.DataFrame(rows)."
                )
            yield blocks


# ------------------------------------------------------------------ schema
def _match(blocks: Blocks, domain: Domain) -> None:
    if blocks.n_features == 0:
        raise SourceError("The source has no columns.")
    domain.matched_to(blocks.columns, blocks.n_features)


def _column_names(frame: Any) -> list[str]:
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatchReader):
        raise SourceError("A RecordBatchReader can be read only once. Give the table or data set that it comes from.")
    if hasattr(frame, "columns") and not callable(frame.columns) and not isinstance(frame, pa.Table | pa.RecordBatch):
        return call_foreign(
            lambda: [str(name) for name in frame.columns], "opened"
        )  # pandas, polars: no value is touched
    schema = call_foreign(lambda: pa.RecordBatchReader.from_stream(frame).schema, "opened")
    return [str(name) for name in schema.names]


def _selected(frame: Any, names: list[str], wanted: list[str]) -> Any:
    """Keep only wanted columns where the conversion to Arrow would look at values of the others."""
    if type(frame).__module__.startswith("polars."):
        return call_foreign(lambda: frame.select(wanted), "opened")
    if not hasattr(frame, "iloc"):
        return frame
    places = [names.index(name) for name in wanted]
    frame = call_foreign(lambda: frame.iloc[:, places].set_axis(wanted, axis=1).reset_index(drop=True), "opened")
    for name, dtype in zip(wanted, frame.dtypes, strict=True):
        categories = getattr(dtype, "categories", None)
        if "object" in (str(dtype), str(getattr(categories, "dtype", ""))):
            # Arrow would infer a type from the values, and complain about one of them by name.
            raise SourceError(
                f"Column {name!r} has dtype object, which declares no type. Convert it to a number (or a label to str) "
                "where you know what it means."
            )
    return frame


def _type_of(schema: Any, name: str | None) -> Any:
    """Type of a column; of a dictionary, that of its values, because the width of its keys tells how many there are."""
    import pyarrow.types as t

    if schema.names.count(name) != 1:
        raise SourceError(f"The columns of the source changed while it was read: {name!r} is not there once.")
    kind = schema.field(name).type
    return kind.value_type if t.is_dictionary(kind) else kind


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(
        t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_decimal(kind) or t.is_null(kind)
    )


def _is_label(kind: Any) -> bool:
    import pyarrow.types as t

    text = t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
    return bool(text or t.is_integer(kind) or t.is_boolean(kind))


def _suggestion(name: str, names: list[str]) -> str:
    """What may have been meant. Few names: those of a file without a header are values of its first record."""
    close = get_close_matches(name, names, n=3)
    if close:
        return "Did you mean " + " or ".join(map(repr, close)) + "?"
    return f"It has {len(names)} others, none of a similar name. Does the file lack a header?"


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _floats(column: Any) -> "NDArray[np.float64]":
    """A float64 array; nulls become NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if t.is_dictionary(column.type):
        column = column.dictionary_decode()
    if t.is_null(column.type):
        return np.full(len(column), np.nan)
    column = pc.cast(column, pa.float64(), safe=False)
    if column.null_count:
        column = pc.fill_null(column, float("nan"))
    # Not to_numpy(): it imports pandas where pandas is installed, which takes seconds.
    return np.asarray(np.from_dlpack(column), dtype=np.float64)
