"""Columns of Arrow become arrays of numpy: no value can make that fail, and none changes what becomes of another.

Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["floats", "keys"]


def floats(column: Any) -> "NDArray[np.float64]":
    """A float64 array; nulls become NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if t.is_dictionary(column.type):
        return np.append(floats(column.dictionary), np.nan)[keys(column)]
    if t.is_null(column.type):
        return np.full(len(column), np.nan)
    column = pc.cast(column, pa.float64(), safe=False)
    if column.null_count:
        column = pc.fill_null(column, float("nan"))
    return _as_array(column)


def keys(column: Any) -> "NDArray[np.int64]":
    """Where the values of a column stand in its dictionary; -1 for nulls, and for a key that stands for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _as_array(pc.fill_null(pc.cast(column.indices, pa.int64(), safe=False), -1))
    return np.where((found >= 0) & (found < len(column.dictionary)), found, -1)


def _as_array(column: Any) -> "NDArray[Any]":
    """Not to_numpy(): it imports pandas where pandas is installed, which takes seconds."""
    return np.asarray(np.from_dlpack(column))
