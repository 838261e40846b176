"""Types × extreme values: a column is converted, or refused by its type; no value it holds has a say in that.

Whatever values a column has, what becomes of it is what becomes of an empty column of the same type, and every row is
what it is alone.
"""

import datetime
import decimal
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphveil as gv
from graphveil.exceptions import SourceError
from graphveil.rows.ids import Hasher
from graphveil.rows.labels import codes_of
from graphveil.rows.sources import open_source

DOMAIN = gv.Domain(columns=["a"], bounds=(-1, 1))
LABELS = gv.Labels(["x", "y", 1], column="l")
LEVELS = gv.Domain({"a": gv.Category(["x", "y"])})


def outcome(frame, labels=None, domain=DOMAIN):
    """What the source says when it is refused, or its rows with their class numbers."""
    try:
        blocks = open_source(frame, domain, labels)
    except SourceError as error:
        return str(error)
    rows, codes = zip(*blocks.read(), strict=True) if len(frame) else ((), ())
    values = np.concatenate([np.empty(0), *(block[:, 0] for block in rows)])
    return values if labels is None else np.concatenate([np.empty(0, dtype=int), *codes])


def check(frame, slices, labels=None, domain=DOMAIN):
    """The same as of no rows, and of each row alone; return the values, None if the type is refused."""
    found, empty = outcome(frame, labels, domain), outcome(slices(0, 0), labels, domain)
    if isinstance(empty, str):
        assert isinstance(found, str)
        assert found == empty
        return None
    assert not isinstance(found, str), found
    alone = [outcome(slices(i, i + 1), labels, domain) for i in range(len(frame))]
    np.testing.assert_array_equal(found, np.concatenate([empty, *alone]))
    return found


# ------------------------------------------------------------------ Arrow: any bits of any type of a fixed width
WIDE = [
    pa.int64(),
    pa.uint64(),
    pa.float64(),
    pa.date64(),
    pa.time64("ns"),
    pa.timestamp("ns", "UTC"),
    pa.duration("s"),
]
DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}  # of a decimal of so many bits; the oldest pyarrow has no short ones
DECIMALS = [
    getattr(pa, f"decimal{bits}")(digits, scale)
    for bits, digits in DIGITS.items()
    for scale in (0, 1, digits, -3, digits + 1, 100)
    if hasattr(pa, f"decimal{bits}")
]
TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.float16(), pa.float32()),
    *(pa.date32(), pa.time32("s"), pa.binary(3), pa.month_day_nano_interval(), *WIDE, *DECIMALS),
]


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(TYPES))
    width, n = kind.bit_width // 8, draw(st.integers(1, 6))
    ends = [b"\0" * width, b"\xff" * width, b"\xff" * (width - 1) + b"\x7f", b"\0" * (width - 1) + b"\x80"]
    bits = draw(st.lists(st.sampled_from(ends) | st.binary(min_size=width, max_size=width), min_size=n, max_size=n))
    nulls = draw(st.none() | st.binary(min_size=1, max_size=1))
    mask = None if nulls is None else pa.py_buffer(nulls)
    values = pa.Array.from_buffers(kind, n, [mask, pa.py_buffer(b"".join(bits))])
    if not draw(st.booleans()):
        return values
    # As a dictionary; some keys stand for nothing.
    width = draw(st.sampled_from([pa.int8(), pa.uint64()]))
    numbers = draw(st.lists(st.integers(0, n + 2) | st.none(), min_size=1, max_size=6))
    keys = pa.array(numbers, width)
    return pa.DictionaryArray.from_buffers(pa.dictionary(width, kind), len(keys), keys.buffers(), values)


@settings(max_examples=600)
@given(columns(), st.integers(0, 6))
def test_any_bits_of_any_arrow_type(column, cut):
    table = pa.table({"a": pa.chunked_array([column.slice(0, cut), column.slice(cut)])})
    found = check(table, lambda start, end: table.slice(start, end - start))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    assert (found is not None) == (numeric and not (pa.types.is_decimal(kind) and kind.scale > DIGITS[kind.bit_width]))


OTHERS = {
    "booleans": pa.array([True, None, False]),
    "nulls": pa.nulls(3),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1.0, 2.0])),
    "list": pa.array([[1.0], None, []]),
    "list view": pa.array([[1.0], None, []], pa.list_view(pa.float64())),
    "struct": pa.array([{"x": 1}, None, {}]),
    "map": pa.array([[(1, 2)], None, []], pa.map_(pa.int8(), pa.int8())),
    "text": pa.array(["1", None, "x"]),
    "text view": pa.array(["1", None, "x" * 20], pa.string_view()),
    "text, not decodable": pa.array([b"1", None, b"\xff"]).cast(pa.string(), safe=False),
    "dictionary of text": pa.array(["1", None, "x"]).dictionary_encode(),
    "dictionary of booleans": pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array([True, None])),
    "dictionary of a dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([1.0]).dictionary_encode()),
    "an extension": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 7], pa.int8())),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_arrow_types(kind):
    table = pa.table({"a": OTHERS[kind]})
    found = check(table, lambda start, end: table.slice(start, end - start))
    assert (found is not None) == (kind in ("booleans", "nulls", "dictionary of booleans"))


def test_decimals_are_next_to_what_they_mean():
    """With more decimal places than its table of powers has, pyarrow reads beyond its end, and gets anything."""
    decimal.getcontext().prec = 120
    for kind in DECIMALS:
        digits = DIGITS[kind.bit_width]
        values = [10**digits - 1, 1 - 10**digits, 1, 10 ** (digits - 1)]
        raw = b"".join(value.to_bytes(kind.bit_width // 8, "little", signed=True) for value in values)
        found = outcome(pa.table({"a": pa.Array.from_buffers(kind, 4, [None, pa.py_buffer(raw)])}))
        if kind.scale > digits:
            assert "'a' has type decimal" in found
            continue
        meant = [float(Decimal(value).scaleb(-kind.scale)) for value in values]
        np.testing.assert_allclose(found, meant, rtol=1e-15)


# ------------------------------------------------------------------ DuckDB, polars, pandas
DUCKDB = {
    "BOOLEAN": [1, 0],
    "TINYINT": [-(2**7), 2**7 - 1],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INTEGER": [-(2**31), 2**31 - 1],
    "BIGINT": [-(2**63), 2**63 - 1],
    "HUGEINT": [-(2**127), 2**127 - 1],
    "UTINYINT": [0, 2**8 - 1],
    "USMALLINT": [0, 2**16 - 1],
    "UINTEGER": [0, 2**32 - 1],
    "UBIGINT": [0, 2**64 - 1],
    "UHUGEINT": [0, 2**127 - 1, 2**127, 2**128 - 1],
    "FLOAT": ["nan", "-inf", 2.0**127, 2.0**-149],
    "DOUBLE": ["nan", "inf", 1.7976931348623157e308, 5e-324],
    "DECIMAL(38,0)": [10**38 - 1, 1 - 10**38],
    "DECIMAL(38,38)": ["0." + "9" * 38, "-0." + "9" * 38],
    "DECIMAL(4,1)": ["999.9"],
    "BIGNUM": None,
    "VARCHAR": None,
    "DATE": None,
    "TIMESTAMP": None,
    "INTERVAL": None,
    "UUID": None,
    "BIT": None,
    "BLOB": None,
    "INTEGER[]": None,
    "STRUCT(x INTEGER)": None,
    "ENUM('1', '2')": None,
}


@pytest.mark.parametrize("settings", [[], ["arrow_lossless_conversion"]])
@pytest.mark.parametrize("kind", DUCKDB)
def test_duckdb_types(kind, settings):
    with duckdb.connect() as connection:
        for setting in settings:
            connection.execute(f"set {setting} = true")
        values = DUCKDB[kind] or []
        rows = ", ".join(f"({i}, '{value}')" for i, value in enumerate(values)) or "(0, null)"
        typed = connection.sql(f"select cast(v as {kind}) as a, i from (values {rows}, (-1, null)) t(i, v) order by i")
        found = check(typed.project("a"), lambda start, end: typed.filter(f"i + 1 between {start} and {end - 1}"))
        if DUCKDB[kind] is None or (kind == "BOOLEAN" and settings):
            assert found is None
        else:
            np.testing.assert_allclose(found, [np.nan, *map(float, values)], rtol=1e-15)


POLARS = {
    pl.Int128: [-(2**127), 2**127 - 1, None],
    pl.UInt64: [2**64 - 1, None],
    pl.Float32: [2.0**-149, None, np.nan, -np.inf],
    pl.Decimal(38, 2): [Decimal(10) ** 35, None],
    pl.Null: [None, None],
    pl.Boolean: [True, None],
    pl.Duration: [datetime.timedelta(1), None],
    pl.Time: [datetime.time(1), None],
    pl.Categorical: ["1", None],
    pl.Enum(["1"]): ["1", None],
    pl.Binary: [b"1", None],
    pl.List(pl.Float64): [[1.0], None],
    pl.Struct({"x": pl.Int8}): [{"x": 1}, None],
    pl.Object: [1, None],
}


@pytest.mark.parametrize("kind", POLARS, ids=str)
def test_polars_types(kind):
    frame = pl.DataFrame({"a": pl.Series(POLARS[kind], dtype=kind)})
    found = check(frame, lambda start, end: frame[start:end])
    if kind in (pl.Int128, pl.UInt64, pl.Float32, pl.Decimal(38, 2), pl.Null, pl.Boolean):
        np.testing.assert_allclose(found, [np.nan if value is None else float(value) for value in POLARS[kind]])
    else:
        assert found is None


PANDAS = {
    "uint64": [2**64 - 1, 0],
    "UInt64": [2**64 - 1, None],
    "Int64": [-(2**63), None],
    "float16": [np.nan, np.inf, 2.0**-24],
    "Float32": [None, -np.inf],
    "boolean": [True, None],
    pd.ArrowDtype(pa.decimal128(38, 2)): [Decimal("1.5"), None],
    "null[pyarrow]": [None, None],
    "longdouble": [1e300, 0],
    ">f8": [1.0, 2.0],
    "complex": [1j, 0],
    "datetime64[ns]": ["2020-01-01", None],
    "timedelta64[ns]": [1, None],
    "period[D]": ["2020-01-01", None],
    "Sparse[float]": [1.0, 0.0],
    pd.StringDtype("python"): ["1", "\udcff"],
    "object": [1, "\udcff"],
}
NUMBERS = [*PANDAS][:8]


@pytest.mark.parametrize("kind", PANDAS, ids=str)
def test_pandas_types(kind):
    frame = pd.DataFrame({"a": pd.Series(PANDAS[kind], dtype=kind)})
    found = check(frame, lambda start, end: frame[start:end])
    if kind in NUMBERS:
        numbers = [np.nan if value is None else float(value) for value in PANDAS[kind]]
        np.testing.assert_allclose(found, numbers, rtol=1e-15)
    else:
        assert found is None
        assert "Column 'a' has" in outcome(frame)


def test_categories_are_judged_by_their_type_and_not_by_one_of_them():
    """A category that has no UTF-8 makes the conversion of all of them fail."""
    categories = pd.Index(["1", "\udcff"], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame({"a": pd.Categorical.from_codes([0, 0], categories)})
    other = pd.DataFrame({"a": pd.Categorical.from_codes([0, 0], categories[:1])})
    assert outcome(frame) == outcome(other)
    numbers = pd.DataFrame({"a": pd.Categorical([2**63 - 1, None, 7])})
    np.testing.assert_array_equal(outcome(numbers), [2.0**63, np.nan, 7])


# ------------------------------------------------------------------ labels
def arrow_backed(values):
    return pd.Series(values, dtype=pd.ArrowDtype(values.type))


NOT_UTF8 = pa.array([b"x", b"\xff", None, b"y"]).cast(pa.string(), safe=False)
TEXT = pd.StringDtype("python")
TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
CLASSES = {
    "pandas": (lambda: pd.Series(["x", "\udcff", None, "y"], dtype=TEXT), [0, -1, -1, 1]),
    "pandas categories": (lambda: pd.Series(["x", "\udcff", None, "y"], dtype=TEXT).astype("category"), [0, -1, -1, 1]),
    "pandas text of Arrow": (lambda: arrow_backed(NOT_UTF8), [0, -1, -1, 1]),
    "pandas integers": (lambda: pd.Series([1, None, 2**63 - 1], dtype="Int64"), [2, -1, -1]),
    "pandas booleans": (lambda: pd.Series([True, None], dtype="boolean"), [2, -1]),
    "pandas floats": (lambda: pd.Series([1.0, np.nan]), None),
    "polars": (lambda: pl.Series(["x", None, "z"]), [0, -1, -1]),
    "polars categories": (lambda: pl.Series(["x", None, "z"], dtype=pl.Categorical), [0, -1, -1]),
    "polars enumeration": (lambda: pl.Series(["x", None], dtype=pl.Enum(["z", "x"])), [0, -1]),
    "polars floats": (lambda: pl.Series([1.0, None]), None),
    "bytes": (lambda: pa.array([b"x", None]), None),
    "unsigned": (lambda: pa.array([2**64 - 1, 1, None], pa.uint64()), [-1, 2, -1]),
    "not decodable": (lambda: pa.array([b"x", b"\xff", None]).cast(pa.string(), safe=False), [0, -1, -1]),
    "runs": (lambda: pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int16()), pa.array(["x"])), None),
    "nested": (lambda: pa.array([["x"], None]), None),
}
CLASSES |= {
    f"dictionary of {text}, {width}": (
        lambda text=text, width=width: pa.DictionaryArray.from_buffers(
            pa.dictionary(width, text), 4, pa.array([1, None, 0, 9], width).buffers(), pa.array(["y", "x"], text)
        ),
        [0, -1, 1, -1],
    )
    for text in TEXTS
    for width in (pa.int8(), pa.int64())
}


@pytest.mark.parametrize("kind", CLASSES)
def test_labels_are_read_or_refused_by_their_type(kind):
    make, expected = CLASSES[kind]
    labels = make()
    if isinstance(labels, pd.Series):
        frame = pd.DataFrame({"a": np.ones(len(labels)), "l": labels})
        found = check(frame, lambda start, end: frame[start:end], LABELS)
    elif isinstance(labels, pl.Series):
        frame = pl.DataFrame({"a": np.ones(len(labels)), "l": labels})
        found = check(frame, lambda start, end: frame[start:end], LABELS)
    else:
        frame = pa.table({"a": np.ones(len(labels)), "l": labels})
        found = check(frame, lambda start, end: frame.slice(start, end - start), LABELS)
    assert (found is None) if expected is None else found.tolist() == expected


@pytest.mark.parametrize("kind", CLASSES)
def test_levels_of_text_are_read_or_refused_by_their_type(kind):
    make, codes = CLASSES[kind]
    column = make()
    if isinstance(column, pd.Series):
        frame = pd.DataFrame({"a": column})
        found = check(frame, lambda start, end: frame[start:end], domain=LEVELS)
    elif isinstance(column, pl.Series):
        frame = pl.DataFrame({"a": column})
        found = check(frame, lambda start, end: frame[start:end], domain=LEVELS)
    else:
        frame = pa.table({"a": column})
        found = check(frame, lambda start, end: frame.slice(start, end - start), domain=LEVELS)
    if codes is None or kind in ("pandas integers", "pandas booleans", "unsigned"):
        assert found is None
    else:
        np.testing.assert_array_equal(found, np.where(np.array(codes) < 0, np.nan, codes))


def seconds(*values):
    return pa.array(values, pa.int64()).cast(pa.timestamp("s"))


# Dates that Arrow and polars have, and Python has not.
BESIDE = {
    "arrow moments": lambda: seconds(0, 2**62),
    "arrow dates": lambda: pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()),
    "arrow zone": lambda: pa.array([0, 1]).cast(pa.timestamp("s", "Nowhere/There")),
    "arrow dictionary": lambda: seconds(0, 2**62).dictionary_encode(),
    "arrow nested": lambda: pa.array([[0], [2**31 - 1]], pa.list_(pa.int32())).cast(pa.list_(pa.date32())),
    "arrow runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int16()), pa.array(["x", "z"])),
    "polars dates": lambda: pl.Series([0, 2**31 - 1], dtype=pl.Int32).cast(pl.Date),
    "polars moments": lambda: pl.Series([0, 2**62]).cast(pl.Datetime("us")),
    "polars nested": lambda: pl.Series([[0], [2**31 - 1]], dtype=pl.List(pl.Int32)).cast(pl.List(pl.Date)),
    "pandas moments": lambda: arrow_backed(seconds(0, 2**55)),
    "pandas dates": lambda: pd.Series(np.array([0, 2**55], dtype="datetime64[s]")),
}


BESIDE |= {kind: make for kind, (make, _) in CLASSES.items()}


@pytest.mark.parametrize("kind", BESIDE)
def test_labels_and_ids_beside_rows_are_what_each_of_them_is_alone(kind):
    values = BESIDE[kind]()
    alone = [values[i : i + 1] for i in range(len(values))]
    classes, hasher = ("x", "y", 1), Hasher((5, 7))
    np.testing.assert_array_equal(codes_of(values, classes), np.concatenate([codes_of(one, classes) for one in alone]))

    def keys_of(ids):
        try:
            return hasher.keys_of(ids)
        except SourceError as error:
            return str(error)

    found, each = keys_of(values), [keys_of(one) for one in alone]
    if isinstance(found, str):
        assert "Ids of people cannot be of type" in found
        assert {found} == {*each}
    else:
        np.testing.assert_array_equal(found, np.concatenate(each))


def test_an_id_behind_a_mask_is_nobodys():
    ids = np.ma.masked_array([7, 7, 8], [False, True, False])
    found, plain = (Hasher((5, 7)).keys_of(of).tolist() for of in (ids, pa.array([7, None, 8])))
    assert found == plain


def test_names_that_polars_takes_for_patterns_are_names():
    frame = pl.DataFrame({"*": [1.0], "^b.*$": [2.0], "b": [3.0]})
    for name, value in (("*", 1.0), ("^b.*$", 2.0)):
        blocks = open_source(frame, gv.Domain(columns=[name], bounds=(0, 9)), None)
        ((rows, _),) = blocks.read()
        assert rows.tolist() == [[value]]
