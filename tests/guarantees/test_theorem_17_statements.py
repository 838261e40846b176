"""Theorem 17: statements make the integers of the clip, in a real DuckDB and a real PostgreSQL, and none can fail."""

import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sqlglot
from sqlglot import expressions as exp

import graphveil as gv
from graphveil.engines import sql_layers, sql_statements
from graphveil.engines.sql_arithmetic import column, number
from graphveil.engines.sql_dialects import DIALECTS
from graphveil.engines.sql_statements import Statements
from graphveil.exceptions import SourceError
from graphveil.rows.encoding import Encoder, row_norms
from graphveil.rows.recoding import SQRT_HALF, Recoder
from graphveil.spec.augmentation import Constant
from graphveil.spec.quantization import PERSON_WEIGHT
from graphveil.spec.queries import CellCounts, ColumnMeans, Moments, NormCounts, ObservedPairs
from graphveil.spec.row_space import RowSpace
from helpers.databases import (
    DROPPING_VIEWS,
    DuckDB,
    Postgres,
    assert_same_answers,
    dropping_view,
    every_query,
    hostile_rows,
    table_of,
)


@pytest.fixture(params=["duckdb", "postgres"])
def database(request):
    return DuckDB() if request.param == "duckdb" else Postgres(request.getfixturevalue("postgres"))


def statements_for(source, domain, augment=None):
    """What writes the statements of a release of one round, and the table that they are about."""
    with closing(source.open(domain, None)) as opened:
        resolved = domain.resolve(opened.columns, opened.n_features)
        space = RowSpace.of(resolved, augment, augment)
        encoder = Encoder(resolved, augment, shift=augment is not None)
        return Statements(opened.table, sql_statements.Dialect("duckdb", 10**7, ("HASH",)), space, encoder), encoder


def compared_with(statement):
    """Every number in a statement."""
    tree = sqlglot.parse_one(statement.text, read="duckdb")
    texts = [node.this for node in tree.find_all(exp.Literal)]
    return sorted({float(text) for text in texts if text.replace(".", "").replace("-", "").replace("e", "").isdigit()})


DOMAINS = {
    "bounds": {"bounds": (-3.0, 3.0)},
    "bounds that shift": {"bounds": (-1.25, 7.0)},
    "small bounds": {"bounds": (-(2.0**-200), 2.0**-200)},
    "a norm": {"data_norm": 1.7},
    "a large norm": {"data_norm": 2.0**200},
    "both": {"bounds": (-3.0, 3.0), "data_norm": 0.3},
}


@pytest.mark.parametrize("kind", DOMAINS)
def test_next_to_every_number_that_is_compared_with(database, kind):
    """A comparison that is off by one unit in the last place would show here."""
    domain = gv.Domain(**DOMAINS[kind])
    database.fill({"a": np.zeros(1), "b": np.zeros(1)})
    statements, encoder = statements_for(database.source(), domain)
    centre, scale, ends, _ = encoder.box
    (statement,) = statements.plan(Moments(1.0)).statements
    halves_of_steps = np.arange(9) / (2.0 * scale[0] * 2.0**20)
    edges = np.concatenate([compared_with(statement), ends[:, 0] / scale[0], halves_of_steps])
    assert len(edges) > 12
    values = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    values = np.concatenate([values, -values])
    values = np.concatenate([values, values + centre[0]])
    rows = np.stack([np.append(values, np.zeros(len(values))), np.tile(values[::-1], 2)], axis=1)
    database.fill(table_of(rows))
    radius = domain.resolve(None, 2).radius
    for augment in (None, Constant()):
        if augment is not None or "shift" not in kind:
            assert_same_answers(database, rows, domain, [Moments(radius)], augment, adaptive=False)


def break_rounding(monkeypatch):
    """Halves go up."""

    def up(name):
        return exp.Floor(this=exp.Add(this=column(name), expression=exp.Literal.number("0.5")))

    monkeypatch.setattr(sql_layers, "round_half_even", up)


def break_order(monkeypatch):
    """A norm is summed from the first to the last column."""

    def straight(names, *, tiny):
        total = exp.Mul(this=column(names[0]), expression=column(names[0]))
        for name in names[1:]:
            total = exp.Add(this=total, expression=exp.Mul(this=column(name), expression=column(name)))
        return total

    monkeypatch.setattr(sql_statements, "square_norm", straight)


def break_products(monkeypatch):
    """The smallest factor is not looked for."""
    monkeypatch.setattr(sql_layers, "least_factor", lambda factor: 0.0)
    monkeypatch.setattr(sql_layers, "_NEGLIGIBLE", 0.0)


def halves():
    """Rows half-way between two steps of the lattice."""
    domain = gv.Domain(bounds=(-1.0, 1.0))
    levels = Encoder(domain.resolve(None, 9), None, shift=False).lattice.levels
    rows = (np.random.default_rng(0).integers(-90, 90, size=(50, 9)) + 0.5) / levels
    return rows, domain, Moments(3.0)


def norms():
    """Rows whose norms are the edges of a histogram."""
    rows = np.random.default_rng(0).normal(size=(200, 17))
    edges = np.empty(200)
    row_norms(rows, edges)
    return rows, gv.Domain(data_norm="private"), NormCounts(np.unique(edges))


def smallest():
    """Rows of the smallest double that there is, in wide bounds."""
    return np.full((3, 2), 5e-324), gv.Domain(bounds=(-1e10, 1e10)), Moments(1.0)


@pytest.mark.parametrize(
    ("made", "breaking"), [(halves, break_rounding), (norms, break_order), (smallest, break_products)]
)
def test_what_is_proved_is_needed(postgres, monkeypatch, made, breaking):
    """Each is what somebody would write who has not read the proof: other integers, or a statement that fails."""
    database = Postgres(postgres)
    rows, domain, query = made()
    database.fill(table_of(rows))
    assert_same_answers(database, rows, domain, [query], None, adaptive=False)
    breaking(monkeypatch)
    with pytest.raises((AssertionError, SourceError)):
        assert_same_answers(database, rows, domain, [query], None, adaptive=False)


def longest_row(database, domain):
    """The largest Σk² among the rows that would be summed, as the database has them."""
    statements, encoder = statements_for(database.source(), domain)
    layers = statements._clipped()
    squares = [exp.Mul(this=column(name), expression=column(name)) for name in layers.names("k")]
    total = squares[0]
    for square in squares[1:]:
        total = exp.Add(this=total, expression=square)
    top = exp.Select(expressions=[exp.Max(this=total)]).from_(layers.below(), copy=False)
    ((longest,),) = database.execute(top.sql(dialect="duckdb"))
    return longest, encoder.lattice.row_square


def test_no_arithmetic_makes_a_row_longer_than_its_bound(monkeypatch):
    """Where quotients were wrong, rows would be lost, and none would be too long."""
    database = DuckDB()
    database.fill(table_of(hostile_rows(300, 7, 1)))
    domain = gv.Domain(data_norm=2.0)
    longest, bound = longest_row(database, domain)
    assert 0.99 * bound < longest <= bound
    right = sql_layers._factor
    monkeypatch.setattr(
        sql_layers, "_factor", lambda *of: exp.Mul(this=exp.Paren(this=right(*of)), expression=number(1.5))
    )
    longest, bound = longest_row(database, domain)
    assert 0 < longest <= bound


def test_cells_become_the_same_numbers(database):
    """Bit by bit: codes, levels, roots, and logarithms next to every number that they are compared with."""
    low, high = 2.0**-30, 3.0e4
    edges = np.array([math.ldexp(m, e) for m in (0.5, SQRT_HALF, 1.0) for e in range(-31, 17)] + [low, high, 999.0])
    values = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, 0.0)])
    values = np.concatenate([values, np.random.default_rng(1).lognormal(0.0, 9.0, 500)])
    values = np.concatenate([values, hostile_rows(60, 9, 1).ravel()])
    kinds = {
        "log": gv.Number(low, high, scale="log", missing=[999]), "sqrt": gv.Number(0, high, scale="sqrt"),
        "plain": gv.Number(0, high, missing=[1.0, 0.1, 1e60]), "score": gv.Ordinal([0.5, 1, 4096]),
        "level": gv.Category([1, 2, 0.25]), "part": gv.Category([1, 2], missing=True),
        "last": gv.Category([4, 2], missing="level"),
    }  # fmt: skip
    database.fill(dict.fromkeys(kinds, values))
    domain = gv.Domain(kinds)
    statements, _ = statements_for(database.source(), domain)
    layers = replace(statements, dialect=DIALECTS[database.source()._dialect])._rows()
    chosen = [column(name) for name in layers.names("x")]
    top = exp.Select(expressions=chosen).from_(layers.below(), copy=False)
    found = np.array(database.execute(top.sql(dialect=database.source()._dialect)), dtype=float)
    expected = Recoder(domain.codebook).recode(np.repeat(values[:, None], len(kinds), axis=1))
    assert np.isnan(expected).any(axis=0).sum() >= 5
    for rows in (found, expected):
        rows[np.isnan(rows)] = -1e9
    order = [np.lexsort(rows.T) for rows in (found, expected)]
    assert (found[order[0]] + 0.0).tobytes() == (expected[order[1]] + 0.0).tobytes()


def test_edges_that_no_norm_of_a_database_reaches_are_refused(database):
    database.fill(table_of(np.full((3, 2), 1e200)))
    domain = gv.Domain(data_norm="private")
    assert_same_answers(database, np.full((3, 2), 1e200), domain, [NormCounts(np.array([1.0, 2.0**500]))])
    with pytest.raises(SourceError, match="too extreme"):
        assert_same_answers(database, np.full((3, 2), 1e200), domain, [NormCounts(np.array([1.0, 2.0**501]))])


def test_a_row_is_of_one_class(postgres):
    """PostgreSQL compares char(n) without trailing blanks: a row could have been of two classes, and too long."""
    database = Postgres(postgres)
    database.execute("create table visits (x float8, label char(3))")
    database.execute("insert into visits values (1, 'a'), (2, 'b'), (3, '')")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "label": pd.Series(["a", "b", ""], dtype="string")})
    domain, labels = gv.Domain(bounds={"x": (0, 20)}), gv.Labels(["a", "a ", "a  ", "b"], column="label")
    assert_same_answers(database, frame, domain, [Moments(1.0)], labels, adaptive=False)


def test_an_enumeration_is_text_and_its_values_are_not_said():
    database = DuckDB()
    database.execute("create type ward as enum ('canary', 'b')")
    database.execute("create table visits as select 1.5 as x, 'b'::ward as label")
    frame = pd.DataFrame({"x": [1.5], "label": pd.Series(["b"], dtype="string")})
    domain, labels = gv.Domain(bounds={"x": (0, 20)}), gv.Labels(["a", "b"], column="label")
    assert_same_answers(database, frame, domain, [Moments(1.0)], labels, adaptive=False)
    with pytest.raises(SourceError, match="Column 'label' has type ENUM, which cannot be read as a number") as caught:
        gv.release(database.source(), domain=gv.Domain(bounds=(0, 1)), budget=gv.Budget(1.0, 1e-6))
    assert "canary" not in str(caught.value)


def test_the_weights_of_a_person_are_at_most_one(database):
    """Also of those who have more rows than a weight has parts, and of those who have no id."""
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(40), rng.integers(1, 60, size=40))
    rows = hostile_rows(len(ids), 3, 3)
    database.fill(table_of(rows) | {"id": ids})
    frame = pd.DataFrame(table_of(rows)).assign(id=ids)
    domain = gv.Domain(columns=["c0", "c1", "c2"], bounds=(-9, 20), person="id")
    assert_same_answers(database, frame, domain, every_query(domain, 3, 3), Constant(), n=40)
    statements, _ = statements_for(database.source(), domain)
    weights = statements._row_weight()
    selected = exp.select(column("id"), exp.Alias(this=weights, alias="w")).from_("visits").subquery("rows")
    total = exp.select(column("id"), exp.Sum(this=column("w"))).from_(selected).group_by(column("id"))
    sums = dict(database.execute(total.sql(dialect=database.source()._dialect)))
    counts = np.bincount(ids)
    assert sums == {person: PERSON_WEIGHT // m * m for person, m in enumerate(counts)}


@pytest.mark.parametrize("view", DROPPING_VIEWS)
def test_every_statement_sees_the_same_rows(tmp_path, monkeypatch, view):
    """Also one that needs no column, or another one than that whose cell makes a reader drop the line."""
    monkeypatch.setattr(sql_statements, "_COLUMNS_AT_A_TIME", 1)
    database, kept = dropping_view(tmp_path / "lines.csv", view)
    domain = gv.Domain({"x": gv.Number(0, 7, missing=True), "y": (0, 7), "z": (0, 7)})
    edge = np.full(3, 2.0**20)
    first, every = np.zeros(1), np.arange(3.0)
    queries = [ObservedPairs(first), CellCounts(every), ColumnMeans(-edge, edge, np.ones(3), every)]
    assert_same_answers(database, kept, domain, queries, Constant())
    for query in (*queries, CellCounts(first)):
        assert_same_answers(database, kept, domain, [query], Constant())
    raw = gv.Domain(columns=["x", "y", "z"], data_norm="private")
    labels = gv.Labels(["t", "c"], column="arm")
    assert_same_answers(database, kept, raw, [NormCounts(np.array([1.0, 2.0]))], labels, adaptive=False)
