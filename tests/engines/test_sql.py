"""A real DuckDB and a real PostgreSQL sum the rows: the same integers as everywhere else, and no word of a value."""

from contextlib import closing
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import expressions as exp

import graphveil as gv
from graphveil.engines import sql_dialects, sql_sessions, sql_statements
from graphveil.engines.sql_arithmetic import as_double, column, least_factor, number, round_half_even, truncate
from graphveil.engines.sql_dialects import DIALECTS, Column
from graphveil.engines.sql_statements import Statements, Table
from graphveil.exceptions import InvalidParameter, SourceError
from graphveil.rows.encoding import Encoder
from graphveil.spec.augmentation import Constant
from graphveil.spec.queries import CellCounts, ClippedTail, Moments, NormCounts, ObservedPairs, RowMap
from graphveil.spec.row_space import RowSpace
from helpers.databases import (
    DROPPING_VIEWS,
    HOSTILE,
    DuckDB,
    Postgres,
    assert_same_answers,
    dropping_view,
    every_query,
    exact_answers,
    hostile_rows,
    table_of,
)
from helpers.exact_sums import everything_said
from helpers.reference_releases import CALLS, EXPECTED, FRAME, Ledger, assert_same_bits

BUDGET = gv.Budget(1.0, 1e-6)
CANARY = float("".join(["27", "18", "28"])) + 0.25


@pytest.fixture(params=["duckdb", "postgres"])
def database(request):
    return DuckDB() if request.param == "duckdb" else Postgres(request.getfixturevalue("postgres"))


PUSHED_DOWN = [
    "adaptive", "a private norm", "missing values", "labels", "total", "between", "within", "total, by number",
    "one round",
]  # fmt: skip


def frame_columns():
    texts = FRAME.select_dtypes("string")
    columns = {name: FRAME[name].to_numpy() for name in FRAME if name not in texts}
    return columns | {name: texts[name].astype(object).where(texts[name].notna(), None).to_numpy() for name in texts}


def test_every_query_of_whole_releases(database):
    database.fill(frame_columns())
    assert_same_bits(database.source(), PUSHED_DOWN)
    assert_same_bits(database.source('select d, "x y", income, age from visits order by income'), ["adaptive"])


DOMAINS = {
    "bounds": {"bounds": (-9.0, 20.0)},
    "small bounds": {"bounds": (1e-58, 3e-58)},
    "smallest bounds": {"bounds": (-(2.0**-200), 2.0**-200)},
    "large bounds": {"bounds": (-(2.0**199), 2.0**200)},
    "a norm": {"data_norm": 3.0},
    "a small norm": {"data_norm": 2.0**-200},
    "a large norm": {"data_norm": 2.0**200},
    "both": {"bounds": (-9.0, 20.0), "data_norm": 0.7},
}


@pytest.mark.parametrize("kind", DOMAINS)
def test_hostile_rows(database, kind):
    rows = hostile_rows(150, 9, 1)
    database.fill(table_of(rows))
    domain = gv.Domain(**DOMAINS[kind])
    assert_same_answers(database, rows, domain, every_query(domain, 9, 2), Constant())
    assert_same_answers(database, rows, domain, [Moments(domain.resolve(None, 9).radius)], Constant(), adaptive=False)
    if kind not in ("small bounds",):
        assert_same_answers(database, rows, domain, [Moments(domain.resolve(None, 9).radius)], None, adaptive=False)


def test_norms_of_raw_rows(database):
    rows = hostile_rows(300, 11, 3)
    database.fill(table_of(rows))
    edges = [np.ldexp(1.0, np.arange(-128, 129, 2)), np.geomspace(1e-3, 1e3, 25)]
    domain = gv.Domain(data_norm="private")
    assert_same_answers(database, rows, domain, [NormCounts(some) for some in edges], Constant())


@pytest.mark.parametrize("p", [1, 2, 8, 13])
def test_widths(database, p):
    rows = hostile_rows(60, p, p)
    database.fill(table_of(rows))
    domain = gv.Domain(bounds=(-9.0, 20.0))
    assert_same_answers(database, rows, domain, every_query(domain, p, p), Constant())


def test_more_columns_than_a_function_takes(database):
    """PostgreSQL's take 100 at most, also the one that reads all of them."""
    rows = hostile_rows(5, 101, 7)
    database.fill(table_of(rows))
    assert_same_answers(database, rows, gv.Domain(bounds=(-9.0, 20.0)), [CellCounts(np.array([100.0]))], Constant())


@pytest.mark.nightly
@pytest.mark.parametrize("p", [40, 100, 200])
def test_many_columns(database, p):
    rows = hostile_rows(25, p, p)
    database.fill(table_of(rows))
    domain = gv.Domain(bounds=(-9.0, 20.0))
    assert_same_answers(database, rows, domain, every_query(domain, p, p), Constant())


def test_statements_that_are_cut_have_the_same_bits(database, monkeypatch):
    """Beyond the longest text that a dialect takes; what cannot be cut is refused before anything is spent."""
    rows = hostile_rows(60, 9, 5)
    database.fill(table_of(rows))
    domain = gv.Domain(bounds=(-9.0, 20.0))
    queries = [query for query in every_query(domain, 9, 5) if not isinstance(query, NormCounts | CellCounts)]
    kind = database.source()._dialect
    short = replace(DIALECTS[kind], most_text=12_500 if kind == "duckdb" else 14_000)
    monkeypatch.setattr(sql_statements, "_COLUMN_TEXT", 1_000)  # these columns are doubles, and have no person
    monkeypatch.setitem(sql_dialects.DIALECTS, kind, short)
    monkeypatch.setattr(
        sql_sessions.DuckDBSession if kind == "duckdb" else sql_sessions.PostgresSession, "dialect", short
    )
    with closing(database.source().open(domain, None)) as opened:
        resolved = domain.resolve(opened.columns, 9)
        space, encoder = RowSpace.of(resolved, Constant(), None), Encoder(resolved, None, shift=True)
        cut = [len(Statements(opened.table, short, space, encoder).plan(query).statements) for query in queries]
    assert max(cut) >= 2
    assert_same_answers(database, rows, domain, queries, Constant())
    wide = hostile_rows(3, 60, 5)
    database.fill(table_of(wide))
    ledger = Ledger()
    with pytest.raises(SourceError, match="60 columns are too many for a statement of"):
        gv.release(database.source(), domain=domain, budget=BUDGET, ledger=ledger, dataset="d", random_state=0)
    assert ledger.charged == []


def test_the_longest_statement_is_as_long_as_expected():
    """What is refused by the number of columns has room for the worst numbers that a map can have."""
    p = 14
    columns = [Column(f"c{j}", "decimal", "numeric") for j in range(p)]
    query = sqlglot.parse_one("select * from visits")
    domain = gv.Domain(bounds=(-1.2345678901234567e-58, 7.654321098765432e-58), person="id")
    domain = domain.resolve([column.name for column in columns], p)
    space, encoder = RowSpace.of(domain, Constant(), None, 10), Encoder(domain, None, shift=True)
    integers = np.full((p, p), -np.floor(2.0**30.9 / np.sqrt(p)))
    reach = np.full(p, np.floor(2.0**20 / np.sqrt(p)))
    row_map = RowMap(-reach, reach - 1, -reach, integers, np.full(p, 530.0))
    for dialect in DIALECTS.values():
        room = replace(dialect, most_text=sql_statements._TERM_TEXT * p**2 + sql_statements._COLUMN_TEXT * p)
        table = Table(query, tuple(columns), person=Column("id", "text", "text"))
        statements = Statements(table, room, space, encoder)
        for asked in (Moments(1.1e-7, 1e-8, row_map), ClippedTail(row_map, 1.1e-7, 2.3e-7)):
            assert all(len(one.text) <= room.most_text for one in statements.plan(asked).statements)
        used = len(statements.plan(NormCounts(np.geomspace(0.1, 1.0, 40), row_map)).statements[0].text)
        assert used > room.most_text / 4


def test_types_of_columns(database):
    """Integers, decimals and booleans are read as doubles; what else there is, is refused by its type."""
    database.execute(
        "create table visits (a smallint, b bigint, c numeric(38, 0), d numeric(12, 3), e boolean, f real, g text, "
        "h date)"
    )
    most, many = 2**63 - 1, "9" * 38
    database.execute(
        f"insert into visits values (1, {most}, {many}, 1.125, true, 0.1, 'x', null), (-7, -{most}, -{many}, -0.001, "
        "false, 1e30, null, null), (null, null, null, null, null, null, null, null), (3, 5, 7, 123456789.125, true, 0, "
        "'', null)"
    )
    nan, single = np.nan, float(np.float32(0.1))
    rows = np.array(
        [
            [1, most, float(many), 1.125, 1, single],
            [-7, -most, -float(many), -0.001, 0, np.float32(1e30)],
            [nan] * 6,
            [3, 5, 7, 123456789.125, 1, 0],
        ],
        dtype=float,
    )
    for bounds in ((-10.0, 10.0), (-1e10, 1e10), (-1e39, 1e39)):
        domain = gv.Domain(columns=list("abcdef"), bounds=bounds)
        assert_same_answers(database, rows, domain, [Moments(1.0)], Constant(), adaptive=False)
    for name in "gh":
        with pytest.raises(SourceError, match=f"Column '{name}' has type (text|VARCHAR|date|DATE), which cannot"):
            gv.release(database.source(), domain=gv.Domain(columns=[name], bounds=(0, 1)), budget=BUDGET)


def test_decimals_beyond_every_double(postgres):
    """PostgreSQL's numeric has no end: its conversion to a double would fail on these values."""
    database = Postgres(postgres)
    database.execute("create table visits (a numeric, b numeric)")
    database.execute(
        "insert into visits values (1e400, -1e9999), ('1e-400', '-1e-9000'), ('NaN', 2), ('Infinity', '-Infinity'), "
        "(0.5, null), ('1e-301', '-4e-308')"
    )
    rows = np.array([[np.inf, -np.inf], [0, 0], [np.nan, 2], [np.inf, -np.inf], [0.5, np.nan], [1e-301, -4e-308]])
    for options in ({"bounds": (-1.0, 3.0)}, {"data_norm": 2.0}):
        domain = gv.Domain(**options)
        assert_same_answers(database, rows, domain, [Moments(1.0)], Constant(), adaptive=False)


def test_labels(database):
    """Compared byte by byte with the declared classes, which are parameters."""
    classes = ["a", "A", "a ", "", "'; drop table visits; --", "\\", "é", "$1", "\0", 1, True]
    labels = np.array(["a", "A", "a ", "", "'; drop table visits; --", "\\", "é", "é", "$1", "b"], dtype=object)
    rows = np.arange(20.0).reshape(10, 2)
    database.fill({"x": rows[:, 0], "y": rows[:, 1], "label": labels})
    domain = gv.Domain(bounds={"x": (0, 20), "y": (0, 20)})
    frame = pd.DataFrame({"x": rows[:, 0], "y": rows[:, 1], "label": pd.Series(labels, dtype="string")})
    asked = gv.Labels(classes[:-1], column="label")
    assert_same_answers(database, frame, domain, [Moments(2.0)], asked, adaptive=False)
    database.fill({"x": rows[:, 0], "y": rows[:, 1], "label": np.arange(10) % 4})
    frame["label"] = np.arange(10) % 4
    assert_same_answers(
        database, frame, domain, [Moments(2.0)], gv.Labels([3, True, "1", 2**70], "label"), adaptive=False
    )
    database.fill({"x": rows[:, 0], "y": rows[:, 1], "label": np.arange(10) % 3 == 0})
    frame["label"] = np.arange(10) % 3 == 0
    assert_same_answers(database, frame, domain, [Moments(2.0)], gv.Labels([False, 1, 2], "label"), adaptive=False)
    with pytest.raises(SourceError, match="must be a column of the engine's data frame"):
        gv.release(database.source(), domain=domain, budget=BUDGET, labels=gv.Labels(["a"]), adaptive=False)


def test_one_row_and_none(database):
    for n in (1, 0):
        rows = hostile_rows(5, 3, 0)[3 : 3 + n]
        database.fill(table_of(rows))
        domain = gv.Domain(bounds=(-9.0, 20.0))
        if n:
            assert_same_answers(database, rows, domain, every_query(domain, 3, 0), Constant())
        for options in ({"bounds": (0, 1)}, {"data_norm": "private"}):
            ledger = Ledger()
            if n == 0:
                with pytest.raises(SourceError, match="has no rows"):
                    gv.release(
                        database.source(), domain=gv.Domain(**options), budget=BUDGET, ledger=ledger, dataset="d"
                    )
            assert ledger.charged == []


IDS = {
    "integers": lambda owner: owner * 10**15 - 7,
    "text": lambda owner: np.array(TEXTS, dtype=object)[owner % len(TEXTS)],
}
TEXTS = ["", "a", "A", "a ", "é", "x" * 256, "x" * 257, "y" * 300, "7.0", "007"]  # five people, and nobody


@pytest.mark.parametrize("kind", IDS)
def test_people_count_once(database, kind):
    """The same weights, in every query of whole releases; those without an id are one nobody."""
    rng = np.random.default_rng(4)
    owner = rng.geometric(0.2, size=400)
    frame = pd.DataFrame(hostile_rows(400, 5, 4), columns=list("abcde"))
    columns = {name: frame[name].to_numpy() for name in frame} | {"id": IDS[kind](owner)}
    database.fill(columns)
    for options in ({"bounds": (-9.0, 20.0)}, {"data_norm": 3.0}):
        domain = gv.Domain(columns=list("abcde"), person="id", **options)
        given = frame.assign(id=pd.Series(columns["id"], dtype="string" if kind == "text" else None))
        queries = every_query(domain, 5, 4)
        assert_same_answers(
            database, given, domain, queries, Constant(), n=len(set(columns["id"])) - 4 * (kind == "text")
        )
        if "bounds" in options:
            asked = {"domain": domain, "budget": gv.Budget(3.0, 1e-6), "random_state": 0}
            assert gv.release(database.source(), **asked) == gv.release(given, **asked)
    with pytest.raises(SourceError, match=r"person column 'a' has type (float8|DOUBLE)"):
        gv.release(database.source(), domain=gv.Domain(bounds={"b": (0, 1)}, person="a"), budget=BUDGET)


# ------------------------------------------------------------------ codebooks and groups
def codebook_frame(n, seed):
    """Numbers on three scales with codes and worse, categories and scores of text and of numbers, and two arms."""
    rng = np.random.default_rng(seed)
    cost, age = np.exp(rng.normal(5.0, 3.0, n)), rng.integers(-5, 125, n).astype(float)
    cost[:: n // 20] = rng.choice(HOSTILE, size=len(cost[:: n // 20]))
    age[::9], age[1] = 999.0, np.nan
    wards = np.array(["A", "B", "b'", "é", "", "elsewhere", None], dtype=object)
    frame = {"cost": cost, "age": age, "stay": np.where(rng.random(n) < 0.1, np.inf, rng.uniform(-1.0, 70.0, n))}
    frame |= {"ward": rng.choice(wards, n), "grade": rng.integers(0, 5, n), "smokes": rng.random(n) < 0.3}
    frame |= {"school": rng.choice(np.array(["low", "middle", "high"], dtype=object), n)}
    return frame | {"arm": rng.choice(np.array(["t", "c", "t ", None], dtype=object), n)}


def as_frame(columns):
    texts = {name: "string" for name, values in columns.items() if values.dtype == object}
    return pd.DataFrame(columns).astype(texts)


WARDS = ["A", "B", "b'", "é"]
CODEBOOKS = {
    "gaps": {
        "cost": gv.Number(1e-3, 1e6, scale="log", missing=True), "age": gv.Number(0, 110, missing=[999, 1e50]),
        "stay": gv.Number(0, 60, scale="sqrt"), "ward": gv.Category(WARDS, missing=True), "smokes": (0, 1),
        "grade": gv.Category([0, 1, 2], missing="level"), "school": gv.Ordinal(["low", "middle", "high"], missing=True),
    },
    "no gaps": {
        "cost": gv.Number(2.0**-25, 1e7, scale="log"), "ward": gv.Category(WARDS), "grade": gv.Ordinal([0, 2, 3]),
        "smokes": gv.Category([False, True]),
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", CODEBOOKS)
def test_codebooks(database, kind):
    """The same integers in every query, with the mean and without, in a box and in a ball; then a whole release."""
    columns = codebook_frame(200, 6)
    database.fill(columns)
    frame, columns = as_frame(columns), CODEBOOKS[kind]
    for options, augment in (({}, Constant()), ({"data_norm": 0.8}, Constant()), ({}, None)):
        domain = gv.Domain(columns, **options)
        queries = every_query(domain, domain.n_features, 6)
        if options or augment is None:  # what the box, or the ball, and its centre change
            queries = [queries[1], *queries[8:]]
        if domain.gaps:
            queries.append(ObservedPairs(np.array([gap[0] for gap in domain.gaps], dtype=float)))
        assert_same_answers(database, frame, domain, queries, augment)
    asked = {"domain": gv.Domain(columns), "budget": gv.Budget(3.0, 1e-6), "random_state": 0}
    assert gv.release(database.source(), **asked) == gv.release(frame, **asked)


def test_people_with_missing_values(database):
    columns = codebook_frame(400, 8) | {"id": np.random.default_rng(8).geometric(0.05, size=400)}
    database.fill(columns)
    frame = as_frame(columns)
    domain = gv.Domain(CODEBOOKS["gaps"], person="id")
    queries = [*every_query(domain, domain.n_features, 8), ObservedPairs(np.array([0.0, 1.0, 3.0]))]
    assert_same_answers(database, frame, domain, queries, Constant(), n=frame["id"].nunique())
    for variation, augment in (("between", Constant()), ("within", None)):
        domain = gv.Domain(CODEBOOKS["no gaps"], person="id", variation=variation)
        queries = every_query(domain, domain.n_features, 8)[-3:]
        assert_same_answers(database, frame, domain, queries, augment, n=frame["id"].nunique())


def test_levels_are_compared_with_columns_of_their_type(database):
    database.fill(codebook_frame(20, 0))
    for columns, message in (
        ({"age": gv.Category(["0", "1"])}, "Column 'age' has type .*, but its levels are text"),
        ({"ward": gv.Category([0, 1])}, "Column 'ward' has type .*, which cannot be read as a number"),
    ):
        ledger = Ledger()
        with pytest.raises(SourceError, match=message):
            release_of(database.source(), ledger, domain=gv.Domain(columns))
        assert ledger.charged == []


def test_groups(database):
    """Only rows of a level are counted and summed, whatever else there is; who has no rows is refused for nothing."""
    columns = codebook_frame(900, 9)
    database.fill(columns)
    options = {"budget": BUDGET, "random_state": 0, "domain": gv.Domain({"age": (0, 110), "ward": gv.Category(WARDS)})}
    for by in ({"arm": ["t", "c"]}, {"grade": [0, 3, 4]}):
        made = gv.release(database.source(), by=by, **options)
        assert made == gv.release(as_frame(columns), by=by, **options)
    first = next(iter(made.values()))
    shown = database.source().explain(first)
    assert shown.count(' AND CASE WHEN "grade" = 0 THEN 0 ELSE -1 END = 0') >= len(first.answers)
    ledger, people = Ledger(), options | {"domain": gv.Domain(bounds={"age": (0, 110)}, person="grade")}
    with pytest.raises(SourceError, match="by= with a person column is not computed by databases yet"):
        gv.release(database.source(), by={"arm": ["t", "c"]}, ledger=ledger, dataset="d", **people)
    with pytest.raises(SourceError, match="no record with arm = nobody"):
        gv.release(database.source(), by={"arm": ["t", "nobody"]}, ledger=ledger, dataset="d", **options)
    assert ledger.charged == []
    hidden = {"by": {"arm": ["t", "nobody"]}, "domain": gv.Domain({"age": (0, 110)}, neighbours="add-remove")}
    made = gv.release(database.source(), **options | hidden | {"adaptive": False})
    assert made == gv.release(as_frame(columns), **options | hidden | {"adaptive": False})


def test_levels_of_groups_have_the_rule_of_categories(database):
    """Numbers by value, whatever type the column has; columns of another type are refused by it."""
    columns = codebook_frame(300, 9)
    columns["dose"] = np.where(columns["grade"] > 3, np.nan, columns["grade"] / 2)
    database.fill(columns)
    options = {"budget": BUDGET, "random_state": 0, "adaptive": False, "domain": gv.Domain({"age": (0, 110)})}
    for by in ({"dose": [0.5, 1.0]}, {"grade": [1.0, 3.0]}, {"smokes": [False, True]}):
        made = gv.release(database.source(), by=by, **options)
        assert made == gv.release(as_frame(columns), by=by, **options)
    with pytest.raises(SourceError, match=r"no record with grade = 2\.5"):
        gv.release(database.source(), by={"grade": [1.0, 2.5]}, **options)
    for by, message in (
        ({"grade": ["1", "2"]}, "Column 'grade' has type .*, but its levels are text"),
        ({"arm": [1, 2]}, "Column 'arm' has type .*, which cannot be read as a number"),
    ):
        with pytest.raises(SourceError, match=message):
            gv.release(database.source(), by=by, **options)


def test_the_number_of_rows_can_be_a_secret(database):
    """With noise, in a table that may be empty."""
    for n in (300, 0):
        columns = {name: values[:n] for name, values in two_columns(300).items()}
        database.fill(columns)
        domain = gv.Domain(bounds={"a": (0, 10), "b": (0, 10)}, neighbours="add-remove")
        made = release_of(database.source(), Ledger(), domain=domain)
        assert made == release_of(pd.DataFrame(columns), Ledger(), domain=domain)
        assert "-- the number of people\nSELECT COUNT(*)" in database.source().explain(made)


# ------------------------------------------------------------------ arithmetic
def test_doubles_survive_as_text(database):
    """What a statement calls a number is that number, to the last bit."""
    rng = np.random.default_rng(0)
    values = np.abs(rng.integers(0, 2**63, size=400).view(np.float64))
    values = [float(x) for x in values if np.isfinite(x)] + [abs(x) for x in HOSTILE if np.isfinite(x)]
    values = [x if x == 0 or rng.random() < 0.5 else -x for x in values]
    written = exp.Select(expressions=[as_double(number(x)) for x in values])
    (found,) = database.execute(written.sql(dialect=database.source()._dialect))
    assert np.array(found).tobytes() == (np.array(values) + 0.0).tobytes()


def test_halves_go_to_the_even_neighbour(database):
    rng = np.random.default_rng(1)
    steps = np.concatenate([rng.integers(-(2**20), 2**20, size=300) / 2, np.arange(-9, 10) / 2])
    values = np.concatenate([steps, np.nextafter(steps, np.inf), np.nextafter(steps, -np.inf), rng.normal(size=50)])
    database.fill({"t": values})
    rounded = exp.select(exp.column("t", quoted=True), round_half_even("t"), truncate(column("t"), "t")).from_("visits")
    found = np.array(database.execute(rounded.sql(dialect=database.source()._dialect)))
    np.testing.assert_array_equal(found[:, 1], np.rint(found[:, 0]))
    np.testing.assert_array_equal(found[:, 2], np.trunc(found[:, 0]))


def test_the_smallest_factor_of_a_product_that_is_not_zero():
    rng = np.random.default_rng(2)
    for factor in [*np.ldexp(rng.uniform(0.5, 1.0, 200), rng.integers(-491, 491, 200)).tolist(), 0.5, 1.0]:
        least = least_factor(factor)
        assert least * factor > 0.0
        assert np.nextafter(least, 0.0) * factor == 0.0


# ------------------------------------------------------------------ what goes wrong
def release_of(source, ledger, **options):
    options = {"domain": gv.Domain(bounds={"a": (0, 10), "b": (0, 10)}), "budget": BUDGET, "random_state": 0} | options
    return gv.release(source, ledger=ledger, dataset="d", **options)


def two_columns(n=200):
    rng = np.random.default_rng(0)
    return {"a": rng.uniform(0, 10, n), "b": rng.uniform(0, 10, n)}


def test_rows_that_change_between_passes_are_not_seen(database):
    columns = two_columns()
    database.fill(columns)
    expected = release_of(database.source(), Ledger())

    def change(seen):
        database.execute("insert into visits select a + 1, b from visits")
        database.execute("update visits set b = 3")

    def quietly(seen, once=[]):  # noqa: B006 - remembers that it was called
        if not once:
            once.append(change(seen))

    assert release_of(database.source(), Ledger(), progress=quietly) == expected
    assert release_of(database.source(), Ledger()) != expected


def test_a_relation_and_a_file(tmp_path):
    columns = two_columns()
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("given", pa.table(columns))
        connection.execute("create table visits as select * from given")
        expected = release_of(gv.sql(connection, "select * from visits"), Ledger())
        assert release_of(gv.sql(connection.table("visits")), Ledger()) == expected
        assert release_of(gv.sql(connection.sql("select b, a from given")), Ledger()) == expected
        connection.execute("begin")
        with pytest.raises(SourceError, match="in the middle of a transaction"):
            release_of(gv.sql(connection.table("visits")), Ledger())
        connection.execute("rollback")
        labels = {"labels": gv.Labels(["x"], column="c"), "adaptive": False}
        levels = {"domain": gv.Domain({"a": (0, 10), "c": gv.Category(["x", "y"])})}
        for options in (labels, levels):
            ledger = Ledger()
            with pytest.raises(SourceError, match="takes no parameters"):
                release_of(gv.sql(connection.sql("select a, b, 'x' as c from visits")), ledger, **options)
            assert ledger.charged == []
    assert release_of(gv.sql(path, "select * from visits"), Ledger()) == expected
    assert release_of(gv.sql(str(path), "from visits"), Ledger()) == expected
    with pytest.raises(SourceError, match="could not be opened"):
        release_of(gv.sql(tmp_path / "nowhere.duckdb", "select 1 as a, 2 as b"), Ledger())
    assert not (tmp_path / "nowhere.duckdb").exists()


def test_a_connection_is_given_back_as_it_was(postgres):
    database = Postgres(postgres)
    database.fill(two_columns())
    expected = release_of(database.source(), Ledger())
    with psycopg.connect(database.url) as connection:
        assert release_of(gv.sql(connection, "select * from visits"), Ledger()) == expected
        assert (connection.read_only, connection.isolation_level) == (None, None)
        connection.execute("insert into visits values (1, 2)")
        with pytest.raises(SourceError, match="in the middle of a transaction"):
            release_of(gv.sql(connection, "select * from visits"), Ledger())
        connection.rollback()
        with pytest.raises(SourceError, match="names a table that does not exist"):
            release_of(gv.sql(connection, "select * from nothing"), Ledger())
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        assert release_of(gv.sql(connection, "select * from visits"), Ledger()) == expected
    assert database.execute("select count(*) from pg_stat_activity where state like 'idle in transaction%'") == [(0,)]


def killing(database, after):
    """A callback that ends all other connections after some passes."""

    def progress(seen, passes=[]):  # noqa: B006 - counts calls
        passes.append(seen)
        if len(passes) == after:
            database.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")

    return progress


def test_a_lost_connection_costs_nothing_before_the_charge_and_everything_after(postgres):
    database = Postgres(postgres)
    database.fill(two_columns())
    ledger = Ledger()
    with pytest.raises(SourceError, match=r"connection was lost|shutting down") as caught:
        release_of(database.source(), ledger, progress=killing(database, 1))
    assert "charged" in str(caught.value)
    assert len(ledger.charged) == 1
    for source in (
        gv.sql(database.url.replace(str(postgres.port), "1"), "select 1 as a, 2 as b"),
        database.source("select * from visits where pg_terminate_backend(pg_backend_pid())"),  # in the first pass
    ):
        before = Ledger()
        with pytest.raises(SourceError, match=r"connection was lost|shutting down") as caught:
            release_of(source, before)
        assert before.charged == []
        assert "charged" not in str(caught.value)


def test_a_statement_that_is_cancelled_or_forbidden_after_the_charge(postgres):
    """As by statement_timeout, whose error a function raises here as soon as somebody has taken a lock."""
    database = Postgres(postgres)
    database.fill(two_columns())
    schema, role = database.url.rpartition("%3D")[2], f"analyst_{database.url[-6:]}"
    database.execute(f"create role {role} login password 'x'")
    database.execute(f"grant usage on schema {schema} to {role}; grant select on visits to {role}")
    database.execute(
        "create function go_on() returns boolean language plpgsql as $$ begin if exists (select from pg_locks where "
        "locktype = 'advisory' and objid = 4242) then raise sqlstate '57014'; end if; return true; end $$"
    )
    url = database.url.replace(f"postgres:{postgres.password}", f"{role}:x")
    with psycopg.connect(database.url, autocommit=True) as other:
        for query, action, message in (
            ("select * from visits where go_on()", "select pg_advisory_lock(4242)", "57014"),
            ("select * from visits", f"revoke select on visits from {role}", "no right to read a table"),
        ):
            ledger = Ledger()
            with pytest.raises(SourceError, match=message) as caught:
                release_of(gv.sql(url, query), ledger, progress=lambda seen, action=action: other.execute(action))
            assert len(ledger.charged) == 1
            assert "charged" in str(caught.value)


def test_a_file_that_changes_between_passes(tmp_path):
    """Files are outside of transactions: another number of rows is noticed."""
    path, columns = tmp_path / "visits.parquet", two_columns()
    pq.write_table(pa.table(columns), path)
    ledger, written = Ledger(), []

    def change(seen):
        if not written:
            pq.write_table(pa.table(two_columns(201)), path)
            written.append(seen)

    with duckdb.connect() as connection:
        connection.execute("set enable_object_cache = false")
        with pytest.raises(SourceError, match=r"changed while|different number of rows|could not be opened") as caught:
            release_of(gv.sql(connection, f"select * from '{path}'"), ledger, progress=change)
    assert "charged" in str(caught.value)


BOX, NOISY = {"bounds": (0, 7)}, {"bounds": (0, 7), "neighbours": "add-remove"}
DROPPING = {
    "rows": (BOX, {"adaptive": True}),
    "groups": (BOX, {"by": {"arm": ["t", "c"]}}),
    "people": (BOX | {"person": "id"}, {"adaptive": True}),
    "averages of people": (BOX | {"person": "id", "variation": "between"}, {"adaptive": True}),
    "noise in n": (NOISY, {}),
    "noise in n of groups": (NOISY, {"by": {"arm": ["t", "c"]}}),
    "noise in the number of people": (NOISY | {"person": "id"}, {}),
    "a private norm and labels": ({"data_norm": "private"}, {"labels": gv.Labels(["t", "c"], column="arm")}),
}


@pytest.mark.parametrize("view", DROPPING_VIEWS)
@pytest.mark.parametrize("kind", DROPPING)
def test_a_line_that_a_reader_drops_counts_nowhere(tmp_path, kind, view):
    """A statement that does not need a column would not notice that its cell is malformed, and would see the line."""
    of_domain, options = DROPPING[kind]
    asked = {"adaptive": False, "budget": BUDGET, "random_state": 0} | options
    asked["domain"] = gv.Domain(columns=["x", "y", "z"], **of_domain)
    database, kept = dropping_view(tmp_path / "lines.csv", view)
    assert gv.release(database.source(), **asked) == gv.release(kept, **asked)


REFUSED = {
    "a table that does not exist": ("select * from nothing", "42P01|CatalogException"),
    "a column that does not exist": ("select nothing as a from visits", "42703|BinderException"),
    "a value that fails": ("select a / (b - b) as a, cast('x' || a as int) as b from visits", "22|Conversion"),
    "a missing column": ("select a from visits", "no column 'b'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_errors_are_named_without_a_value(database, kind):
    query, message = REFUSED[kind]
    columns = two_columns()
    columns["a"][0] = CANARY
    database.fill(columns)
    ledger = Ledger()
    with pytest.raises(SourceError, match=message) as caught:
        release_of(database.source(query), ledger)
    assert ledger.charged == []
    assert str(int(CANARY)) not in everything_said(caught.value)


def test_rights_and_timeouts(postgres):
    database = Postgres(postgres)
    database.fill(two_columns(20_000))
    role = f"reader_{database.url[-6:]}"
    database.execute(f"create role {role} login password 'x'")
    database.execute(f"grant usage on schema {database.url.rpartition('%3D')[2]} to {role}")
    with pytest.raises(SourceError, match="'a' appears more than once"):
        release_of(database.source("select a, a, b from visits"), Ledger())
    url = database.url.replace(f"postgres:{postgres.password}", f"{role}:x")
    for other, message in (
        (url, r"no right to read a table.* \(SQLSTATE 42501\)"),
        (url.replace(":x@", ":y@"), "did not accept the login|connection was lost"),
        (database.url + "%20-cstatement_timeout%3D1", r"statement_timeout allows \(SQLSTATE 57014\)"),
    ):
        ledger = Ledger()
        with pytest.raises(SourceError, match=message) as caught:
            release_of(gv.sql(other, "select * from visits, generate_series(1, 50)"), ledger)
        assert ledger.charged == []
        assert postgres.password not in everything_said(caught.value)


WRITES = [
    "insert into visits values (1, 2)", "drop table visits", "select 1 as a; select 2 as a", "", "not sql at all (",
    "with gone as (delete from visits returning *) select * from gone", "select * into copied from visits",
    "select a, b from visits for update", "select random() as a, b from visits", "copy visits to '/tmp/x'",
    "select * from visits limit 10", "select * from visits tablesample bernoulli (10)", "select $1 as a, b from visits",
    "explain select 1", "set jit = on", "create table x as select 1", "call something()", "vacuum",
]  # fmt: skip


@pytest.mark.parametrize("query", WRITES)
def test_only_a_select_that_reads_the_same_rows_again(database, query):
    with pytest.raises(InvalidParameter, match="query must be"):
        database.source(query)


def test_a_function_cannot_write(postgres):
    database = Postgres(postgres)
    database.fill(two_columns())
    database.execute(
        "create function wipe() returns float8 language plpgsql as $$ begin delete from visits; return 1; end $$"
    )
    ledger = Ledger()
    with pytest.raises(SourceError, match="SQLSTATE 25006"):
        release_of(database.source("select wipe() as a, b from visits"), ledger)
    assert ledger.charged == []
    assert database.execute("select count(*) from visits") == [(200,)]


class KindOfTomorrow(gv.Number):
    """What databases have not heard of."""


@dataclass(frozen=True)
class DomainOfTomorrow(gv.Domain):
    colour: str | None = None


def test_what_is_not_computed_there_is_refused_by_name(database):
    database.fill(two_columns())
    bounds = {"a": (0, 10)}
    for options, what in (
        ({"columns": {"a": KindOfTomorrow(1, 10)}}, r"'a': gv\.KindOfTomorrow"),
        ({"columns": {"a": gv.Number(1e-200, 10, scale="log")}}, r"'a': gv\.Number\(low=1e-200, scale=\"log\"\)"),
    ):
        ledger = Ledger()
        with pytest.raises(SourceError, match=f"{what} is not computed by databases yet"):
            release_of(database.source(), ledger, domain=gv.Domain(**options))
        assert ledger.charged == []
    ledger = Ledger()
    with pytest.raises(SourceError, match=r"Domain\(colour=\.\.\.\) is not computed by databases yet"):
        release_of(database.source(), ledger, domain=DomainOfTomorrow(bounds=bounds, colour="blue"))
    assert ledger.charged == []
    with pytest.raises(SourceError, match="SqlSource"):
        gv.PrivatePrecision(1.0, 1e-6, bounds=(0, 1)).partial_fit(database.source())


@pytest.mark.parametrize("connection", ["mysql://x/y", 3, None, object()])
def test_what_is_no_connection(connection):
    with pytest.raises(InvalidParameter, match="connection must be a URL"):
        gv.sql(connection, "select 1")


# ------------------------------------------------------------------ injection
PAYLOADS = [
    '"; drop table visits; --', "'; drop table visits; --", '" from visits; drop table visits; select "', "a\\", "a`b",
    '""', "$1", "%s", "{0}", "/* x */", "--", "a;b", "a\nb", 'x" AS "y', "a) FROM visits; DROP TABLE visits; --",
    "select", "ü", "a b", "1", "'", '"', "`", "?", ":a", "@a", "a.b", "\\'; drop table visits; --", "E'\\''", "$$",
]  # fmt: skip


def odd_names(seed, count):
    rng = np.random.default_rng(seed)
    names = {"".join(rng.choice(PAYLOADS, size=rng.integers(1, 4)))[:60] for _ in range(3 * count)}
    return sorted(name for name in names if len(name.encode()) <= 60)[:count]


def test_names_are_names(database):
    """420 names of columns and as many of classes in each database: none runs."""
    names = odd_names(0, 420)
    assert len(names) == 420
    rows = np.random.default_rng(0).uniform(0, 1, size=(6, len(names)))
    for start in range(0, len(names), 20):
        part = names[start : start + 20]
        columns = {name: rows[:, start + j] for j, name in enumerate(part)}
        classes = odd_names(start + 1, 8)
        columns["label"] = np.array(classes[:6], dtype=object)
        database.fill(columns)
        domain = gv.Domain(columns=part, bounds=(0, 1))
        frame = pd.DataFrame(columns).astype({"label": "string"})
        labels = gv.Labels(classes, column="label")
        assert_same_answers(database, frame, domain, [Moments(1.0)], labels, adaptive=False)
    assert database.execute("select count(*) from visits") == [(6,)]


def test_names_of_tables_are_names(database):
    for name in odd_names(7, 60):
        table = exp.Table(this=exp.to_identifier(name, quoted=True)).sql(dialect=database.source()._dialect)
        database.execute(f"create table {table} as select 1.0 as a, 2.0 as b")
        source = database.source(f"select * from {table}")
        assert exact_answers(source, gv.Domain(bounds=(0, 2)), [Moments(1.0)], Constant(), adaptive=False)[0] == 1
        database.execute(f"drop table {table}")


# ------------------------------------------------------------------ what is sent can be read
def test_the_statements_of_a_release_can_be_read(database):
    database.fill(frame_columns())
    source = database.source()
    domain = CALLS["adaptive"]["domain"]
    for dialect in DIALECTS:
        shown = source.explain(domain, dialect=dialect)
        statements = [line for line in shown.splitlines() if not line.startswith("--")]
        assert len(statements) == 8
        for text in statements:
            (tree,) = sqlglot.parse(text, read=dialect)
            assert isinstance(tree, exp.Select)
        exact = {"postgres": 'SUM("k0"', "duckdb": 'SUM("k0"', "bigquery": "AS BIGNUMERIC"}
        assert exact.get(dialect, "AS DECIMAL(38, 0)") in shown
    for name in PUSHED_DOWN:
        made = EXPECTED[name]
        shown = source.explain(made)
        assert shown.count('SELECT COUNT(*) AS "n"') >= sum(isinstance(a.query, Moments) for a in made.answers)
        assert ("'gone'" in shown) == (name == "labels")
    with pytest.raises(InvalidParameter, match="dialect must be one of bigquery"):
        source.explain(domain, dialect="oracle")
    with pytest.raises(InvalidParameter, match=r"about must be a gv\.Domain or"):
        source.explain("everything")


def test_nothing_is_shown_of_a_connection(postgres):
    database = Postgres(postgres)
    assert postgres.password not in repr(database.source("select 1 as a"))
    assert repr(database.source("select 1 as a -- hidden")) == "<gv.sql: postgres, SELECT 1 AS a>"
