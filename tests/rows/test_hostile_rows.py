"""Rows of every type with hostile values, through every source: each record is the row that it is alone.

The exact sums of a source are those of an array in which every cell was converted by itself, in Python. So no record
has changed how another was read, none was lost, and none came twice.
"""

import math
from decimal import Decimal

import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphveil as gv
from graphveil.engines import open_engine
from helpers.exact_sums import exact_total

FLOATS = [0.0, -0.0, 1.0, -2.5, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1, None]
TEXTS = ["x", "y", "", "x ", "X", "x\0", "\N{BYTE ORDER MARK}x", '"x"', "x,y", "x\n", "1", "nan", "ß" * 40, None]
COLUMNS = {
    "float": (pa.float64(), FLOATS),
    "single": (pa.float32(), [0.0, math.nan, -math.inf, 2.0**-149, 1.5, None]),
    "half": (pa.float16(), [*np.array([0.0, math.nan, 2.0**-24, 65504.0], np.float16), None]),
    "long": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, None]),
    "unsigned": (pa.uint64(), [0, 1, 2**64 - 1, 2**63, None]),
    "byte": (pa.int8(), [0, 127, -128, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "decimal": (pa.decimal128(20, 2), [Decimal("0.00"), Decimal("-1.50"), Decimal("999999999999999999.00"), None]),
    "empty": (pa.null(), [None]),
}
NAMES = [*COLUMNS]
DOMAIN = gv.Domain(columns=NAMES, bounds=(-3.0, 2.0))
LABELS = gv.Labels(["x", "y", "1"], column="label")


def hostile_table(rng, n):
    """A table of n records, and what each of its cells means."""
    cells = {name: [values[i] for i in rng.integers(len(values), size=n)] for name, (_, values) in COLUMNS.items()}
    labels = [TEXTS[i] for i in rng.integers(len(TEXTS), size=n)]
    arrays = {name: pa.array(cells[name], kind, from_pandas=False) for name, (kind, _) in COLUMNS.items()}
    meant = np.array([[math.nan if v is None else float(v) for v in cells[name]] for name in NAMES]).T
    return pa.table({"text": pa.array(labels[::-1], pa.string())} | arrays | {"label": pa.array(labels)}), meant, labels


def ipc(path, table, make=pa.ipc.new_file, compression=None):
    with make(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=5)
    return path


def parquet(path, table, **options):
    pq.write_table(table, path, **options)
    return path


def dictionaries(table):
    wanted = ["float", "long", "decimal", "label"]
    return pa.table({n: c.dictionary_encode() if n in wanted else c for n, c in zip(table.column_names, table.columns)})  # noqa: B905


def in_single(table):
    """Without half precision, which DuckDB has not."""
    place = table.column_names.index("half")
    return table.set_column(place, "half", table["half"].cast(pa.float32()))


def nullable(table):
    """A frame of pandas that knows nulls."""
    return table.to_pandas(types_mapper=pd.ArrowDtype)


SOURCES = {
    "arrow": lambda table, path: table,
    "arrow, in pieces": lambda table, path: pa.concat_tables([table.slice(i, 3) for i in range(0, len(table), 3)]),
    "arrow, dictionaries": lambda table, path: dictionaries(table),
    "batches": lambda table, path: [table.slice(0, 4), table.slice(4)],
    "pandas": lambda table, path: nullable(table),
    "polars": lambda table, path: pl.from_arrow(table),
    "duckdb": lambda table, path: duckdb.from_arrow(in_single(table)),
    "dask": lambda table, path: dask.dataframe.from_pandas(nullable(table), npartitions=3, sort=False),
    "parquet": lambda table, path: parquet(path / "r.parquet", table),
    "parquet, plain, small pages": lambda table, path: parquet(
        path / "r.parquet", table, use_dictionary=False, data_page_size=64, row_group_size=7
    ),
    "parquet, dictionaries": lambda table, path: parquet(path / "r.parquet", dictionaries(table), compression="zstd"),
    "ipc": lambda table, path: ipc(path / "r.arrow", table),
    "ipc, compressed stream": lambda table, path: ipc(path / "r.arrow", table, pa.ipc.new_stream, "lz4"),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("seed", range(4))
def test_every_record_is_the_row_that_it_is_alone(kind, seed, tmp_path):
    rng = np.random.default_rng(seed)
    for _ in range(6):
        table, meant, labels = hostile_table(rng, int(rng.integers(1, 30)))
        source = SOURCES[kind](table, tmp_path)
        for labelled in (None, LABELS):
            opened = open_engine(source, DOMAIN, labelled) or source
            alone = meant if labelled is None else (meant, labels)
            expected = exact_total(alone, DOMAIN, labelled and gv.Labels(LABELS.classes))
            np.testing.assert_array_equal(exact_total(opened, DOMAIN, labelled), expected)
