"""Rows that an engine holds: the same exact sums, made where the rows are.

Each pass of a release runs once over all partitions. A partition returns integers, about p² of them; nothing else
leaves its machine. The noise is drawn by the process that asked, from the operating system's entropy there.
"""

from typing import TYPE_CHECKING, Any

from graphveil.engines.sql import SqlSource
from graphveil.exceptions import SourceError
from graphveil.spec.augmentation import Augment, Labels
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping
from graphveil.spec.options import ReleaseOptions

if TYPE_CHECKING:
    from graphveil.rows.partitions import RemoteRows
    from graphveil.rows.sources import RowSource
    from graphveil.rows.streaming import StreamedMoments

__all__ = ["open_engine", "open_rows"]


def open_rows(
    source: Any, options: ReleaseOptions, person: Any, weight: Any
) -> "tuple[RowSource | StreamedMoments, Domain]":
    """Rows, wherever they are, with their schema checked, and the domain that has their columns."""
    import numpy as np

    from graphveil.rows.sources import open_source
    from graphveil.rows.streaming import StreamedMoments

    domain, augment = options.domain, options.augment
    if isinstance(source, StreamedMoments):
        source.check_asked(domain, augment, adaptive=options.adaptive)
        return source, source.domain
    if options.by is not None and domain.person is not None and not _is_engine(source):
        opened = _open_with_levels(source, options.by, domain, person)
        return opened, domain.resolve(opened.columns and opened.columns[:-1], opened.n_features - 1)
    beside = options.beside
    if options.by is not None and isinstance(source, tuple) and isinstance(source[0], np.ndarray):
        beside = Labels(options.by.levels)  # an array has no column of levels: they come beside it
    parts = open_engine(source, domain, beside)
    if parts is not None and person is not None:
        raise SourceError('Ids of people must be a column of the rows that an engine holds: Domain(person="...").')
    if parts is not None and weight is not None:
        raise SourceError("Weights must be a column of the rows that an engine holds, not an array beside them.")
    opened = parts or open_source(source, domain, beside, person, weight)
    return opened, domain.resolve(opened.columns, opened.n_features)


def _open_with_levels(source: Any, by: Grouping, domain: Domain, person: Any) -> "RowSource":
    """Rows with whose they are beside them, and their level as their last column."""
    import numpy as np

    from graphveil.rows.labels import codes_of
    from graphveil.rows.sources import add_levels, open_source

    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], np.ndarray):
        codes = codes_of(source[1], Labels(by.levels))
        return add_levels(open_source(source[0], domain, None, person), np.append(by.marks, np.nan)[codes])
    return open_source(source, by.as_column_of(domain), None, person)


def open_engine(source: Any, domain: Domain, augment: Augment) -> "RemoteRows | None":
    """Check the schema of a Dask, Spark or SQL source and make it summable; None for any other source."""
    labels = augment if isinstance(augment, Labels) else None
    if not _is_engine(source):
        return None
    if labels is not None and labels.column is None:
        raise SourceError("Labels of rows that an engine holds must be a column of theirs: gv.Labels(..., column=...).")
    if isinstance(source, SqlSource):
        if domain.weight is not None:
            raise SourceError(
                "gv.sql has no weights yet: Domain(weight=...) must be None. Write the rows to Parquet files, and "
                "release those."
            )
        return source.open(domain, labels)
    if _package(source) == "dask":
        from graphveil.engines.dask import DaskPartitions

        return DaskPartitions(source, domain, labels)
    from graphveil.engines.spark import SparkPartitions

    return SparkPartitions(source, domain, labels)


def _is_engine(source: Any) -> bool:
    partitioned = hasattr(source, "to_delayed") or hasattr(source, "mapInArrow")
    return isinstance(source, SqlSource) or (_package(source) in ("dask", "pyspark") and partitioned)


def _package(source: Any) -> str:
    return type(source).__module__.partition(".")[0]
