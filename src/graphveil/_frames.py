"""Rows that somebody brings to a fitted model: columns by name, numbers, and errors that quote no cell."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import InvalidParameter, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pick_columns", "to_numbers"]


def pick_columns(X: Any, wanted: Sequence[str], called: str = "X") -> Any:
    """Columns of a data frame, found by name as a release finds them; what has no names is returned as it is."""
    columns = getattr(X, "column_names", None)  # pyarrow
    columns = getattr(X, "columns", None) if columns is None else columns
    if columns is None or callable(columns):
        return X
    names = [str(name) for name in columns]
    for name in wanted:
        if names.count(name) != 1:
            problem = "no column" if name not in names else "more than one column"
            raise InvalidParameter(
                f"{called} has {problem} {shorten(repr(name))}. Columns of a data frame are found by name, and must be "
                "called as in the release (a logarithm or a level is a column there). Or give an array, in that order."
            )
    places = [names.index(name) for name in wanted]
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    # Not `select` in polars: it takes names such as "*" for patterns.
    return X.select(places) if hasattr(X, "column_names") else X[[columns[place] for place in places]]


def to_numbers(X: Any, called: str = "X") -> "NDArray[np.float64]":
    """``X`` as floats. What numpy says of a value that is none would quote it, and is not repeated."""
    try:
        return np.asarray(X, dtype=np.float64)
    except Exception as error:  # raised below: outside of this block, so without its context
        kind = type(error).__name__
    raise InvalidParameter(
        f"{called} must contain only numbers, in rows of equal length ({kind}). Its values are not repeated here."
    )
