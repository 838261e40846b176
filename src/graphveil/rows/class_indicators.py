"""Labels as additional columns, so that one release of all columns contains class shares and class means."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.rows.parallel import as_floats
from graphveil.rows.sources import RowSource, open_source
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from graphveil.rows.sources import Block

__all__ = ["WithIndicators", "append_class_indicators"]


def append_class_indicators(source: Any, domain: Domain, labels: Labels) -> tuple[RowSource, Domain]:
    """Rows with an indicator column for each class but the last, and the domain of all columns together.

    What comes back is a source for :func:`graphveil.release`. The domain must have bounds.
    """
    blocks = open_source(source, domain, labels)
    domain = domain.resolve(blocks.columns, blocks.n_features)
    wide = WithIndicators(blocks, labels.classes)
    return wide, domain.extend(dict.fromkeys(wide.names, (0.0, 1.0)))


class WithIndicators(RowSource):
    """Rows and, for every class but the last, a column that is 1 for its rows and 0 for others.

    An unknown or missing label puts an equal part into every class: 1/(number of classes) in each column. Each new
    row is a function of its own record alone.
    """

    def __init__(self, labelled: RowSource, classes: tuple[str | int | bool, ...]) -> None:
        self._labelled, self._count = labelled, len(classes)
        self.names = [f"class {name}" for name in classes[:-1]]
        self.columns = None if labelled.columns is None else (*labelled.columns, *self.names)
        self.n_features = labelled.n_features + len(self.names)

    def read(self) -> "Iterator[Block]":
        for rows, codes in self._labelled.read():
            assert codes is not None
            wide = np.empty((len(rows), self.n_features))
            wide[:, : rows.shape[1]] = as_floats(rows)
            wide[:, rows.shape[1] :] = codes[:, None] == np.arange(self._count - 1)
            wide[codes < 0, rows.shape[1] :] = 1.0 / self._count
            yield wide, None
