"""Dask arrays and data frames: one task a partition, and a tree of sums."""

from typing import Any

from graphveil._threads import one_blas_thread
from graphveil.exceptions import SourceError
from graphveil.rows.partitions import Partitions, PartitionSum, PartitionTask, add_sums
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.rows.sources import open_batch
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

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
    """

    def __init__(self, collection: Any, domain: Domain, labels: Labels | None) -> None:
        # An empty piece of the same type has the schema, and is checked like any other batch.
        opened = open_batch(call_sanitized(lambda: _empty(collection), "opened"), domain, labels)
        if opened is None:
            raise SourceError(f"The source is a dask {type(collection).__name__}: give a 2-D array or a data frame.")
        self.columns, self.n_features = opened.columns, opened.n_features
        self.domain, self.labels = domain.resolve(self.columns, self.n_features), labels
        label = [] if labels is None or labels.column is None else [labels.column]
        wanted = None if self.columns is None else [*self.columns, *label]
        self._collection = call_sanitized(lambda: _select_columns(collection, wanted), "opened")

    def run(self, work: PartitionTask) -> tuple[PartitionSum, int]:
        """One graph: for every partition a task that sums it and one that counts it, and a tree that adds the sums."""
        from dask.delayed import delayed

        parts = self._parts()

        def total() -> tuple[PartitionSum, int]:
            shared = delayed(work)  # one node of the graph: every worker fetches it once
            level = [delayed(_sum_part, pure=False)(shared, number, part) for number, part in enumerate(parts)]
            while len(level) > 1:
                groups = [level[start : start + _BRANCHES] for start in range(0, len(level), _BRANCHES)]
                level = [delayed(add_sums, pure=False)(group) for group in groups]
            with one_blas_thread():  # without a cluster, the threads are Dask's
                outcome, n_rows = delayed(tuple)([level[0], _count_rows(parts)]).compute()
            return outcome, n_rows

        return call_sanitized(total, _SUMMING)

    def count(self) -> int:
        """Number of rows: the lengths of all partitions."""
        parts = self._parts()
        return int(call_sanitized(lambda: _count_rows(parts).compute(), _SUMMING))

    def _parts(self) -> list[Any]:
        parts = call_sanitized(self._collection.to_delayed, "opened")
        parts = list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)
        if len(parts) != self._collection.npartitions:
            raise SourceError("Dask has lost a partition; nothing from this pass is used.")
        return parts


def _count_rows(parts: list[Any]) -> Any:
    from dask.delayed import delayed

    return delayed(sum)([delayed(_n_rows)(part) for part in parts])


def _n_rows(part: Any) -> int:
    """Length of an array or a frame, 0 of anything else. Never raises: Dask logs the arguments of what fails."""
    shape = getattr(part, "shape", None)
    return shape[0] if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else 0


def _sum_part(work: PartitionTask, number: int, part: Any) -> PartitionSum:
    return work(number, [part])


def _empty(collection: Any) -> Any:
    """No rows of the same schema: of an array's type, or a frame's."""
    import numpy as np

    if hasattr(collection, "dtypes"):
        return collection._meta
    return np.empty((0, *collection.shape[1:]), dtype=collection.dtype)


def _select_columns(collection: Any, wanted: list[str] | None) -> Any:
    """Only the columns that are wanted, so that others are not read; whole rows of an array."""
    if hasattr(collection, "dtypes"):
        names = [str(name) for name in collection.columns]
        return collection[[collection.columns[names.index(name)] for name in wanted or names]]
    return collection.rechunk({1: -1})
