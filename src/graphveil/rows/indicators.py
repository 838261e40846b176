"""Labels as further columns, so that one release of all columns together knows class shares and class means."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from graphveil.rows.accumulate import as_floats
from graphveil.rows.blocks import Blocks

if TYPE_CHECKING:
    from graphveil.rows.blocks import Block

__all__ = ["WithIndicators"]


class WithIndicators(Blocks):
    """Rows and, for every class but the last, a column that is 1 for its rows and 0 for others.

    An unknown or missing label puts an equal part into every class: 1/(number of classes) in each column. Each new
    row is a function of its own record alone.
    """

    def __init__(self, labelled: Blocks, classes: tuple[str | int | bool, ...]) -> None:
        self._labelled, self._count = labelled, len(classes)
        names = [f"class {name}" for name in classes[:-1]]
        self.columns = None if labelled.columns is None else (*labelled.columns, *names)
        self.n_features = labelled.n_features + len(names)

    def read(self) -> "Iterator[Block]":
        for rows, codes in self._labelled.read():
            assert codes is not None
            wide = np.empty((len(rows), self.n_features))
            wide[:, : rows.shape[1]] = as_floats(rows)
            wide[:, rows.shape[1] :] = codes[:, None] == np.arange(self._count - 1)
            wide[codes < 0, rows.shape[1] :] = 1.0 / self._count
            yield wide, None
