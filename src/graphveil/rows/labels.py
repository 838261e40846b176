"""Class labels become class numbers, each from its own record alone: -1 for anything that is not a declared class.

Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from graphveil.exceptions import SourceError
from graphveil.rows.columns import keys
from graphveil.rows.sanitized_errors import call_sanitized
from graphveil.spec.kinds import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TIMES_AND_NESTED", "codes_and_categories", "codes_of", "codes_of_column", "codes_of_text"]

Classes = tuple[Level, ...]  # declared ones
# How types of pandas and polars begin of which not all values can be objects of Python.
TIMES_AND_NESTED = ("date", "time", "duration", "list", "array", "struct")


def codes_of(labels: Any, classes: Classes) -> "NDArray[np.intp]":
    """Class numbers of labels that came beside the rows: a list, a tuple, a 1-D array, or a series."""
    import pyarrow as pa

    if isinstance(labels, pa.Array | pa.ChunkedArray):
        return codes_of_column(labels, classes)
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise SourceError(f"Labels must have 1 dimension, these have {labels.ndim}.")
    module = type(labels).__module__.partition(".")[0]
    if not isinstance(labels, list | tuple | np.ndarray) and module not in ("pandas", "polars"):
        kind = f"{type(labels).__module__}.{type(labels).__qualname__}".removeprefix("builtins.")
        raise SourceError(f"Labels must be a list, a 1-D array or a series, these are a {kind}.")
    if (coded := codes_and_categories(labels)) is not None:
        codes, categories = coded
        return np.take(np.append(codes_of(categories, classes), -1), codes)
    dtype = getattr(labels, "dtype", None)
    if hasattr(dtype, "pyarrow_dtype"):
        return codes_of_column(call_sanitized(labels.array.__arrow_array__, "read"), classes)
    if not isinstance(labels, np.ndarray) and str(dtype).lower().startswith(TIMES_AND_NESTED):
        return np.full(len(labels), -1)
    return _numbers(call_sanitized(lambda: _plain(labels), "read"), classes)


def codes_and_categories(column: Any) -> "tuple[NDArray[np.int64], Any] | None":
    """Of a series of pandas that holds categories: which each value is, -1 for none, and what they are."""
    held = column.cat if hasattr(column, "cat") else column
    if not hasattr(held, "codes") or not hasattr(held, "categories"):
        return None
    return call_sanitized(lambda: (np.asarray(held.codes).astype(np.int64), held.categories), "read")


def codes_of_column(column: Any, classes: Classes) -> "NDArray[np.intp]":
    """Class numbers of an Arrow column. Text is compared as bytes, so that no value can fail to be decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([np.empty(0, dtype=np.intp), *(codes_of_column(part, classes) for part in column.chunks)])
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if t.is_run_end_encoded(column.type):
        column = call_sanitized(lambda: pc.run_end_decode(column), "read")
    if t.is_dictionary(column.type):
        known = codes_of_column(column.dictionary, classes)
        return np.append(known, -1)[call_sanitized(lambda: keys(column), "read")]
    text = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    if column.type in text:
        plain = call_sanitized(lambda: column.view(text[column.type]), "read")
        call_sanitized(lambda: plain.validate(full=True), "read")  # of a damaged file, ends could lie in others' memory
        values = call_sanitized(plain.to_pylist, "read")
        number = {_encoded(name): code for code, name in enumerate(classes) if isinstance(name, str)}
        return np.fromiter((number.get(value, -1) for value in values), dtype=np.intp, count=len(values))
    if not (t.is_integer(column.type) or t.is_floating(column.type) or t.is_boolean(column.type)):
        return np.full(len(column), -1)  # no class, and Python has not all dates that Arrow has
    return _numbers(call_sanitized(column.to_pylist, "read"), classes)


def codes_of_text(column: Any, classes: Classes) -> "NDArray[np.intp]":
    """Class numbers of an Arrow column of bytes, all of which are text: a class is compared as it is written."""
    number = {_encoded(str(name)): code for code, name in reversed([*enumerate(classes)])}  # the first counts
    values = call_sanitized(column.to_pylist, "read")
    return np.fromiter((number.get(value, -1) for value in values), dtype=np.intp, count=len(values))


def _encoded(name: str) -> bytes:
    return name.encode(errors="surrogatepass")  # half a character of UTF-16 is a name in Python


def _plain(labels: Any) -> list[Any]:
    """Python objects, one by one: a conversion of the whole could change all labels when one of them is missing."""
    if hasattr(labels, "to_list") and type(labels).__module__.startswith("polars"):
        return list(labels.to_list())
    return list(labels)


def _numbers(values: list[Any], classes: Classes) -> "NDArray[np.intp]":
    number = {label: code for code, label in enumerate(classes)}
    plain = (value.item() if isinstance(value, np.generic) else value for value in values)
    # Exact built-in types only: their hash and equality are known not to fail.
    codes = (number.get(value, -1) if type(value) in (str, int, bool, float) else -1 for value in plain)
    return np.fromiter(codes, dtype=np.intp, count=len(values))
