"""Records from a file, until the gate reads files itself. What is here may be replaced by passing the path on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.cli.speaking import Refusal, existing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_types", "records"]

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


def records(path: Path, columns: tuple[str, ...]) -> Any:
    """The columns that are asked for, as a table of numbers."""
    known = column_types(path)
    for name in columns:
        if name not in known:
            raise Refusal(f"{path} has no column {name!r}. Its columns are: {_listed(list(known))}.")
        if not known[name]:
            raise Refusal(f"Column {name!r} of {path} does not hold numbers. Leave it out of the bounds, or recode it.")
    return _csv(path, columns) if _ending(path) == ".csv" else _binary(path, list(columns))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


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


def _binary(path: Path, columns: list[str]) -> Any:
    import pyarrow.feather
    import pyarrow.parquet

    read = pyarrow.parquet.read_table if _ending(path) == ".parquet" else pyarrow.feather.read_table
    return read(path, columns=columns)


def _csv(path: Path, columns: tuple[str, ...]) -> "dict[str, Any] | Any":
    """Every field as text, and then as a number or missing: no type is guessed from a value, and none is refused."""
    import csv

    import numpy as np
    import pyarrow as pa

    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = csv.reader(file)
        places = {name: place for place, name in enumerate(next(lines))}
        kept = [[_number(line, places[name]) for name in columns] for line in lines if line]
    values = np.array(kept, dtype=np.float64).reshape(-1, len(columns))
    return pa.table({name: values[:, k] for k, name in enumerate(columns)})


def _number(line: list[str], place: int) -> float:
    try:
        return float(line[place])
    except (ValueError, IndexError):
        return float("nan")
