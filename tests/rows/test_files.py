"""Files: the same rows give the same bits from every format, path and piece, and what is wrong is named."""

import gzip
import os
import re

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import graphveil as gv
from graphveil.exceptions import GraphveilError, SourceError
from graphveil.rows.sources import open_source
from helpers.exact_sums import everything_said, exact_total

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 3))
ROWS[5, 1] = np.nan
NAMES = ["a", "b", "c"]
DOMAIN = gv.Domain(columns=NAMES, bounds=(-2.5, 3))
EXPECTED = exact_total(ROWS, DOMAIN)
COLUMNS = {name: pa.array(column, from_pandas=True) for name, column in zip(NAMES, ROWS.T, strict=True)}
TABLE = pa.table({"text": pa.array(["t"] * 300)} | COLUMNS)
BUDGET = gv.Budget(1.0, 1e-6)


def parquet(path, table=TABLE, **options):
    pq.write_table(table, path, **options)
    return path


def csv(path, table=TABLE):
    pyarrow.csv.write_csv(table, path)
    return path


def ipc(path, table=TABLE, make=pa.ipc.new_file):
    with make(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=41)
    return path


def halves(folder, write, suffix):
    folder.mkdir()
    write(folder / f"1{suffix}", TABLE.slice(0, 70))
    write(folder / f"2{suffix}", TABLE.slice(70))
    return folder


def zipped(path):
    plain = csv(path.with_name("plain.csv"))
    path.write_bytes(gzip.compress(plain.read_bytes()))
    return path


def hidden(folder):
    halves(folder, parquet, ".parquet")
    (folder / "_SUCCESS").touch()
    (folder / "notes.txt").write_text("no rows")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "3.parquet").write_bytes(b"unfinished")
    return folder


def nested(folder):
    folder.mkdir()
    halves(folder / "x", parquet, ".parquet")
    return folder


SOURCES = {
    "parquet": lambda d: parquet(d / "r.parquet"),
    "parquet as a string": lambda d: str(parquet(d / "r.parquet")),
    "parquet, row groups": lambda d: parquet(d / "r.pq", row_group_size=7),
    "parquet, compressed": lambda d: parquet(d / "r.parquet", compression="zstd", use_dictionary=False),
    "csv": lambda d: csv(d / "r.csv"),
    "csv, zipped": lambda d: zipped(d / "r.csv.gz"),
    "arrow": lambda d: ipc(d / "r.arrow"),
    "feather": lambda d: ipc(d / "r.feather"),
    "arrow stream": lambda d: ipc(d / "r.ipc", make=pa.ipc.new_stream),
    "directory": lambda d: halves(d / "f", parquet, ".parquet"),
    "directory with other files": lambda d: hidden(d / "f"),
    "directory of csv": lambda d: halves(d / "f", csv, ".csv"),
    "list": lambda d: [str(parquet(d / "1.parquet", TABLE.slice(0, 9))), ipc(d / "2.arrow", TABLE.slice(9))],
    "pattern": lambda d: str(halves(d / "f", ipc, ".arrow") / "*.arrow"),
    "deep pattern": lambda d: str(nested(d / "f") / "**" / "[0-9].parquet"),
    "pattern with a choice": lambda d: str(hidden(d / "f") / "[!_3].parquet"),
    "pattern in the middle": lambda d: str(nested(d / "f") / "?" / "*.parquet"),
    "uri": lambda d: parquet(d / "r.parquet").as_uri(),
    "uri of a directory": lambda d: halves(d / "f", parquet, ".parquet").as_uri(),
    "uri with a pattern": lambda d: halves(d / "f", parquet, ".parquet").as_uri() + "/*.parquet",
    "duckdb": lambda d: duckdb.sql(f"select c, a, b, text from '{parquet(d / 'r.parquet')}'"),
    "function": lambda d: lambda: iter([ROWS[:13], pd.DataFrame(ROWS[13:], columns=NAMES)]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_bits(kind, tmp_path):
    source = SOURCES[kind](tmp_path)
    for _ in range(2):
        np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)
    assert open_source(source, DOMAIN, None).count() == 300


def test_a_relative_path_is_one_from_here(tmp_path, monkeypatch):
    halves(tmp_path / "f", parquet, ".parquet")
    monkeypatch.chdir(tmp_path)
    for source in ("f", "f/*.parquet", "./f/*.parquet", "f/", "*/*.parquet"):
        np.testing.assert_array_equal(exact_total(source, DOMAIN), EXPECTED)


def test_a_question_mark_begins_the_options_of_a_uri():
    from graphveil.rows.paths import _from_uri

    options = "?region=eu-west-1"
    for place in ("bucket/visits", "bucket/visits/*.parquet", "bucket/*/[12].csv"):
        system, path = _from_uri(f"s3://{place}{options}")
        assert (system.type_name, system.region, path) == ("s3", "eu-west-1", place)


def test_a_pattern_stops_at_a_directory(tmp_path):
    nested(tmp_path / "f")
    with pytest.raises(SourceError, match="matches no file"):
        exact_total(str(tmp_path / "f" / "*.parquet"), DOMAIN)


def test_names_with_dots_quotes_and_spaces(tmp_path):
    names = ["a.b", 'sa"y', "x y"]
    table = pa.table(dict(zip(names, ROWS.T, strict=True)))
    domain = gv.Domain(columns=names, bounds=(-2.5, 3))
    path = parquet(tmp_path / "r.parquet", table)
    for source in (path, csv(tmp_path / "r.csv", table), duckdb.sql(f"from '{path}'")):
        np.testing.assert_array_equal(exact_total(source, domain), EXPECTED)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 2), pa.bool_(), "dictionary"]
)
def test_types_are_cast_as_documented(kind, tmp_path):
    values = RNG.integers(0, 2, size=(50, 3)).astype(float)
    table = pa.table(dict(zip(NAMES, values.T, strict=True)))
    wanted = table.cast(pa.schema([(name, pa.float64() if kind == "dictionary" else kind) for name in NAMES]))
    if kind == "dictionary":
        wanted = pa.table({name: wanted[name].dictionary_encode() for name in NAMES})
    expected = exact_total(values, DOMAIN)
    files = [ipc(tmp_path / "r.arrow", wanted)]
    files += [] if kind == pa.float16() else [parquet(tmp_path / "r.parquet", wanted)]
    for path in files:
        np.testing.assert_array_equal(exact_total(path, DOMAIN), expected)


def test_labels_come_from_a_column_of_a_file(tmp_path):
    labels = np.array(["0", "1", "2"])[RNG.integers(3, size=300)]
    table = TABLE.append_column("label", pa.array(labels))
    expected = exact_total((ROWS, labels), DOMAIN, gv.Labels(["0", "1"]))
    for source in (parquet(tmp_path / "r.parquet", table), csv(tmp_path / "r.csv", table)):
        found = exact_total(source, DOMAIN, gv.Labels(["0", "1"], column="label"))
        np.testing.assert_array_equal(found, expected)
    found = exact_total(tmp_path / "r.csv", DOMAIN, gv.Labels([0, 1], column="label"))
    np.testing.assert_array_equal(found, expected)
    found = exact_total((tmp_path / "r.parquet", labels.tolist()), DOMAIN, gv.Labels(["0", "1"]))
    np.testing.assert_array_equal(found, expected)


# ------------------------------------------------------------------ what is wrong is named
def truncated(path, share=0.6):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


WRONG = {
    "no such file": (lambda d: d / "none.parquet", "none.parquet' is neither a file, a directory nor"),
    "an empty directory": (lambda d: d, "matches no file whose name ends in .parquet, "),
    "an unknown kind": (lambda d: (d / "r.xlsx").write_text("x") and d / "r.xlsx", "not a supported file"),
    "a pattern that is none": (lambda d: str(d / "[z-a].csv"), "failed while it was opened"),
    "a pattern for nothing": (lambda d: str(d / "*.csv"), "matches no file"),
    "an unknown place": (lambda d: "nowhere://bucket/rows.parquet", "failed while it was opened"),
    "a missing column": (lambda d: parquet(d / "r.parquet", TABLE.drop(["b"])), "no column 'b'.*r.parquet"),
    "text": (lambda d: parquet(d / "r.parquet", TABLE.set_column(2, "b", TABLE["text"])), "'b' has type string.*r.par"),
    "csv, a missing column": (lambda d: csv(d / "r.csv", TABLE.drop(["b"])), "no column 'b'"),
    "csv, a name twice": (lambda d: (d / "r.csv").write_text("a,b,c,a\n") and d / "r.csv", "'a' appears more than"),
    "csv, empty": (lambda d: (d / "r.csv").touch() or d / "r.csv", "is empty: it needs a header with the column names"),
    "another schema in a later file": (
        lambda d: [parquet(d / "1.parquet"), parquet(d / "2.parquet", TABLE.drop(["c"]))],
        "no column 'c'.*2.parquet",
    ),
    "another type in a later file": (
        lambda d: [parquet(d / "1.parquet"), parquet(d / "2.parquet", TABLE.set_column(2, "b", TABLE["text"]))],
        "'b' has type string.*2.parquet",
    ),
    "a truncated parquet": (lambda d: truncated(parquet(d / "r.parquet")), "failed while it was opened, file"),
    "a truncated arrow": (lambda d: truncated(ipc(d / "r.arrow")), "failed while it was opened, file"),
    "a truncated stream": (lambda d: truncated(ipc(d / "r.arrow", make=pa.ipc.new_stream)), "was read, file"),
    "a truncated gzip": (lambda d: truncated(zipped(d / "r.csv.gz"), 0.9), "was (opened|read), file"),
    "no gzip": (lambda d: csv(d / "r.csv").rename(d / "r.csv.gz"), "failed while it was read, file"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_named_and_nothing_is_spent(kind, tmp_path):
    charged = []

    class Ledger:
        def charge(self, dataset, event):
            charged.append(event)

    make, message = WRONG[kind]
    with pytest.raises(SourceError, match=message) as caught:
        gv.release(
            make(tmp_path),
            domain=DOMAIN,
            budget=BUDGET,
            ledger=Ledger(),
            dataset="d",
            assume_centered=True,
            adaptive=False,
        )
    assert charged == []
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, GraphveilError)


def test_a_broken_page_inside_a_file_is_an_error_of_its_own(tmp_path):
    path = parquet(tmp_path / "r.parquet", compression="gzip")
    content = bytearray(path.read_bytes())
    content[200:1200] = bytes(1000)
    path.write_bytes(content)
    with pytest.raises(SourceError, match="failed while it was read, file"):
        exact_total(path, DOMAIN)


def test_csv_needs_declared_columns_and_says_nothing_of_its_first_line(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("271828,3\n1,2\n")
    with pytest.raises(SourceError, match="CSV file needs Domain") as caught:
        exact_total(path, gv.Domain(bounds=(-1, 1)))
    with pytest.raises(SourceError, match="no column 'a'") as named:
        exact_total(path, DOMAIN)
    assert "271828" not in str(caught.value) + str(named.value)


# First lines that are records, and names that are wanted: alike in case, spelling, Unicode form, spaces; found in part.
HEADERLESS = [
    ("Male,34,smoker", ["male", "age"]),
    ("Male,34,smoker", ["smokes", "smoker"]),
    ("0,Diagnosis B", ["diagnosis"]),
    ("0,Diagnosis B,Diagnosis B", ["Diagnosis", "0"]),
    ("Meier;35,2;1962-04-01;HIV", ["hiv", "born"]),
    ("Gro\u0308\u00dfe,1", ["Gr\u00f6\u00dfe"]),
    (" income ,1", ["income"]),
    ("0012,7", ["12", "0013"]),
]


@pytest.mark.parametrize(("line", "wanted"), HEADERLESS)
def test_the_first_line_of_a_csv_file_is_never_repeated(tmp_path, line, wanted):
    """Where the line of names is missing, it is somebody's record; in a later file of a directory, too."""
    cells = [cell for cell in re.split("[,;]", line) if len(cell) > 2 and cell not in wanted]
    alone, later = tmp_path / "1.csv", tmp_path / "2.csv"
    later.write_text(f"{line}\n1,2\n", encoding="utf-8")
    for first in (later, alone):
        if first is alone:
            alone.write_text(",".join(wanted) + "\n1,2\n", encoding="utf-8")
        with pytest.raises(SourceError, match=r"no column '.*first line has [01] of the \d names") as caught:
            exact_total(sorted({first, later}), gv.Domain(columns=wanted, bounds=(-1, 1)))
        assert "Did you mean" not in str(caught.value)
        assert not [cell for cell in cells if cell in everything_said(caught.value)]


def test_a_name_that_differs_in_its_unicode_form_only_is_explained(tmp_path):
    composed, decomposed = "gr\u00f6\u00dfe", "gro\u0308\u00dfe"
    for there, wanted in ((composed, decomposed), (decomposed, composed)):
        table = pa.table({there: [1.0, 2.0]})
        for source in (parquet(tmp_path / "r.parquet", table), table, table.to_pandas()):
            with pytest.raises(SourceError, match="differs only in its Unicode form") as caught:
                exact_total(source, gv.Domain(columns=[wanted], bounds=(-1, 1)))
            assert "Did you mean" not in str(caught.value)


def test_a_file_that_shrinks_between_passes_is_noticed(tmp_path):
    path = parquet(tmp_path / "r.parquet")
    blocks = open_source(path, DOMAIN, None)
    parquet(path, TABLE.drop(["a"]))
    with pytest.raises(SourceError, match="no column 'a'"):
        list(blocks.read())


def test_an_open_file_is_closed_in_the_end(tmp_path):
    def opened():
        return len(os.listdir("/proc/self/fd"))

    sources = [parquet(tmp_path / "r.parquet"), csv(tmp_path / "r.csv")]
    for source in sources:
        exact_total(source, DOMAIN)
    before = opened()
    for source in sources:
        exact_total(source, DOMAIN)
        next(open_source(source, DOMAIN, None).read())
    assert opened() <= before


@pytest.mark.parametrize("mark", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
def test_files_of_a_table_with_a_log_are_refused(tmp_path, mark):
    """Only the log knows which of them count: a person's old rows would be counted too."""
    (tmp_path / mark).parent.mkdir()
    (tmp_path / mark).write_text("{}")
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "1.parquet")
    for source in (str(tmp_path), f"{tmp_path}/*.parquet"):
        with pytest.raises(SourceError, match="Delta, Iceberg or Hudi"):
            gv.release(source, domain=gv.Domain(bounds={"a": (0, 1)}), budget=gv.Budget(1.0, 1e-6), adaptive=False)
