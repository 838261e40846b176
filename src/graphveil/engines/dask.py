"""Dask arrays and data frames: one task a partition, and a tree of sums."""

from typing import Any

from graphveil.exceptions import SourceError
from graphveil.rows.blocks import open_batch
from graphveil.rows.foreign import call_foreign
from graphveil.rows.partitions import Outcome, Partitions, Work, combined
from graphveil.spec.augment import Labels
from graphveil.spec.domain import Domain

__all__ = ["DaskPartitions"]

_BRANCHES = 8  # outcomes that are added at a time: so many p × p sums are in a worker's memory


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
        opened = open_batch(call_foreign(lambda: _empty(collection), "opened"), domain, labels)
        if opened is None:
            raise SourceError(f"The source is a dask {type(collection).__name__}: give a 2-D array or a data frame.")
        self.columns, self.n_features = opened.columns, opened.n_features
        self.domain, self.labels = domain.matched_to(self.columns, self.n_features), labels
        label = [] if labels is None or labels.column is None else [labels.column]
        wanted = None if self.columns is None else [*self.columns, *label]
        self._collection = call_foreign(lambda: _narrowed(collection, wanted), "opened")

    def run(self, work: Work) -> tuple[Outcome, int]:
        """One graph: a task for every partition, and a tree that adds what they come to."""
        from dask.delayed import delayed
        from threadpoolctl import threadpool_limits

        def total() -> tuple[Outcome, int]:
            parts = self._collection.to_delayed()
            parts = list(parts.ravel()) if hasattr(parts, "ravel") else parts
            shared = delayed(work)  # one node of the graph: every worker fetches it once
            level = [_summed(shared, number, part) for number, part in enumerate(parts)]
            while len(level) > 1:
                groups = [level[start : start + _BRANCHES] for start in range(0, len(level), _BRANCHES)]
                level = [delayed(combined, pure=False)(group) for group in groups]
            with threadpool_limits(limits=1, user_api="blas"):  # without a cluster, the threads are Dask's
                return level[0].compute(), len(parts)

        return call_foreign(total, "summed by Dask, whose own log may say more")


def _summed(shared: Any, number: int, part: Any) -> Any:
    from dask.delayed import delayed

    return delayed(_sum_part, pure=False)(shared, number, part)


def _sum_part(work: Work, number: int, part: Any) -> Outcome:
    return work(number, [part])


def _empty(collection: Any) -> Any:
    """No rows of the same schema: of an array's type, or a frame's."""
    import numpy as np

    if hasattr(collection, "dtypes"):
        return collection._meta
    return np.empty((0, *collection.shape[1:]), dtype=collection.dtype)


def _narrowed(collection: Any, wanted: list[str] | None) -> Any:
    """Only the columns that are wanted, so that others are not read; whole rows of an array."""
    if hasattr(collection, "dtypes"):
        names = [str(name) for name in collection.columns]
        return collection[[collection.columns[names.index(name)] for name in wanted or names]]
    return collection.rechunk({1: -1})
