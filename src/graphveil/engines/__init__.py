"""Rows held by an engine: the same exact sums, computed where the rows are.

Each pass of a release runs once over all partitions. A partition returns integers, about p² of them; nothing else
leaves its machine. The calling process draws the noise, from its operating system's entropy.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphveil.engines.sql import SqlSource
from graphveil.exceptions import SourceError
from graphveil.rows.sanitized_errors import leave_no_frames
from graphveil.spec.augmentation import Augment, Labels
from graphveil.spec.domain import Domain
from graphveil.spec.grouping import Grouping
from graphveil.spec.options import ReleaseOptions

if TYPE_CHECKING:
    from graphveil.rows.partitions import RemoteRows
    from graphveil.rows.sources import RowSource
    from graphveil.rows.streaming import StreamedMoments

__all__ = ["open_engine", "open_rows"]


@leave_no_frames
def open_rows(
    source: Any, options: ReleaseOptions, person: Any, weight: Any
) -> "tuple[RowSource | StreamedMoments, Domain]":
    """Rows, wherever they are, with their schema checked, and the domain that has their columns."""
    from graphveil.rows.sources import open_source
    from graphveil.rows.streaming import StreamedMoments

    domain, augment = options.domain, options.augment
    if isinstance(source, StreamedMoments):
        source.check_asked(domain, augment, adaptive=options.adaptive)
        return source, source.domain
    if options.by is not None and not _is_engine(source):
        return _open_with_levels(source, options.by, domain, person, weight)
    parts = open_engine(source, domain, augment, options.by)
    if parts is not None and person is not None:
        raise SourceError("The ids of people must be a column of the engine's data frame: Domain(person='...').")
    if parts is not None and weight is not None:
        raise SourceError("Weights must be a column of the engine's data frame, not a separate array.")
    opened = parts or open_source(source, domain, augment, person, weight)
    return opened, domain.resolve(opened.columns, opened.n_features)


def _open_with_levels(
    source: Any, by: Grouping, domain: Domain, person: Any, weight: Any
) -> "tuple[RowSource, Domain]":
    """Rows with their level as a column after those of the domain, and before the weight; and the domain, resolved."""
    import numpy as np

    from graphveil.rows.labels import codes_of
    from graphveil.rows.sources import add_levels, add_weights, name_columns, open_source

    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], np.ndarray):
        if domain.weight is not None and weight is None:
            raise SourceError("An array has no column of weights: give them beside it, as weight=.")
        levels = np.append(by.marks, np.nan)[codes_of(source[1], by.levels)]
        opened = add_levels(open_source(source[0], replace(domain, weight=None), None, person), levels)
        opened = opened if weight is None else add_weights(opened, weight)
        return opened, domain.resolve(None, opened.n_features - 1)
    if domain.source_columns is None:
        domain = _with_columns(domain, by, name_columns(source) or ())
    opened = open_source(source, by.as_column_of(domain), None, person, weight)
    if opened.columns is None:
        raise SourceError("An array has no column of levels: with by, give a pair (rows, levels) as source.")
    return opened, domain


def open_engine(source: Any, domain: Domain, augment: Augment, by: Grouping | None = None) -> "RemoteRows | None":
    """Check the schema of a Dask, Spark or SQL source and make it summable; None for any other source."""
    labels = augment if isinstance(augment, Labels) else None
    if not _is_engine(source):
        return None
    if labels is not None and labels.column is None:
        raise SourceError("Labels must be a column of the engine's data frame: gv.Labels(..., column=...).")
    if isinstance(source, SqlSource):
        if domain.weight is not None:
            raise SourceError(
                "gv.sql does not support weights yet: Domain(weight=...) must be None. Write the rows to Parquet "
                "files and release those."
            )
        return source.open(domain, labels, None if by is None else (by.column, by.levels))
    if by is not None and domain.source_columns is None and hasattr(source, "columns"):
        domain = _with_columns(domain, by, map(str, source.columns))
    if _package(source) == "dask":
        from graphveil.engines.dask import DaskPartitions

        return DaskPartitions(source, domain, labels, by)
    from graphveil.engines.spark import SparkPartitions

    return SparkPartitions(source, domain, labels, by)


def _with_columns(domain: Domain, by: Grouping, names: Iterable[str]) -> Domain:
    """With all columns of a source but those that make groups, tell people apart, or hold weights."""
    other = (by.column, domain.person, domain.weight and domain.weight.column)
    return replace(domain, columns=[name for name in names if name not in other] or None)


def _is_engine(source: Any) -> bool:
    partitioned = hasattr(source, "to_delayed") or hasattr(source, "mapInArrow")
    return isinstance(source, SqlSource) or (_package(source) in ("dask", "pyspark") and partitioned)


def _package(source: Any) -> str:
    return type(source).__module__.partition(".")[0]
