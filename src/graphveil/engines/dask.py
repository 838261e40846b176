"""Dask arrays and data frames: one task per partition, and a tree of sums.

With a person column, ids become keys where they are, and a shuffle by key brings all rows of a person into one
partition. Keys travel in it, and nowhere else.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphveil._threads import one_blas_thread
from graphveil.exceptions import SourceError
from graphveil.rows.group_rows import number_groups
from graphveil.rows.ids import Hasher
from graphveil.rows.parallel import as_floats
from graphveil.rows.partitions import (
    KeyedRows,
    Partitions,
    PartitionSum,
    PartitionTask,
    add_sums,
    installed_version,
)
from graphveil.rows.sanitized_errors import call_sanitized, sanitized_message
from graphveil.rows.sources import open_batch
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping

__all__ = ["DaskPartitions"]

_BRANCHES = 8  # outcomes that are added at a time: so many p × p sums are in a worker's memory
_SUMMING = "summed by Dask, whose own log may say more"


class DaskPartitions(Partitions):
    """The partitions of a Dask collection, computed by its client, or by threads where there is none.

    Parameters
    ----------
    collection : dask array or data frame
        Read in every pass: ``collection.persist()`` keeps it in the memory of the cluster where it fits.
    domain : Domain
    labels : Labels or None
        With a column.
    by : Grouping or None
        The column of levels that makes groups.
    """

    def __init__(self, collection: Any, domain: Domain, labels: Labels | None, by: Grouping | None = None) -> None:
        # An empty piece of the same type has the schema, and is checked like any other batch.
        reading = domain if by is None else by.as_column_of(domain)
        opened = open_batch(call_sanitized(lambda: _empty(collection), "opened"), reading, labels)
        if opened is None:
            raise SourceError(f"The source is a dask {type(collection).__name__}: give a 2-D array or a data frame.")
        self.labels, self.reading = labels, reading.resolve(opened.columns, opened.n_features)
        self.match(opened, domain, by)
        beside = domain.person if labels is None else labels.column
        wanted = None if opened.columns is None else [*opened.columns, *([] if beside is None else [beside])]
        self._collection = self._counted = call_sanitized(lambda: _select_columns(collection, wanted), "opened")
        if domain.person is not None:
            self._keying = _Keying(self.reading, self.points, installed_version())
            self._collection = call_sanitized(self._bring_together, "opened")
        self._n_people: int | None = None  # once counted

    def run(self, work: PartitionTask) -> tuple[PartitionSum, int]:
        """One graph: for every partition a task that sums it and one that counts it, and a tree that adds the sums."""
        from dask.delayed import delayed

        counted = self._parts(self._counted)
        parts = counted if self._collection is self._counted else self._parts(self._collection)

        def total() -> tuple[PartitionSum, int]:
            shared = delayed(work)  # one node of the graph: every worker fetches it once
            level = [delayed(_sum_part, pure=False)(shared, number, part) for number, part in enumerate(parts)]
            while len(level) > 1:
                groups = [level[start : start + _BRANCHES] for start in range(0, len(level), _BRANCHES)]
                level = [delayed(add_sums, pure=False)(group) for group in groups]
            with one_blas_thread():  # without a cluster, the threads are Dask's
                outcome, n_rows = delayed(tuple)([level[0], _count_rows(counted)]).compute()
            return outcome, n_rows

        return call_sanitized(total, _SUMMING)

    def count(self) -> int:
        """Number of rows: the lengths of all partitions."""
        parts = self._parts(self._counted)
        return int(call_sanitized(lambda: _count_rows(parts).compute(), _SUMMING))

    def count_people(self) -> int:
        """Number of different keys, in each group, counted by Dask itself; ids that cannot be read are refused here."""
        from dask.delayed import delayed

        if self._n_people is None:
            keying = delayed(self._keying)
            refusals = [delayed(_refusal)(keying, part) for part in self._parts(self._counted)]
            refused = [text for text in call_sanitized(lambda: delayed(list)(refusals).compute(), _SUMMING) if text]
            if refused:
                raise SourceError(refused[0])
            keys = self._keyed()[self._keying.key_names]
            if self.marks:
                keys = self._keyed().map_partitions(_number_groups, self._keying.key_names, self.place, self.marks)
            different = keys.drop_duplicates(split_out=keys.npartitions, shuffle_method="tasks")
            self._n_people = int(call_sanitized(lambda: different.map_partitions(len).sum().compute(), _SUMMING))
        return self._n_people

    def _keyed(self) -> Any:
        return self._counted.map_partitions(self._keying, meta=self._keying.nothing())

    def _bring_together(self) -> Any:
        """All rows of a person in one partition; by tasks, which write no file of their own."""
        return self._keyed().shuffle(on=self._keying.key_names, shuffle_method="tasks")

    @staticmethod
    def _parts(collection: Any) -> list[Any]:
        parts = call_sanitized(collection.to_delayed, "opened")
        parts = list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)
        if len(parts) != collection.npartitions:
            raise SourceError("Dask has lost a partition; nothing from this pass is used.")
        return parts


@dataclass(frozen=True, repr=False)
class _Keying:
    """Makes rows of a partition floats, and ids keys, so that Dask shuffles numbers alone."""

    domain: Domain
    points: tuple[int, int]
    version: str

    @property
    def key_names(self) -> list[str]:
        return ["key 0", "key 1"]

    def nothing(self) -> Any:
        """A frame without rows."""
        names = self.domain.raw_columns
        assert names is not None  # a person column has a name, and so have the others
        return self._frame(np.empty((0, len(names))), np.empty((0, 2), np.uint64))

    def __call__(self, part: Any) -> Any:
        """Rows and keys. Never raises: what cannot be read has no rows, which is noticed when they are counted."""
        try:
            return self.read(part)
        except Exception:
            return self.nothing()

    def read(self, part: Any) -> Any:
        """Rows and keys, or an error that says why not."""
        import pandas as pd

        if self.version != installed_version():
            raise SourceError("A worker of the engine has another version of graphveil than the calling process.")
        opened = open_batch(part, self.domain, None, Hasher(self.points))
        if opened is None:
            raise SourceError(f"A partition is a {type(part).__name__}; it must be a data frame.")
        frames = [self._frame(as_floats(rows), keys) for rows, keys in opened.read()]
        return pd.concat(frames, ignore_index=True) if frames else self.nothing()

    def _frame(self, rows: Any, keys: Any) -> Any:
        import pandas as pd

        names = [str(number) for number in range(rows.shape[1])]
        return pd.concat([pd.DataFrame(rows, columns=names), pd.DataFrame(keys, columns=self.key_names)], axis=1)


def _number_groups(part: Any, key_names: list[str], place: int, marks: tuple[float, ...]) -> Any:
    """Keys and groups of the rows that are in some group. Never raises: these are numbers by now."""
    codes = number_groups(part[str(place)].to_numpy(), marks)
    return part[key_names].assign(group=codes)[codes >= 0]


def _refusal(keying: _Keying, part: Any) -> str | None:
    """Why a partition cannot be read, without quoting its content; None if it can."""
    try:
        keying.read(part)
    except SourceError as error:
        return str(error)
    except Exception as error:
        return sanitized_message(error, "read")
    return None


def _count_rows(parts: list[Any]) -> Any:
    from dask.delayed import delayed

    return delayed(sum)([delayed(_n_rows)(part) for part in parts])


def _n_rows(part: Any) -> int:
    """Length of an array or a frame, 0 of anything else. Never raises: Dask logs the arguments of what fails."""
    shape = getattr(part, "shape", None)
    return shape[0] if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else 0


def _sum_part(work: PartitionTask, number: int, part: Any) -> PartitionSum:
    if work.reading.person is not None and hasattr(part, "to_numpy"):
        # A copy: what pandas lends is read-only, a single row in C order already, and compiled code wants its own keys.
        part = KeyedRows(part.iloc[:, :-2].to_numpy(), np.array(part.iloc[:, -2:], order="C"))
    return work(number, [part])


def _empty(collection: Any) -> Any:
    """No rows of the same schema: of an array's type, or a frame's."""
    if hasattr(collection, "dtypes"):
        return collection._meta
    return np.empty((0, *collection.shape[1:]), dtype=collection.dtype)


def _select_columns(collection: Any, wanted: list[str] | None) -> Any:
    """Only the columns that are wanted, so that others are not read; whole rows of an array."""
    if hasattr(collection, "dtypes"):
        names = [str(name) for name in collection.columns]
        return collection[[collection.columns[names.index(name)] for name in wanted or names]]
    return collection.rechunk({1: -1})
