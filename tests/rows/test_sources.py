"""Sources: the same rows give the same bits whatever they come in, and a wrong schema is named."""

import decimal
import pickle
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import graphveil as gv
from graphveil.exceptions import GuaranteeError, SourceError
from graphveil.rows.labels import codes_of
from graphveil.rows.sources import open_source
from helpers.exact_sums import exact_total

RNG = np.random.default_rng(0)
ROWS = RNG.integers(-3, 4, size=(300, 3)).astype(float)
NAMES = ["a", "b", "c"]
DOMAIN = gv.Domain(columns=NAMES, bounds=(-2.5, 3))
EXPECTED = exact_total(ROWS, DOMAIN)
FRAME = pd.DataFrame(ROWS, columns=NAMES)


class Streams:
    """A re-iterable of the user's."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def arrow(convert=pa.array, kind=pa.table):
    return kind({name: convert(column) for name, column in zip(NAMES, ROWS.T, strict=True)})


def decimals(column):
    return pa.array([decimal.Decimal(int(value)) for value in column], pa.decimal256(40, 3))


SOURCES = {
    "pandas": lambda: FRAME,
    "pandas int": lambda: FRAME.astype("int8"),
    "pandas nullable": lambda: FRAME.astype("Int64"),
    "pandas float32": lambda: FRAME.astype("float32"),
    "pandas category": lambda: FRAME.astype("category"),
    "pandas arrow": lambda: FRAME.astype("float64[pyarrow]"),
    "pandas with another index": lambda: FRAME.set_index(np.arange(300)[::-1]),
    "pandas, other order, more columns": lambda: FRAME.assign(z="t", y=[object()] * 300)[["z", "c", "y", "a", "b"]],
    "polars": lambda: pl.DataFrame(ROWS, schema=NAMES),
    "polars int": lambda: pl.DataFrame(ROWS.astype(int), schema=NAMES),
    "polars, chunked": lambda: pl.concat([pl.DataFrame(part, schema=NAMES) for part in (ROWS[:7], ROWS[7:])]),
    "polars decimal": lambda: pl.DataFrame(ROWS, schema=NAMES).cast(pl.Decimal(10, 2)),
    "arrow table": arrow,
    "arrow batch": lambda: arrow(kind=pa.RecordBatch.from_pydict),
    "arrow dictionary": lambda: arrow(lambda column: pa.array(column).dictionary_encode()),
    "arrow float16": lambda: arrow(lambda column: pa.array(column.astype(np.float16))),
    "arrow decimal256": lambda: arrow(decimals),
    "list of arrays": lambda: [ROWS[:100], ROWS[100:101], ROWS[101:101], ROWS[101:]],
    "tuple of frames": lambda: (FRAME[:50], pl.DataFrame(ROWS[50:], schema=NAMES)),
    "own iterable": lambda: Streams([ROWS[:299], ROWS[299:]]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_bits(kind):
    source = SOURCES[kind]()
    np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)
    np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)  # and again: it can be read twice


def test_a_memory_map_gives_the_same_bits(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    np.testing.assert_array_equal(exact_total(np.load(tmp_path / "rows.npy", mmap_mode="r"), DOMAIN), EXPECTED)


def test_nulls_masks_and_nans_go_to_the_centre():
    holes = ROWS.copy()
    holes[::3, 1] = np.nan
    expected = exact_total(holes, DOMAIN)
    values = [[None if np.isnan(v) else v for v in column] for column in holes.T]
    for source in (
        np.ma.array(ROWS, mask=np.isnan(holes)),
        pd.DataFrame(holes, columns=NAMES),
        pd.DataFrame(holes, columns=NAMES).astype("Float64"),
        pl.DataFrame(dict(zip(NAMES, values, strict=True))),
        pa.table(dict(zip(NAMES, values, strict=True))),
    ):
        np.testing.assert_array_equal(exact_total(source, DOMAIN), expected)
    empty = pa.table({"a": pa.nulls(4), "b": [True, False, None, True], "c": [0, 0, 0, 0]})
    np.testing.assert_array_equal(exact_total(empty, DOMAIN)[0], [0, 0, 0])


def test_without_declared_columns_the_schema_gives_them():
    for source, names in ((FRAME, ("a", "b", "c")), (pd.DataFrame(ROWS), ("0", "1", "2")), (ROWS, None)):
        item = gv.release(
            source, domain=gv.Domain(bounds=(-3, 3)), budget=gv.Budget(1.0, 1e-6), assume_centered=True, adaptive=False
        )
        assert item.columns == names


TEXT = FRAME.assign(b="x").astype({"b": "string"})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (FRAME.drop(columns="b"), "has no column 'b'. It has 2 others, none of a similar name"),
        (TEXT, "Column 'b' has type .*string"),
        (FRAME.astype({"c": object}), "Column 'c' has dtype object"),
        (FRAME.assign(a=pd.Timestamp("2020-01-01")), "Column 'a' has type timestamp"),
        (FRAME.set_axis(["a", "b", "b"], axis=1), "Column 'b' appears more than once"),
        (pl.DataFrame(TEXT), "Column 'b' has type .*string"),
        (pa.table({"a": [[1.0]], "b": [1.0], "c": [1.0]}), "Column 'a' has type list"),
        (FRAME.rename(columns={"b": "bb"}), r"no column 'b'. Did you mean 'bb'\?"),
        (FRAME["a"], "The source is a Series"),
        (pl.Series(ROWS[:, 0]), "The source is a Series"),
        (ROWS[:, 0], "must have 2 dimensions"),
        (ROWS[:, :2], "has 2 columns, the domain has 3"),
        (ROWS.astype(complex), "real numbers or booleans, this one has dtype complex128"),
        (ROWS.astype(str), "this one has dtype str_"),
        (ROWS.astype(object), "this one has dtype object_"),
        (ROWS.tolist(), "A batch is a list"),
        (iter([ROWS]), "a one-shot iterator"),
        (pa.table({"a": [1.0]}).to_reader(), "can be read only once"),
        ([], "no batch"),
        ("rows.csv", "'rows.csv' is neither a file, a directory nor"),
        ("rows", "That is neither a file, a directory nor"),
        (3, "The source is a int"),
        ([ROWS, ROWS[:, :1]], "has 1 columns, the domain has 3"),
        ([FRAME, FRAME.drop(columns="a")], "has no column 'a'"),
        (pl.DataFrame(ROWS, schema=NAMES).lazy(), "The source is a polars"),
    ],
)
def test_a_wrong_schema_is_named(source, message):
    with pytest.raises(SourceError, match=message):
        exact_total(source, DOMAIN)


def test_later_batches_must_have_the_columns_of_the_first():
    with pytest.raises(SourceError, match="no column 'c'"):
        exact_total([FRAME, FRAME.rename(columns={"c": "d"})], gv.Domain(bounds=(-3, 3)))


# ------------------------------------------------------------------ labels
LABELS = np.array(["x", "y", "z"])[RNG.integers(3, size=300)]
DECLARED = gv.Labels(["y", "x"])


def test_labels_from_anywhere():
    expected = exact_total((ROWS, LABELS), DOMAIN, DECLARED)
    for source in (
        (ROWS, LABELS.tolist()),
        (ROWS, LABELS.astype(object)),
        (ROWS, pd.Series(LABELS)),
        (ROWS, pl.Series(LABELS)),
        (FRAME, LABELS),
        [(ROWS[:9], LABELS[:9]), (ROWS[9:], LABELS[9:])],
    ):
        np.testing.assert_array_equal(exact_total(source, DOMAIN, DECLARED), expected)
    column = gv.Labels(["y", "x"], column="label")
    frame = FRAME.assign(label=LABELS).astype({"label": "string"})
    for source in (
        frame,
        frame.astype({"label": "category"}),
        pl.DataFrame(frame),
        [frame[:5], pl.DataFrame(frame[5:])],
    ):
        np.testing.assert_array_equal(exact_total(source, DOMAIN, column), expected)


CONTAINERS = {
    "list": list,
    "numpy objects": lambda values: np.array(values, dtype=object),
    "pandas Int64": lambda values: pd.Series(values, dtype="Int64"),
    "pandas UInt64": lambda values: pd.Series(values, dtype="UInt64"),
    "pandas arrow": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    "pandas category": lambda values: pd.Series(pd.Categorical(values, categories=[2**53 + 1, 7])),
    "pandas Categorical": lambda values: pd.Categorical(values, categories=[2**53 + 1, 7]),
    "polars": lambda values: pl.Series(values, dtype=pl.Int64),
    "arrow": lambda values: pa.array(values, pa.int64()),
    "arrow chunked": lambda values: pa.chunked_array(
        [pa.array(values[:1], pa.int64()), pa.array(values[1:], pa.int64())]
    ),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_one_missing_label_changes_no_other(kind):
    """Large integers, which a conversion to floats would change as soon as one of them is missing."""
    declared = gv.Labels([2**53 + 1, 7])
    full, holed = [2**53 + 1, 7, 2**53 + 1], [2**53 + 1, 7, None]
    make = CONTAINERS[kind]
    assert codes_of(make(full), declared.classes).tolist() == [0, 1, 0]
    assert codes_of(make(holed), declared.classes).tolist() == [0, 1, -1]


def test_text_labels_that_cannot_be_decoded_are_no_class():
    broken = pa.array([b"x", b"\xff", b"y"], pa.binary()).cast(pa.string(), safe=False)
    frame = pa.table({"a": [1.0] * 3, "label": broken})
    total = exact_total(frame, gv.Domain(bounds=(-1, 1)), gv.Labels(["x", "y"], column="label"))
    assert total[1, 1] == total[2, 2] > 0


def test_unknown_labels_are_zeros_and_known_ones_are_counted():
    total = exact_total((ROWS, LABELS), DOMAIN, DECLARED)
    constant = round(float(total[3, 3] / (LABELS == "y").sum()) ** 0.5)
    assert total[3, 3] == (LABELS == "y").sum() * constant**2
    assert total[4, 4] == (LABELS == "x").sum() * constant**2
    assert total[3, 4] == 0


def test_every_label_has_a_meaning_or_none():
    strange = [None, 1, True, 2.0, np.int64(2), np.nan, "2", b"2", (2,), object(), [2], float("inf")]
    total = exact_total((np.ones((12, 3)), strange), DOMAIN, gv.Labels([2, "2"]))
    assert total[3, 3] == 2 * total[4, 4] > 0


@pytest.mark.parametrize(
    ("source", "augment", "message"),
    [
        (ROWS, DECLARED, "needs a pair"),
        (FRAME, DECLARED, "needs a pair"),
        ((ROWS, LABELS[:-1]), DECLARED, "There are 299 labels, but a different number of rows"),
        ((ROWS, np.append(LABELS, "x")), DECLARED, "There are 301 labels"),
        ((ROWS, LABELS[:, None]), DECLARED, "1 dimension"),
        ((ROWS, "labels"), DECLARED, "a 1-D array or a series, these are a str"),
        ((ROWS, 3), DECLARED, "a 1-D array or a series, these are a int"),
        (ROWS, gv.Labels(["x"], column="label"), "An array has no column names"),
        (FRAME, gv.Labels(["x"], column="label"), "no column 'label'"),
        (FRAME, gv.Labels(["x"], column="a"), "is the label and cannot be a feature too"),
        (FRAME.assign(label=1.5), gv.Labels(["x"], column="label"), "use strings or integers"),
    ],
)
def test_wrong_labels_are_named(source, augment, message):
    with pytest.raises(SourceError, match=message):
        exact_total(source, DOMAIN, augment)


# ------------------------------------------------------------------ sources that misbehave
def test_an_iterable_whose_iterators_are_one_and_the_same_is_refused():
    shared = iter([ROWS[:10], ROWS[10:20], ROWS[20:]])

    class Shared:
        def __iter__(self):
            return shared

    with pytest.raises(SourceError, match="a one-shot iterator"):
        exact_total(Shared(), DOMAIN)


def test_a_source_is_read_in_the_thread_that_asked():
    """A database connection belongs to its thread."""
    connection = sqlite3.connect(":memory:")
    connection.execute("create table rows (a, b, c)")
    connection.executemany("insert into rows values (?, ?, ?)", ROWS.tolist())

    class Table:
        def __iter__(self):
            cursor = connection.execute("select * from rows")
            while batch := cursor.fetchmany(77):
                yield np.array(batch, dtype=float)

    np.testing.assert_array_equal(exact_total(Table(), DOMAIN), EXPECTED)


def test_a_schema_that_changes_between_passes_is_noticed():
    class Changing:
        def __init__(self):
            self.tables = iter([pa.table({"a": [1.0]}), pa.table({"a": [1.0]}), pa.table({"a": ["1.0"]})])
            self.columns = ["a"]

        def __arrow_c_stream__(self, schema=None):
            return next(self.tables).__arrow_c_stream__()

    blocks = open_source(Changing(), gv.Domain(bounds=(-1, 1)), None)
    next(blocks.read())
    with pytest.raises(SourceError, match="Column 'a' has type string"):
        next(blocks.read())


def test_open_sources_do_not_pickle():
    for source in (ROWS, FRAME, [ROWS]):
        with pytest.raises(GuaranteeError, match="cannot be pickled"):
            pickle.dumps(open_source(source, DOMAIN, None))


class OfColumns:
    """A table of another library, whose ``columns`` are not names but values."""

    def __init__(self, table):
        self.columns, self._table = table.columns, table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_columns_that_are_values_are_not_quoted_as_names():
    table = OfColumns(pa.table({"a": [0.271828] * 300, "b": [0.5] * 300}))
    named = gv.Domain(columns=["a", "bb"], bounds=(-1, 1))
    with pytest.raises(SourceError, match="no column 'bb'") as caught:
        open_source(table, named, None)
    assert "271828" not in str(caught.value)
    assert open_source(table, gv.Domain(bounds=(-1, 1)), None).columns == ("a", "b")
