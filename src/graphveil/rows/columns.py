"""Columns of Arrow become arrays of numpy: no value can make that fail, and none affects another.

Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["floats", "keys", "places_of_levels"]


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


def places_of_levels(column: Any, levels: tuple[str, ...]) -> "NDArray[np.float64]":
    """Where the text of a column stands among ``levels``; NaN for anything else. It is compared as bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if t.is_dictionary(column.type):
        return np.append(places_of_levels(column.dictionary, levels), np.nan)[keys(column)]
    if t.is_null(column.type):
        return np.full(len(column), np.nan)
    raw = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    plain = column.view(raw[column.type])
    plain.validate(full=True)  # of a damaged file, ends could lie in others' memory
    known = pa.array([level.encode(errors="surrogatepass") for level in levels], pa.large_binary())
    return floats(pc.index_in(plain.cast(pa.large_binary()), known))


def keys(column: Any) -> "NDArray[np.int64]":
    """Where the values of a column stand in its dictionary; -1 for nulls, and for a key that stands for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _as_array(pc.fill_null(pc.cast(column.indices, pa.int64(), safe=False), -1))
    return np.where((found >= 0) & (found < len(column.dictionary)), found, -1)


def _as_array(column: Any) -> "NDArray[Any]":
    """Not to_numpy(): it imports pandas where pandas is installed, which takes seconds."""
    return np.asarray(np.from_dlpack(column))
