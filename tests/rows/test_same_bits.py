"""Every source against every other: all of them reproduce the same files, round by round."""

import dask.array
import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import graphveil as gv
from helpers.reference_releases import (
    ASKED,
    CALLS,
    EVERY_KIND,
    EXPECTED,
    FRAME,
    NAMES,
    ROWS,
    WEIGHED,
    WEIGHTS,
    assert_same_bits,
)

WITHOUT_LABELS = [name for name in CALLS if name != "labels"]


def test_every_kind_of_question_is_asked():
    assert ASKED == EVERY_KIND


def parquet(folder):
    FRAME.to_parquet(folder / "rows.parquet", row_group_size=700)
    return folder / "rows.parquet"


def shuffled_files(folder):
    order = np.random.default_rng(0).permutation(len(FRAME))
    for number, part in enumerate(np.array_split(order, 5)):
        FRAME.iloc[part].to_parquet(folder / f"{number}.parquet", row_group_size=101)
    return folder


def csv(folder):
    pyarrow.csv.write_csv(pa.Table.from_pandas(FRAME, preserve_index=False), folder / "rows.csv")
    return folder / "rows.csv"


def arrow(folder):
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    with pa.ipc.new_file(folder / "rows.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=333)
    return folder / "rows.arrow"


FRAMES = {
    "pandas": lambda _: FRAME,
    "pandas, shuffled": lambda _: FRAME.sample(frac=1.0, random_state=0),
    "polars": lambda _: pl.DataFrame(FRAME),
    "pyarrow": lambda _: pa.Table.from_pandas(FRAME).replace_schema_metadata(),
    "batches": lambda _: [FRAME[:1], FRAME[1:1], pl.DataFrame(FRAME[1:1500]), FRAME[1500:]],
    "function": lambda _: lambda: (FRAME[i : i + 211] for i in range(0, 3000, 211)),
    "parquet": parquet,
    "shuffled files": shuffled_files,
    "csv": csv,
    "arrow": arrow,
    "duckdb": lambda folder: duckdb.sql(f"select * from '{parquet(folder)}'"),
    "dask frame": lambda _: dask.dataframe.from_pandas(FRAME, npartitions=5),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_and_files(kind, tmp_path):
    source = FRAMES[kind](tmp_path)
    assert_same_bits(source)
    assert_same_bits(source, ["within", "total, by number", "one round"])
    assert_same_bits(source, ["weighted people"])


ARRAYS = {
    "numpy": lambda: ROWS,
    "fortran": lambda: np.asfortranarray(ROWS[::-1]),
    "chunks": lambda: [ROWS[:999], ROWS[999:]],
    "dask array": lambda: dask.array.from_array(ROWS, chunks=(700, 3)),
    "dask array of unknown length": lambda: dask.array.from_array(ROWS, chunks=(700, 4))[np.ones(3000, dtype=bool)],
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(kind):
    assert_same_bits(ARRAYS[kind](), WITHOUT_LABELS)


BESIDE = {
    "numpy": lambda: WEIGHTS,
    "pandas": lambda: FRAME["w"],
    "polars": lambda: pl.Series(WEIGHTS),
    "pyarrow": lambda: pa.array(WEIGHTS),
    "masked": lambda: np.ma.MaskedArray(np.where(np.isnan(WEIGHTS), 2.0, WEIGHTS), np.isnan(WEIGHTS)),
    "nullable": lambda: pd.Series(WEIGHTS, dtype="Float64"),
}


@pytest.mark.parametrize("kind", [*BESIDE])
def test_weights_beside_an_array(kind):
    assert gv.release(ROWS, weight=BESIDE[kind](), **WEIGHED["weighted rows"]) == EXPECTED["weighted rows"]
    assert (
        gv.release([ROWS[:7], ROWS[7:]], weight=BESIDE[kind](), person=FRAME["person"], **WEIGHED["weighted people"])
        == EXPECTED["weighted people"]
    )


def test_one_row_more_is_another_file():
    """The control: what is compared would notice a single row."""
    more = pd.concat([FRAME, FRAME[:1]])
    less = FRAME.assign(age=np.where(np.arange(3000) == 5, 0.0, FRAME["age"]))
    for name, options in CALLS.items():
        assert gv.release(more, **options) != EXPECTED[name]
        assert gv.release(less, **options) != EXPECTED[name]


def test_passes_are_counted():
    """What a release says about its passes is what a source has seen; counting rows costs no pass of its own."""
    passes = []

    class Counting:
        def __iter__(self):
            passes.append(1)
            return iter([ROWS])

    for name in WITHOUT_LABELS:
        source = Counting()
        passes.clear()
        made = gv.release(source, **CALLS[name])
        opening = 3  # two iterators are compared, and the first batch tells the columns
        assert len(passes) - opening == made.n_passes + (name == "a private norm")
    assert EXPECTED["labels"].n_passes == 1
    assert 7 <= EXPECTED["adaptive"].n_passes <= 9
    assert list(made.columns) == NAMES
