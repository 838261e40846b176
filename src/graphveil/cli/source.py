"""The columns of a file, by its schema alone: for a template of bounds. The gate reads the rows."""

from pathlib import Path
from typing import TYPE_CHECKING

from graphveil.cli.speaking import Refusal, existing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_types"]

_ENDINGS = ".parquet, .csv, .arrow or .feather"


def column_types(path: Path) -> "dict[str, bool]":
    """Names of the columns, and whether each holds numbers; by the schema alone (a CSV file has none: all may)."""
    import pyarrow as pa

    if _ending(path) == ".csv":
        with existing(path).open(encoding="utf-8-sig", newline="") as file:
            import csv

            return dict.fromkeys(next(csv.reader(file), []), True)
    number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return {field.name: any(is_kind(field.type) for is_kind in number) for field in _schema(path)}


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in (".parquet", ".csv", ".arrow", ".feather"):
        raise Refusal(f"{path} has an ending that is not known; records are read from {_ENDINGS}.")
    return ending


def _schema(path: Path) -> "pa.Schema":
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    try:
        if _ending(path) == ".parquet":
            return pyarrow.parquet.read_schema(existing(path))
        with pa.memory_map(str(existing(path))) as file:
            return pa.ipc.open_file(file).schema
    except pa.ArrowInvalid:
        raise Refusal(f"{path} cannot be read as {_ending(path)[1:]}.") from None
