"""Sources of rows: arrays, data frames, files and collections of batches, all read through one small interface.

Errors depend on the schema (types, shapes, names) and on I/O, never on a value: types are not inferred from values, and
the messages of third-party libraries are dropped, because an error message counts as published. Argument:
``privacy/proofs/totality.md`` (theorem 7).
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.arrow import Selection, batch_rows
from graphveil.rows.ids import Hasher
from graphveil.rows.labels import codes_of
from graphveil.rows.sanitized_errors import call_sanitized, iterate_sanitized
from graphveil.rows.statistic import Unreleased
from graphveil.spec.augmentation import Augment, Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Rows, and what stands beside them: class numbers, the keys of people, or nothing.
    Block = tuple[NDArray[np.generic], NDArray[Any] | None]
    DecodeTask = Callable[[], Iterator[Block]]  # blocks still to be made, by any thread

__all__ = ["RowSource", "add_levels", "add_weights", "name_columns", "open_batch", "open_source", "read_numbers"]

_LONG_INTEGERS = ("HUGEINT", "UHUGEINT", "Int128", "UInt128")  # of DuckDB and polars; Arrow has none of 128 bits
_UNEQUAL = "The number of ids must be the number of rows."  # how many there are is secret
_UNEQUAL_WEIGHTS = "The number of weights must be the number of rows."
_KINDS = (
    "a 2-D numeric numpy array, a data frame (pandas, polars, pyarrow, DuckDB, Dask, Spark), the path of files, a "
    "collection of batches, or a function that returns one"
)


class RowSource(Unreleased):
    """Rows that can be read several times: subclasses have ``iter_tasks``, or ``read`` where nothing is deferred."""

    columns: tuple[str, ...] | None
    n_features: int
    reuses_buffer = False  # whether what ``read`` has yielded may change when it goes on
    knows_count = False  # whether ``count`` knows without a pass over the rows

    def read(self) -> "Iterator[Block]":
        """Start a new pass over all rows: (rows, what stands beside them), block by block."""
        for part in self.iter_tasks():
            yield from part() if callable(part) else [part]

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        """Start a new pass, and leave the work on a part that any thread may do to the caller."""
        yield from self.read()

    def iter_people(self) -> "Iterator[NDArray[np.uint64]]":
        """Start a new pass over the keys of people alone."""
        for _, keys in self.read():
            assert keys is not None
            yield keys

    def count(self) -> int:
        """Number of rows, by a pass over them where nothing else tells."""
        return sum(len(rows) for rows, _ in self.read())

    def cached(self) -> AbstractContextManager[None]:
        """While this is open, passes come one after the other: rows that are far away may be kept at hand."""
        return nullcontext()

    def close(self) -> None:
        """The release is made, or has failed: let go of what was opened for it."""


def open_source(source: Any, domain: Domain, augment: Augment, person: Any = None, weight: Any = None) -> RowSource:
    """Check the schema of ``source`` against the domain and make it readable.

    ``person`` are ids beside the rows, where the source has no column of them, and ``weight`` are weights.

    Raises
    ------
    SourceError
        With the name of what is wrong (a column, a type, a shape), never with a value.
    """
    if isinstance(source, RowSource):
        _match(source, domain)
        return source
    labels = augment if isinstance(augment, Labels) else None
    if weight is not None:
        return add_weights(open_source(source, replace(domain, weight=None), augment, person), weight)
    if person is not None:
        rows = open_source(source, replace(domain, person=None, variation="total"), None)
        return _Beside(rows, Hasher().keys_of(person), _UNEQUAL)
    given = source
    if callable(source) and not isinstance(source, Iterable):
        source = _Factory(source)
    blocks = open_batch(source, domain, labels)
    if blocks is not None:
        return blocks
    if type(source).__module__.partition(".")[0] in ("dask", "pyspark"):
        raise SourceError(
            f"The source is a {_type_name(source)}, whose rows are elsewhere: give a data frame or an array of that "
            "engine, to gv.release or fit, without separate labels."
        )
    if not isinstance(source, Iterable) or isinstance(source, bytes | dict | set | frozenset):
        raise SourceError(f"The source is a {_type_name(source)}. Give {_KINDS}.")
    first, second = (call_sanitized(lambda: iter(source), "opened") for _ in range(2))
    if first is source or first is second:
        raise SourceError(
            f"The source is a {_type_name(given)}, a one-shot iterator, but a release reads the rows several times. "
            f"Give a list of batches, e.g. list(chunks), or a function that restarts the iteration, e.g. "
            "lambda: read_chunks(path)."
        )
    return _Batches(source, domain, labels)


def open_batch(source: Any, domain: Domain, labels: Labels | None, hasher: Hasher | None = None) -> RowSource | None:
    """Open an array, a frame, files or a pair (rows, labels); None for anything else. All batches share ``hasher``."""
    if labels is not None and labels.column is None:
        if not isinstance(source, tuple) or len(source) != 2:
            if isinstance(source, np.ndarray) or hasattr(source, "__arrow_c_stream__"):
                raise SourceError("gv.Labels without a column needs a pair (rows, labels) as source.")
            return None
        rows = open_batch(source[0], domain, None)
        if rows is None:
            return None
        return _with_labels(rows, codes_of(source[1], labels.classes))
    if _names_files(source):
        from graphveil.rows.files import Files

        blocks = Files([source] if _is_path(source) else source, domain, labels)
        _match(blocks, domain)
        return blocks
    if isinstance(source, np.ndarray):
        if domain.person is not None:
            raise SourceError("An array has no column of people: pass the ids separately, as person=.")
        if domain.weight is not None:
            raise SourceError("An array has no column of weights: pass them separately, as weight=.")
        if labels is not None:
            raise SourceError(
                "An array has no column names: give gv.Labels no column, and a pair (rows, labels) as source."
            )
        return _Array(source, domain)
    if hasattr(source, "toarray") and hasattr(source, "nnz"):
        raise SourceError("The source is a sparse matrix: a precision matrix needs dense rows. Give source.toarray().")
    if type(source).__name__ == "Series":
        raise SourceError("The source is a Series, a single column: give a data frame, e.g. frame[['age']].")
    if hasattr(source, "__arrow_c_stream__"):
        return _open_frame(source, domain, labels, hasher)
    return None


class _Array(RowSource):
    """A 2-D numeric array, read in place."""

    knows_count = True

    def __init__(self, rows: "NDArray[Any]", domain: Domain) -> None:
        if rows.ndim != 2:
            raise SourceError(f"An array of rows must have 2 dimensions (rows, columns), this one has {rows.ndim}.")
        if rows.dtype.kind not in "fiub":
            raise SourceError(
                f"An array of rows must hold real numbers or booleans, this one has dtype {rows.dtype.type.__name__}. "
                "Convert it yourself, e.g. with astype(float)."
            )
        if domain.codebook is not None and domain.codebook.text_levels:
            name = next(iter(domain.codebook.text_levels))
            raise SourceError(
                f"Column {name!r} has levels that are text, and an array holds numbers: give a data frame, or declare "
                "numbers as levels."
            )
        self.columns, self.n_features = None, rows.shape[1]
        self._rows = rows
        _match(self, domain)

    def read(self) -> "Iterator[Block]":
        yield self._rows, None

    def count(self) -> int:
        return len(self._rows)


class _Frame(RowSource):
    """Anything with an Arrow C stream; columns are found by name."""

    def __init__(self, frame: Any, selection: Selection) -> None:
        self.columns, self.n_features = selection.features, len(selection.features)
        self._frame, self._selection = frame, selection
        self._open()

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        size = batch_rows(self.n_features)
        for batch in iterate_sanitized(self._open()):
            for start in range(0, batch.num_rows, size):
                yield partial(self._selection.blocks, batch.slice(start, size))

    def iter_people(self) -> "Iterator[NDArray[np.uint64]]":
        for batch in iterate_sanitized(self._open()):
            yield self._selection.keys(batch)

    def _open(self) -> Any:
        """Start a stream, with the schema checked: what was checked once could have changed since."""
        reader = call_sanitized(lambda: _start_stream(self._frame), "opened")
        self._selection.check_types(reader.schema)
        return reader


def _start_stream(frame: Any) -> Any:
    """Batches of a frame. Arrow's own tables are not exported: pyarrow before 24 crashes when it exports text views."""
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(frame.schema, [frame])
    return frame.to_reader() if isinstance(frame, pa.Table) else pa.RecordBatchReader.from_stream(frame)


class _Factory:
    """A function that starts an iteration over batches."""

    def __init__(self, start: "Callable[[], Iterable[Any]]") -> None:
        self._start = start

    def __iter__(self) -> "Iterator[Any]":
        return iter(self._start())


class _Beside(RowSource):
    """Rows with labels, or with keys of people, that came beside them."""

    def __init__(self, rows: RowSource, beside: "NDArray[Any]", refusal: str) -> None:
        self.columns, self.n_features, self.reuses_buffer = rows.columns, rows.n_features, rows.reuses_buffer
        self._rows, self._beside, self._refusal = rows, beside, refusal

    def read(self) -> "Iterator[Block]":
        start = 0
        for rows, _ in self._rows.read():
            beside = self._beside[start : start + len(rows)]
            start += len(rows)
            if start > len(self._beside):
                break
            yield rows, beside
        if start != len(self._beside):
            raise SourceError(self._refusal)

    def iter_people(self) -> "Iterator[NDArray[np.uint64]]":
        yield self._beside


class _WithColumn(RowSource):
    """Rows with numbers that came beside them as their last column."""

    def __init__(self, rows: RowSource, name: str, column: "NDArray[np.float64]", refusal: str) -> None:
        self.columns, self.n_features = rows.columns and (*rows.columns, name), rows.n_features + 1
        self._rows, self._column, self._refusal = rows, column, refusal
        self.knows_count = rows.knows_count

    def read(self) -> "Iterator[Block]":
        from graphveil.rows.parallel import as_floats

        start, step = 0, batch_rows(self.n_features)
        for rows, beside in self._rows.read():
            for first in range(0, len(rows), step):
                part = slice(first, first + step)
                numbers = as_floats(rows[part])
                column = self._column[start : start + len(numbers)]
                start += len(numbers)
                if start > len(self._column):
                    raise SourceError(self._refusal)
                yield np.column_stack([numbers, column]), None if beside is None else beside[part]
        if start != len(self._column):
            raise SourceError(self._refusal)

    def iter_people(self) -> "Iterator[NDArray[np.uint64]]":
        return self._rows.iter_people()

    def count(self) -> int:
        return self._rows.count()


def add_levels(rows: RowSource, levels: "NDArray[np.float64]") -> RowSource:
    """Rows of an array with the levels of their groups as their last column."""
    return _WithColumn(rows, "level", levels, "The number of group levels must be the number of rows.")


def add_weights(rows: RowSource, weight: Any) -> RowSource:
    """Rows with weights that came beside them as their last column."""
    return _WithColumn(rows, "weight", _read_weights(weight), _UNEQUAL_WEIGHTS)


def name_columns(source: Any) -> list[str] | None:
    """The columns that a frame or the first file says it has; None for what does not say, or not for sure."""
    if _names_files(source):
        from graphveil.rows.files import column_kinds

        kinds = column_kinds(source if _is_path(source) else source[0])
        return None if any(kind == "any" for _, kind in kinds) else [name for name, _ in kinds]  # a header may be a row
    return _column_names(source) if hasattr(source, "__arrow_c_stream__") else None


def _read_weights(given: Any) -> "NDArray[np.float64]":
    """An array or a series of numbers, read as a table of one column is; NaN for what is missing."""
    import pyarrow as pa

    from graphveil.rows.parallel import as_floats

    table = given
    if isinstance(given, pa.Array | pa.ChunkedArray):
        table = pa.table({"weight": given})
    elif isinstance(given, np.ndarray):
        if given.ndim != 1:
            raise SourceError(f"weight must have 1 dimension, one weight for every row; it has {given.ndim}.")
        table = given[:, None]
    elif hasattr(given, "to_frame"):
        table = call_sanitized(lambda: given.to_frame("weight"), "opened")
    found = open_batch(table, Domain(data_norm=1.0, n_features=1), None)
    if found is None:
        raise SourceError(f"weight is a {_type_name(given)}: give a numpy array or a series of numbers.")
    return np.concatenate([np.empty((0, 1)), *(as_floats(rows).copy() for rows, _ in found.read())])[:, 0]


def read_numbers(name: str, given: Any) -> "tuple[tuple[str, ...] | None, NDArray[np.float64]]":
    """Names of columns, where there are some, and floats of an array, a series or a frame; NaN for what is missing."""
    import pyarrow as pa

    from graphveil.rows.parallel import as_floats

    if isinstance(given, np.ndarray):
        return None, as_floats(given)
    table, is_series = given, isinstance(given, pa.Array | pa.ChunkedArray)
    if is_series:
        table = pa.table({name: given})
    elif hasattr(given, "to_frame"):
        table, is_series = call_sanitized(lambda: given.to_frame(name), "opened"), True
    found = open_batch(table, Domain(data_norm=1.0), None)
    if found is None:
        raise SourceError(f"{name} is a {_type_name(given)}: give a numpy array or a frame of numbers.")
    empty = np.empty((0, found.n_features))
    rows = np.concatenate([empty, *(as_floats(block).copy() for block, _ in found.read())])
    return (None, rows[:, 0]) if is_series else (found.columns, rows)


def _with_labels(rows: RowSource, codes: "NDArray[np.intp]") -> RowSource:
    return _Beside(rows, codes, f"There are {len(codes)} labels, but a different number of rows.")


class _Batches(RowSource):
    """A collection of batches, each with the same columns."""

    reuses_buffer = True  # readers of large files often fill one array again and again

    def __init__(self, batches: Iterable[Any], domain: Domain, labels: Labels | None) -> None:
        self._batches, self._domain, self._labels, self._hasher = batches, domain, labels, Hasher()
        opened = self._open_batches()
        first = next(opened, None)
        opened.close()
        if first is None:
            raise SourceError("The source has no batch, so it has no columns and no rows.")
        self.columns, self.n_features = first.columns, first.n_features
        # The first batch decides for the rest: later ones must have its columns.
        self._domain = domain.resolve(first.columns, first.n_features)

    def read(self) -> "Iterator[Block]":
        for batch in self._open_batches():
            yield from batch.read()

    def _open_batches(self) -> Any:
        for batch in iterate_sanitized(self._batches):
            if _names_files(batch) or (isinstance(batch, tuple) and batch and _names_files(batch[0])):
                raise SourceError(
                    "A batch is a path. Give all paths in one list: then each file is known to count once."
                )
            blocks = open_batch(batch, self._domain, self._labels, self._hasher)
            if blocks is None:
                pair = "a pair (rows, labels) with rows " if self._labels and self._labels.column is None else ""
                raise SourceError(
                    f"A batch is a {_type_name(batch)}; it must be {pair}a 2-D numeric numpy array or a data frame. "
                    "For lists use numpy.asarray(rows, dtype=float) or pandas.DataFrame(rows)."
                )
            yield blocks


# ------------------------------------------------------------------ schema
def _match(blocks: RowSource, domain: Domain) -> None:
    if blocks.n_features == 0:
        raise SourceError("The source has no columns.")
    domain.resolve(blocks.columns, blocks.n_features)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _names_files(source: Any) -> bool:
    return _is_path(source) or (isinstance(source, list | tuple) and bool(source) and all(map(_is_path, source)))


def _column_names(frame: Any) -> list[str]:
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatchReader):
        raise SourceError("A RecordBatchReader can be read only once. Give the table or data set that it comes from.")
    if hasattr(frame, "columns") and not callable(frame.columns) and not isinstance(frame, pa.Table | pa.RecordBatch):
        names = call_sanitized(lambda: list(frame.columns), "opened")  # pandas, polars: no value is touched
        if hasattr(frame, "iloc") or all(isinstance(name, str) for name in names):
            return call_sanitized(lambda: [*map(str, names)], "opened")
        # Elsewhere they may be the columns themselves, which would be quoted as their names.
    schema = call_sanitized(lambda: pa.RecordBatchReader.from_stream(frame).schema, "opened")
    return [str(name) for name in schema.names]


def _open_frame(frame: Any, domain: Domain, labels: Labels | None, hasher: Hasher | None) -> RowSource:
    """A data frame: only wanted columns of it, checked by name and by type before a value is converted."""
    names = _column_names(frame)
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise SourceError(f"Column {twice[0]!r} appears more than once in the source: rename or select columns.")
    selection = Selection(names, domain, labels, hasher)
    selection.check_names(names)
    if hasattr(frame, "iloc"):
        blocks = _open_pandas(frame, names, selection)
    else:
        blocks = _Frame(_select_wanted(frame, names, selection), selection)
    _match(blocks, domain)
    return blocks


def _select_wanted(frame: Any, names: list[str], selection: Selection) -> Any:
    """Only wanted columns, where the conversion to Arrow would look at values of the others."""
    person = None if selection.hasher is None else selection.beside
    if type(frame).__module__.startswith("polars."):
        schema = call_sanitized(lambda: frame.schema, "opened")
        others: dict[str, type] = dict.fromkeys(selection.features, float) | ({} if person is None else {person: str})
        others = {name: kind for name, kind in others.items() if str(schema[name]) in _LONG_INTEGERS}
        return call_sanitized(lambda: frame[selection.wanted].cast(others), "opened")
    if hasattr(frame, "project"):  # a relation of DuckDB: what is not wanted is not even read
        kinds = call_sanitized(lambda: dict(zip(names, map(str, frame.types), strict=True)), "opened")
        wanted = ", ".join(_expression(name, kinds[name], name == person) for name in selection.wanted)
        return call_sanitized(lambda: frame.project(wanted), "opened")
    return frame


def _expression(name: str, kind: str, is_person: bool) -> str:
    """A column of a relation; DuckDB would hand over long integers as decimals, some of them with another sign."""
    quoted = '"' + name.replace('"', '""') + '"'
    other = "varchar" if is_person else "double"
    return f"cast({quoted} as {other}) as {quoted}" if kind in _LONG_INTEGERS else quoted


def _open_pandas(frame: Any, names: list[str], selection: Selection) -> RowSource:
    """A frame of pandas, which converts as a whole: types are found without values, labels are looked up one by one."""
    import pyarrow as pa

    wanted, places = selection.wanted, [names.index(name) for name in selection.wanted]
    typed = selection.features_alone() if selection.hasher is not None else selection  # ids are looked at one by one
    empty = call_sanitized(lambda: [frame.iloc[:0, place] for place in places], "opened")
    known = zip(typed.wanted, empty, strict=False)
    objects = [name for name, column in known if name in typed.levels and _holds_objects(column)]
    known = zip(typed.wanted, empty, strict=False)
    types = [(name, pa.string() if name in objects else _arrow_type(name, column)) for name, column in known]
    typed.check_types(call_sanitized(lambda: pa.schema(types), "opened"))  # a name may be no text that Arrow knows
    frame = call_sanitized(lambda: frame.iloc[:, places].set_axis(wanted, axis=1).reset_index(drop=True), "opened")
    if objects:
        found = {name: _places_of_objects(frame[name], typed.levels[name]) for name in objects}
        frame, selection = frame.assign(**found), selection.with_places(objects)
    if selection.beside is None:
        return _Frame(frame, selection)
    *features, last = wanted
    alone = _Frame(frame[features], selection.features_alone())
    if selection.hasher is not None:
        return _Beside(alone, selection.hasher.keys_of(frame[last]), _UNEQUAL)
    assert selection.labels is not None
    return _with_labels(alone, codes_of(frame[last], selection.labels.classes))


def _holds_objects(empty: Any) -> bool:
    """Whether a column of pandas, or its categories, are objects, of which Arrow would infer a type from the values.

    Text may be kept as objects too, and Arrow refuses all of it if one holds half a character.
    """
    categories = getattr(empty.dtype, "categories", None)
    dtype = (empty if categories is None else categories).dtype
    return str(dtype) == "object" or getattr(dtype, "storage", None) == "python"


def _places_of_objects(column: Any, levels: tuple[str, ...]) -> "NDArray[np.float64]":
    """Where objects stand among ``levels``, each by itself; NaN for whatever is none of them."""
    codes = codes_of(column, levels)
    return np.where(codes < 0, np.nan, codes)


def _arrow_type(name: str, empty: Any) -> Any:
    """The type that a column of pandas has in Arrow, found on an empty one: no value has a say."""
    import pyarrow as pa

    categories = getattr(empty.dtype, "categories", None)
    if categories is not None:
        empty = categories[:0].to_series()
    dtype = empty.dtype
    shown = str(dtype) if isinstance(dtype, np.dtype) else type(dtype).__name__
    # Of objects Arrow would infer a type from the values, and complain about one of them by name; it takes an empty
    # column of swapped bytes, and no other.
    if shown != "object" and getattr(dtype, "isnative", True):
        with suppress(Exception):
            return pa.Array.from_pandas(empty).type
    raise SourceError(
        f"Column {name!r} has dtype {shown}, which does not declare a readable type. If it is a category, declare its "
        'levels, e.g. gv.Category(["F", "M"]). Otherwise convert it to numbers (or labels to str) yourself.'
    )


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
