"""Files as sources: Parquet, CSV and Arrow IPC, larger than memory, on any file system that pyarrow knows.

A pass holds a few batches in memory, however large the files and their row groups are: Parquet is decoded page by page
through buffers of a fixed size, CSV record by record; of Arrow IPC one record batch at a time is held.
"""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from graphveil.exceptions import SourceError
from graphveil.rows.arrow import Selection, batch_rows, describe_type, value_types
from graphveil.rows.csv_text import CsvText
from graphveil.rows.paths import FileVersion, Place, find_files, versions_of
from graphveil.rows.sanitized_errors import call_sanitized, iterate_sanitized
from graphveil.rows.sources import RowSource
from graphveil.rows.statistic import Unreleased
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphveil.rows.sources import Block, DecodeTask

__all__ = ["Files", "column_kinds", "file_versions"]

T = TypeVar("T")

_NEAR, _FAR = 2**16, 2**20  # bytes of a column that are fetched at a time, from a disk or through a network


class Files(RowSource):
    """Files with the same columns, read one after the other in the order of their names.

    Parameters
    ----------
    paths : sequence of str or path
        Files, directories, patterns or URIs.
    domain : Domain
        CSV files need ``columns``: their types are declared, never inferred.
    labels : Labels or None
        With a column.
    """

    def __init__(self, paths: Sequence[Any], domain: Domain, labels: Labels | None) -> None:
        files = _open(paths)
        if any(isinstance(file, _Text) for file in files) and domain.source_columns is None:
            raise SourceError(
                "A CSV file needs Domain(columns=[...]) or bounds by name: without them, a line of numbers could be "
                "mistaken for a header. All of these columns are read as numbers."
            )
        self._files = files
        self._selection = _in_file(files[0], lambda: Selection(files[0].names(), domain, labels))
        self.columns, self.n_features = self._selection.features, len(self._selection.features)
        self.knows_count = all(isinstance(file, _Parquet) for file in files)
        for file in files:
            _in_file(file, partial(file.check, self._selection))

    def iter_tasks(self) -> "Iterator[Block | DecodeTask]":
        for file in self._files:
            yield from file.iter_tasks(self._selection)

    def iter_people(self) -> "Iterator[NDArray[np.uint64]]":
        for file in self._files:
            yield from file.iter_people(self._selection)

    def count(self) -> int:
        return sum(file.count(self._selection) for file in self._files)


def column_kinds(source: str) -> list[tuple[str, str]]:
    """Columns of the first file, and what each can hold: number, boolean, text, other; any, where it does not say."""
    first = _open([source])[0]
    return _in_file(first, first.kinds)


def file_versions(source: str) -> list[FileVersion]:
    """The files of a source as they are now, in the order of their names."""
    places = find_files([source], [*_KINDS])
    return call_sanitized(lambda: versions_of(places), "opened")


class _File(Unreleased):
    """One file."""

    def __init__(self, place: Place) -> None:
        self.place, self.system, self.path = place, place.system, place.path

    @abstractmethod
    def names(self) -> list[str]:
        """Names of its columns."""

    def kinds(self) -> list[tuple[str, str]]:
        """Every column and its kind."""
        return [(name, "any") for name in self.names()]

    @abstractmethod
    def check(self, selection: Selection) -> None:
        """Refuse a file that has not the columns that are wanted."""

    @abstractmethod
    def iter_tasks(self, selection: Selection) -> "Iterator[Block | DecodeTask]":
        """Start a pass."""

    def iter_people(self, selection: Selection) -> "Iterator[NDArray[np.uint64]]":
        """Start a pass over the keys of people."""
        for task in self.iter_tasks(selection):
            for _, keys in task() if callable(task) else [task]:
                assert keys is not None
                yield keys

    @abstractmethod
    def count(self, selection: Selection) -> int:
        """Number of rows."""

    def _describe(self, doing: str) -> str:
        return f"{doing}, file {self.path!r}"


def _in_file(file: _File, check: Callable[[], T]) -> T:
    """Run a check of the schema; if it refuses, let it say in which file."""
    try:
        return check()
    except SourceError as error:
        refusal, kind = str(error), type(error)
    raise kind(refusal if repr(file.path) in refusal else f"{refusal} (file {file.path!r})")


class _Typed(_File):
    """A file that says which types its columns have."""

    @abstractmethod
    def _schema(self) -> Any: ...

    @abstractmethod
    def _batches(self, selection: Selection) -> Any: ...

    def names(self) -> list[str]:
        return call_sanitized(lambda: [str(name) for name in self._schema().names], self._describe("opened"))

    def kinds(self) -> list[tuple[str, str]]:
        schema = call_sanitized(self._schema, self._describe("opened"))
        return [(name, describe_type(kind)) for name, kind in value_types(schema).items()]

    def check(self, selection: Selection) -> None:
        schema = call_sanitized(self._schema, self._describe("opened"))
        selection.check_names(schema.names)
        selection.check_types(schema)

    def iter_tasks(self, selection: Selection) -> "Iterator[Block | DecodeTask]":
        _in_file(self, partial(self.check, selection))  # it could have been replaced since
        for batch in iterate_sanitized(self._batches(selection), self.path):
            yield partial(selection.blocks, batch)

    def iter_people(self, selection: Selection) -> "Iterator[NDArray[np.uint64]]":
        for batch in iterate_sanitized(self._batches(selection.person_alone()), self.path):
            yield selection.keys(batch)


class _Parquet(_Typed):
    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # Without pre_buffer=False the bytes of the whole file stay in memory, without a buffer those of a row group.
        size = _NEAR if self.place.is_near else _FAR
        return ParquetFile(self.system.open_input_file(self.path), pre_buffer=False, buffer_size=size)

    def _schema(self) -> Any:
        with self._open() as file:
            return file.schema_arrow

    def _batches(self, selection: Selection) -> Any:
        with self._open() as file:
            yield from file.iter_batches(batch_size=batch_rows(len(selection.wanted)), columns=selection.wanted)

    def count(self, selection: Selection) -> int:
        return int(call_sanitized(self._n_rows, self._describe("opened")))

    def _n_rows(self) -> int:
        with self._open() as file:
            return int(file.metadata.num_rows)


class _Ipc(_Typed):
    """An Arrow file, or a stream that was written to one."""

    def _open(self, fields: list[int] | None = None) -> Any:
        from pyarrow import ipc

        file = self.system.open_input_file(self.path)
        whole = file.read(6) == b"ARROW1"
        file.seek(0)
        return (ipc.open_file if whole else ipc.open_stream)(file, options=ipc.IpcReadOptions(included_fields=fields))

    def _schema(self) -> Any:
        return self._open().schema

    def _batches(self, selection: Selection) -> Any:
        schema, rows = self._schema(), batch_rows(len(selection.wanted))
        reader = self._open(sorted(schema.get_field_index(name) for name in selection.wanted))
        numbered = hasattr(reader, "get_batch")
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if numbered else reader:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def count(self, selection: Selection) -> int:
        batches = iterate_sanitized(self._batches(selection), self.path)
        return sum(batch.num_rows for batch in batches)


class _Text(_File):
    """Lines of comma-separated values below a line of names."""

    def _text(self) -> CsvText:
        return CsvText(lambda: self.system.open_input_stream(self.path, compression="detect"), self.path)

    def names(self) -> list[str]:
        return self._text().names()

    def check(self, selection: Selection) -> None:
        selection.check_first_line(self.names())

    def iter_tasks(self, selection: Selection) -> "Iterator[Block | DecodeTask]":
        _in_file(self, partial(self.check, selection))
        yield from self._text().iter_tasks(selection)

    def count(self, selection: Selection) -> int:
        return self._text().count()


_KINDS: dict[str, type[_File]] = {
    ".parquet": _Parquet,
    ".pq": _Parquet,
    ".csv": _Text,
    ".csv.gz": _Text,
    ".arrow": _Ipc,
    ".ipc": _Ipc,
    ".feather": _Ipc,
}


def _open(paths: Sequence[Any]) -> list[_File]:
    places = find_files(call_sanitized(lambda: [*map(os.fsdecode, paths)], "opened"), [*_KINDS])
    return [kind(place) for place in places for ending, kind in _KINDS.items() if place.path.lower().endswith(ending)]
