"""Theorem 13, ids: whatever software writes an id, and however, it is the same one."""

import string
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphveil as gv
from graphveil.engines.sql_dialects import DIALECTS, Column
from graphveil.exceptions import SourceError
from graphveil.rows.ids import Hasher, write_ids
from graphveil.rows.sources import open_batch
from helpers.databases import Postgres

POINTS = (1234567890123456789, 987654321098765432)
DOMAIN = gv.Domain({"x": (-1, 1)}, person="who")
CALL = {"domain": DOMAIN, "budget": gv.Budget(1.0, 1e-4), "adaptive": False, "random_state": 1}
NUMBERS = [7, 10, 0, 123456789012, 7, 8, 2**53, -3, 10**15, 7]  # floats hold them
UUIDS = [UUID(int=value) for value in (7, 2**120 + 9, 2**128 - 1, 32, 0x20202020 << 96, 7, 256, 3 << 8, 7, 0xAB << 120)]
UUIDS = [*UUIDS, UUID("a9620f96-dbbb-47ae-b0b3-eb39186296d8"), UUID(bytes=b"patient-00000007")]
X = np.linspace(-1, 1, 12)


class Wrapped(pa.ExtensionType):
    """Something that is stored as an integer."""

    def __init__(self):
        super().__init__(pa.int64(), "test.id")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


def objects(make):
    return lambda ids: pd.DataFrame({"x": X[: len(ids)], "who": pd.Series([make(i) for i in ids], dtype=object)})


def as_fortran(number):
    """A zero stands before the point: 0.7E+01."""
    sign, digits, exponent = Decimal(number).as_tuple()
    digits = "".join(map(str, digits))
    return f"{'-' * sign}0.{digits}E{len(digits) + exponent:+03d}"


def frame(dtype):
    return lambda ids: pd.DataFrame({"x": X[: len(ids)], "who": pd.Series(ids).astype(dtype)})


def arrow(make):
    return lambda ids: pa.table({"x": X[: len(ids)], "who": make(ids)})


def polars(dtype, make=lambda value: value):
    return lambda ids: pl.DataFrame({"x": X[: len(ids)], "who": pl.Series([make(i) for i in ids]).cast(dtype)})


def relation(kind):
    def make(ids):
        connection = duckdb.connect()
        connection.execute(f"create table t (n integer, x double, who {kind})")
        rows = [(n, x, str(i)) for n, (x, i) in enumerate(zip(X.tolist(), ids, strict=False))]
        connection.executemany("insert into t values (?, ?, ?)", rows)
        return connection.sql("select x, who from t order by n")

    return make


NUMBERED = {
    "pandas": frame("int64"),
    "pandas floats": frame("float64"),
    "pandas nullable": frame("Int64"),
    "pandas nullable floats": frame("Float64"),
    "pandas text": frame("str"),
    "pandas text of floats": objects(lambda i: str(float(i))),
    "pandas of Arrow": frame("int64[pyarrow]"),
    "pandas floats of Arrow": frame("double[pyarrow]"),
    "pandas sparse": lambda ids: pd.DataFrame({"x": X[: len(ids)], "who": pd.arrays.SparseArray(ids)}),
    "categories": frame("category"),
    "categories of floats": lambda ids: objects(float)(ids).astype({"who": "category"}),
    "integers among objects": objects(int),
    "floats among objects": objects(float),
    "decimals among objects": objects(Decimal),
    "decimals with places": objects(lambda i: Decimal(i).scaleb(-2).scaleb(2)),
    "bytes among objects": objects(lambda i: b"%d" % i),
    "changeable bytes among objects": objects(lambda i: bytearray(b"%d" % i)),
    "views among objects": objects(lambda i: memoryview(b"%d" % i)),
    "mixed objects": lambda ids: objects(lambda i: [str(i), float(i), i, Decimal(i), np.float64(i)][i % 5])(ids),
    "zeros in front": objects(lambda i: f"{i:020d}"),
    "blanks around": objects(lambda i: f"\t{i:>20}  \n"),
    "as Java writes floats": objects(lambda i: f"{Decimal(i):.16E}".replace("E+", "E")),
    "as C writes floats": objects(lambda i: f"{i:.17e}"),
    "as C of other systems writes floats": objects(lambda i: f"{i:.17e}".replace("e+", "e+0")),
    "as Fortran writes floats": objects(as_fortran),
    "decimal commas": objects(lambda i: f"{i:.2f}".replace(".", ",")),
    "Arrow": arrow(pa.array),
    "Arrow decimals": arrow(lambda ids: pa.array(map(Decimal, ids), pa.decimal128(30, 3))),
    "Arrow long decimals": arrow(lambda ids: pa.array(map(Decimal, ids), pa.decimal256(60, 20))),
    "Arrow floats": arrow(lambda ids: pa.array(map(float, ids))),
    "Arrow views": arrow(lambda ids: pa.array(map(str, ids)).cast(pa.string_view())),
    "Arrow dictionary": arrow(lambda ids: pa.array(map(float, ids)).dictionary_encode()),
    "filled up with blanks": arrow(lambda ids: pa.array([str(i).ljust(20).encode() for i in ids], pa.binary(20))),
    "filled up with zeros": arrow(lambda ids: pa.array([str(i).encode().ljust(16, b"\0") for i in ids], pa.binary(16))),
    "16 bytes of text": arrow(lambda ids: pa.array([str(i).ljust(16).encode() for i in ids], pa.binary(16))),
    "polars": polars(pl.Int64),
    "polars long": polars(pl.Int128),
    "polars floats": polars(pl.Float64),
    "polars decimals": polars(pl.Decimal(30, 2)),
    "polars text": polars(pl.String, str),
    "polars categories": polars(pl.Categorical, str),
    "DuckDB": relation("bigint"),
    "DuckDB long": relation("hugeint"),
    "DuckDB floats": relation("double"),
    "DuckDB decimals": relation("decimal(30, 4)"),
    "DuckDB text": relation("varchar"),
}
IDENTIFIED = {
    "objects": objects(lambda u: u),
    "text": objects(str),
    "capitals": objects(lambda u: str(u).upper()),
    "braces": objects(lambda u: "{" + str(u).upper() + "}"),
    "urn": objects(lambda u: u.urn),
    "digits": objects(lambda u: u.hex),
    "bytes": objects(lambda u: u.bytes),
    "numpy's bytes, without zeros at their end": objects(lambda u: np.array([u.bytes], "S16")[0]),
    "Arrow": arrow(
        lambda ids: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([u.bytes for u in ids], pa.binary(16)))
    ),
    "Arrow bytes": arrow(lambda ids: pa.array([u.bytes for u in ids], pa.binary(16))),
    "Arrow text": arrow(lambda ids: pa.array(map(str, ids))),
    "filled up": arrow(lambda ids: pa.array([str(u).ljust(40).encode() for u in ids], pa.binary(40))),
    "polars bytes": lambda ids: pl.DataFrame({"x": X[: len(ids)], "who": [u.bytes for u in ids]}),
    "DuckDB": relation("uuid"),
    "DuckDB text": relation("varchar"),
}
RAW = (bytes, bytearray, memoryview)
WRITERS = {"numbers": (NUMBERS, NUMBERED), "UUIDs": (UUIDS, IDENTIFIED)}


@pytest.mark.parametrize("kind", WRITERS)
def test_an_id_is_the_same_whoever_writes_it(kind):
    """Keys are equal for every writer, hence people for every pair of writers; and so are whole releases."""
    ids, writers = WRITERS[kind]
    hasher = Hasher(POINTS)
    expected = hasher.keys_of(ids)
    assert len({tuple(key) for key in expected.tolist()}) == len(set(ids))
    for name, write in writers.items():
        blocks = open_batch(write(ids), DOMAIN, None, hasher).read()
        np.testing.assert_array_equal(np.concatenate([keys for _, keys in blocks]), expected, err_msg=name)
    whole = gv.release([next(iter(writers.values()))(ids)] * 2, **CALL)
    assert whole.n_samples == len(set(ids))
    for one, other in pairwise(writers.values()):
        assert gv.release([one(ids), other(ids)], **CALL) == whole


@pytest.mark.parametrize("kind", WRITERS)
def test_files_of_several_writers_hold_the_same_people(kind, tmp_path):
    ids, writers = WRITERS[kind]
    for number, write in enumerate(writers.values()):
        made, path = write(ids), str(tmp_path / f"{number}")
        if isinstance(made, duckdb.DuckDBPyRelation):
            made.write_csv(path + ".csv")
            made.write_parquet(path + ".parquet")
        elif isinstance(made, pa.Table):
            pq.write_table(made, path + ".parquet")
        elif isinstance(made, pl.DataFrame) and made["who"].dtype not in (pl.Int128, pl.Binary):  # not in their files
            made.write_csv(path + ".csv")
            made.write_parquet(path + ".parquet")
        elif isinstance(made, pd.DataFrame) and not any(
            isinstance(one, RAW) for one in made["who"]
        ):  # it would write b'7'
            made.to_csv(path + ".csv", index=False)
            made.to_csv(path + "-with-commas.csv", index=False, sep=";", decimal=",")
    n_files = len([*tmp_path.iterdir()])
    assert n_files >= 10
    assert gv.release(tmp_path, **CALL) == gv.release([next(iter(writers.values()))(ids)] * n_files, **CALL)


SAME = [
    [7, "7", "7.0", "07", " 7", "7 ", "+7", "7.", "7e0", "7.0E0", "7E+00", b"7", b"7\0\0", "\t7\r\n", np.int8(7), 7.0],
    [70, "0.7E+02", ".7e2", "0.07E+003", "700E-1", "70,0", "+70,", "0,70e2", bytearray(b"70"), memoryview(b"7x0")[::2]],
    [0, "0", "-0", "-0.0", ".0", "0E-10", "00", Decimal("0E+3"), -0.0],
    [-12, "-12", "-12.0", "-1.2E+1", Decimal("-12.00")],
    [10**20, "1e+20", "1E20", "100000000000000000000", 1e20, Decimal("1E+20"), "1.00e20"],
    [2**64 - 1, "18446744073709551615", "18446744073709551615.000", np.uint64(2**64 - 1)],
    [2**64, "18446744073709551616", Decimal(2**64)],
    [-(2**63), "-9223372036854775808"],
    [-(2**63) - 1, "-9223372036854775809.0"],
    [0.1, "0.1", ".10", "1e-1", Decimal("0.100")],
    [7.5, "7.50", "+07.5"],
    ["120000", 1.2e5, "1.2e+05", "12E4", "1.2e+005"],
    ["1e100", 10**100, 1e100],
    ["1e999", "1" + "0" * 10 + "e989", "100e997", "1.e999"],
    ["100e999", "1.e1001"],  # its form reads as itself
    ["1e0005"],  # no program writes four digits
    ["1.480", "1,480", "1,48"],
    ["1,480,000"],
    ["A", "A ", "A\0", " A", b"A"],
    ["a"],
    ["1 2"],
    ["12"],
    ["1_000"],
    ["--1"],
    ["1.2.3"],
    ["e5"],
    ["\0NA"],
    [r"\M"],
    ["N"],
    ["non"],
    ["#N/A!"],
    ["."],
    ["-"],
    ["+"],
    ["inf", float("inf")],
    [(7, "a"), ("7.0", "a "), (Decimal(7), b"a")],
    [True, "True"],
    ["\ud800"],
    ["9" * 250, int("9" * 250)],
    [object(), object(), [object()], {7}, {7: 7}],
    [b"\x01 ", b"\x01 \0"],  # no text: nothing of it is a blank
    [b"\x01"],
    ["a9620f96dbbb47aeb0b3eb39186296d"],  # a digit too few
    ["A9620f96dbbb47aeb0b3eb39186296d"],
]
NOBODY = [None, "", " ", b"\0", float("nan"), "nan", "-NaN", Decimal("NaN"), pd.NA, pd.NaT, np.datetime64("NaT")]
NOBODY += ["NaT", "<NA>", "NA", "n/a", "#N/A", "None", "NULL", "null", r"\N", " NULL ", "+NaN", b"NA"]
NOBODY += ["x" * 257, "9" * 257, 10**256 + 1, 10**5000, UUID(int=0), np.ma.masked]


def test_a_dictionary_of_nothing():
    """Not even where its text ends, which Arrow allows."""
    nothing = pa.Array.from_buffers(pa.large_string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
    nulls = pa.DictionaryArray.from_arrays(pa.array([None], pa.int32()), nothing)
    assert Hasher(POINTS).keys_of(nulls).tolist() == Hasher(POINTS).keys_of([None]).tolist()


def test_equal_ids_and_different_ones():
    hasher = Hasher(POINTS)
    groups = [hasher.keys_of(group).tolist() for group in [*SAME, NOBODY]]
    for keys, group in zip(groups, [*SAME, NOBODY], strict=True):
        assert all(key == keys[0] for key in keys), group
    assert len({tuple(keys[0]) for keys in groups}) == len(groups)
    every = pd.Series([one for group in SAME for one in group], dtype=object)
    assert hasher.keys_of(every).tolist() == [key for keys in groups[:-1] for key in keys]


REFUSED = {
    "numpy booleans": np.array([True, False]),
    "narrow floats": np.array([1, 2], np.float32),
    "complex": np.array([1j, 2j]),
    "moments": np.array([1, 2], "M8[D]"),
    "durations": np.array([1, 2], "m8[s]"),
    "two dimensions": np.array([[1], [2]]),
    "a number": 3,
    "text": "abc",
    "Arrow booleans": pa.array([True]),
    "Arrow narrow floats": pa.array([1.0], pa.float32()),
    "Arrow nothing": pa.nulls(2),
    "Arrow bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8())),
    "Arrow extension": pa.ExtensionArray.from_storage(Wrapped(), pa.array([1, 2])),
    "Arrow opaque": pa.ExtensionArray.from_storage(
        pa.opaque(pa.binary(16), "hugeint", "DuckDB"), pa.array([bytes(16)], pa.binary(16))
    ),
    "Arrow dates": pa.array([1], pa.date32()),
    "Arrow lists": pa.array([[1]]),
    "pandas booleans": pd.Series([True, False]),
    "pandas nullable booleans": pd.Series([True, None], dtype="boolean"),
    "pandas narrow floats": pd.Series([1.0], dtype="Float32"),
    "pandas complex": pd.Series([1j]),
    "periods": pd.Series(pd.period_range("2020", periods=2)),
    "intervals": pd.Series(pd.interval_range(0, 2)),
    "categories of intervals": pd.cut(pd.Series([1, 2, 3]), 2),
    "categories of booleans": pd.Series([True, False]).astype("category"),
    "several levels": pd.MultiIndex.from_tuples([(1, 2)]),
    "polars booleans": pl.Series([True]),
    "polars narrow floats": pl.Series([1.0], dtype=pl.Float32),
    "polars lists": pl.Series([[1]]),
    "polars structs": pl.Series([{"a": 1}]),
    "polars nothing": pl.Series([None]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_holds_no_ids_is_refused_by_type(kind):
    with pytest.raises(SourceError, match=r"Ids of people cannot be of type|1 dimension"):
        Hasher().keys_of(REFUSED[kind])
    if isinstance(REFUSED[kind], pd.Series | pa.Array | pl.Series):
        column = REFUSED[kind]
        table = {"x": [0.0] * len(column), "who": column}
        make = {"pyarrow": pa.table, "pandas": pd.DataFrame, "polars": pl.DataFrame}[
            type(column).__module__.split(".")[0]
        ]
        with pytest.raises(SourceError, match=r"cannot be of type|cannot hold ids"):
            gv.release(make(table), **CALL)


def random_texts(count, seed):
    """Text that is nearly a number, a UUID or padding."""
    rng = np.random.default_rng(seed)
    alphabets = [
        "017+-.eE 9",
        string.hexdigits + "-{}",
        " \t\n\r7a",
        "0",
        "09.",
        "nNaA-+",
        "0123456789.,eE+-",
        "NAnul</>",
    ]
    texts = [
        "".join(rng.choice(list(alphabets[rng.integers(8)]), size=rng.choice([1, 2, 4, 7, 32, 36, 38])))
        for _ in range(count)
    ]
    known = [one for group in [*SAME, NOBODY] for one in group if type(one) is str]
    return [*texts, *(str(u) for u in UUIDS), *("{" + u.hex + "}" for u in UUIDS if u.int % 2), *known]


def classes(values):
    first = {}
    return [first.setdefault(value, place) for place, value in enumerate(values)]


@pytest.mark.parametrize("seed", range(4))
def test_a_form_is_its_own_form(seed):
    """Engines that bring the rows of a person together compare forms, and hash them then."""
    texts = random_texts(2000, seed)
    raw = pa.array([*(text.encode(errors="surrogatepass") for text in texts), None], pa.binary())
    hasher, forms = Hasher(POINTS), write_ids(raw)
    np.testing.assert_array_equal(hasher.keys_of(forms), hasher.keys_of(raw))
    assert write_ids(forms) == forms
    keys = [tuple(key) for key in hasher.keys_of(raw).tolist()]
    assert classes(keys) == classes(forms.to_pylist())


def compared_by(execute, name):
    """Which texts a database takes for one id."""
    form = DIALECTS[name].person(Column("who", "text", "text")).sql(dialect=name)
    return classes([row[0] for row in execute(f"select {form} from ids order by place")])


def printable(texts):
    """Without what a database has not, and the UUID whose bytes are blanks."""
    return [text for text in texts if not {"\0", "\ud800"} & set(text) and not text.startswith("20202020")]


@pytest.mark.parametrize("seed", range(3))
def test_a_database_compares_ids_alike(seed):
    texts = printable(random_texts(1500, seed))
    texts += [text + "\0\0" for text in texts[::5]]
    connection = duckdb.connect()
    table = pa.table({"place": range(len(texts)), "who": texts})
    connection.register("given", table)
    connection.execute("create table ids (place integer, who varchar collate nocase)")
    connection.execute("insert into ids select * from given")
    expected = classes([tuple(key) for key in Hasher(POINTS).keys_of(texts).tolist()])
    assert compared_by(lambda statement: connection.execute(statement).fetchall(), "duckdb") == expected


def test_postgres_compares_ids_alike(postgres):
    texts = printable(random_texts(1500, 7))
    database = Postgres(postgres)
    database.fill({"place": np.arange(len(texts)), "who": np.array(texts)})
    database.execute("alter table visits rename to ids")
    expected = classes([tuple(key) for key in Hasher(POINTS).keys_of(texts).tolist()])
    assert compared_by(database.execute, "postgres") == expected


def test_taking_two_ids_for_one_moves_no_answer_farther():
    """Whoever shares an id: their rows are those of one person, whichever of them change."""
    both = pa.table({"x": [1.0, -1.0, 0.5, 0.0], "who": ["7", "7.0", "8", "9"]})
    answers = []
    for x in (1.0, -1.0):
        changed = both.set_column(0, "x", pa.array([x, -1.0, 0.5, 0.0]))
        made = gv.release(changed, **CALL)
        assert made.n_samples == 3
        answers.append(made.answers[0])
    one, other = answers
    moved = 0.0
    for group in one.step.groups:
        difference = (one.values[group.name] - other.values[group.name]) / one.factor
        moved += float(((difference * one.step.groups[0].sd / group.sd) ** 2).sum())
    assert moved**0.5 <= one.step.sensitivity * (1 + 1e-12)
