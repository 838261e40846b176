"""Tables in a real DuckDB and a real PostgreSQL, filled to the last bit, and the exact answers of both sides."""

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql as quoted

import graphveil as gv
from graphveil.engines import open_engine
from graphveil.rows.evaluator import Evaluator
from graphveil.rows.sources import open_source
from graphveil.spec.queries import CellCounts, ClippedTail, ColumnMeans, ColumnSquares, Moments, NormCounts, RowMap

TYPES = {"f": "float8", "i": "int8", "b": "bool", "O": "text", "T": "text", "U": "text"}


class DuckDB:
    """A database in memory."""

    def __init__(self):
        self.connection = duckdb.connect()

    def fill(self, columns):
        """A new table ``visits`` with these columns, by name."""
        table = pa.table({name: pa.array(values, from_pandas=False) for name, values in columns.items()})
        self.connection.register("given", table)
        self.connection.execute("create or replace table visits as select * from given")
        self.connection.unregister("given")

    def execute(self, statement):
        return self.connection.execute(statement).fetchall()

    def source(self, query="select * from visits"):
        return gv.sql(self.connection, query)


class Postgres:
    """A schema of its own on the test server."""

    def __init__(self, server):
        self.server = server
        self.url = server.new_schema()

    def fill(self, columns):
        names = quoted.SQL(", ").join(
            quoted.SQL("{} {}").format(quoted.Identifier(name), quoted.SQL(TYPES[np.asarray(values).dtype.kind]))
            for name, values in columns.items()
        )
        with psycopg.connect(self.url) as connection:
            connection.execute("drop table if exists visits")
            connection.execute(quoted.SQL("create table visits ({})").format(names))
            with connection.cursor().copy("copy visits from stdin") as copy:
                for row in zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True):
                    copy.write_row(row)

    def execute(self, statement):
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def source(self, query="select * from visits"):
        return gv.sql(self.url, query)


DROPPING_VIEWS = {
    "the column": "x, y, z, id, arm",
    # DuckDB knows without looking that this y is never NULL.
    "an expression": "x, case when y > 2 then 1 else 0 end as y, z, id, arm",
}


def dropping_view(path, view):
    """A DuckDB whose reader drops one of 2,000 lines, since a cell of it is no number; and the rows that remain.

    One line is empty.
    """
    lines = [f"{i % 7},{i % 5},{i % 3},{i % 1_900},{'tc'[i % 2]}" for i in range(2_000)]
    lines[50], lines[60] = "3,oops,1,5000,t", ",,,,"
    path.write_text("\n".join(["x,y,z,id,arm", *lines, ""]))
    database = DuckDB()
    database.execute(
        f"create view visits as select {DROPPING_VIEWS[view]} from read_csv('{path}', header = true, "
        "ignore_errors = true, columns = {'x': 'DOUBLE', 'y': 'DOUBLE', 'z': 'DOUBLE', 'id': 'INT8', 'arm': 'TEXT'})"
    )
    kept = database.connection.execute("select * from visits").df().astype({"id": "Int64", "arm": "string"})
    assert len(kept) == 1_999
    return database, kept


def exact_answers(source, domain, queries, augment=None, *, adaptive=True):
    """What each query sums, in integers: of rows in a database or anywhere else."""
    opened = open_engine(source, domain, augment) or open_source(source, domain, augment)
    try:
        evaluator = Evaluator(opened, domain.resolve(opened.columns, opened.n_features), augment, adaptive=adaptive)
        found = evaluator.evaluate(queries)
        return evaluator.count(), [statistic.answer(query) for query, statistic in zip(queries, found, strict=True)]
    finally:
        opened.close()


HOSTILE = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-302, 9.4e-302, 1e-200,
    1.5717277847026285e-162, 1.5717277847026288e-162, 1e-150, 1e-5, 0.5, -0.5, 1.5, 2.5, 0.49999999999999994, 1.0, 7.25,
    1e5, 1e100, 1e150, 3.3e150, 1e154, 1.4e154, 1e200, 1.7976931348623157e308, -1.7976931348623157e308, -1e308,
]  # fmt: skip


def hostile_rows(n, p, seed):
    """Ordinary rows, some of which hold the worst that a double can be."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(2.0, size=(n, p)) * 10.0 ** rng.integers(-2, 3, size=p)
    bad = rng.random((n, p)) < 0.2
    rows[bad] = rng.choice(HOSTILE, size=bad.sum())
    rows[0] = np.nan
    rows[1] = np.inf
    rows[2] = 5e-324
    return rows


def table_of(rows):
    return {f"c{j}": rows[:, j] for j in range(rows.shape[1])}


def random_map(p, seed, *, cuts):
    rng = np.random.default_rng(seed)
    edge = np.full(p, 2.0**20)
    reach = np.floor(2.0**20 / np.sqrt(p)) if cuts else edge[0]
    low, high = np.full(p, -np.floor(reach / 3)) if cuts else -edge, np.full(p, reach)
    matrix = (np.eye(p) + rng.normal(size=(p, p)) / (2 * np.sqrt(p))) * 10.0 ** rng.integers(-7, -3, size=p)
    return RowMap.of(matrix, rng.normal(size=p) * 1e4 / np.sqrt(p), low, high)


def every_query(domain, p, seed):
    """Each kind of question, with windows and maps that cut and that do not."""
    queries = []
    for cuts in (False, True):
        row_map = random_map(p, seed, cuts=cuts)
        queries += [
            NormCounts(np.geomspace(0.01, 10.0, 23), row_map),
            Moments(1.0, 0.25, row_map),
            Moments(0.125, 0.0, row_map),
            ClippedTail(row_map, 0.25, 1.5),
        ]
    every, ones = np.arange(p, dtype=float), np.ones(p)
    edge, centre = np.full(p, 2.0**19), np.full(p, 77.0)
    queries += [
        ColumnMeans(-edge, edge, ones, every),
        ColumnSquares(-np.floor(edge / 8), np.floor(edge / 3), centre, 3 * ones, every),
    ]
    if domain.data_norm is None:
        queries.append(CellCounts(every[:: max(1, p // 3)]))
    return queries


def assert_same_answers(database, rows, domain, queries, augment=None, n=None, **options):
    counted, found = exact_answers(database.source(), domain, queries, augment, **options)
    again, expected = exact_answers(rows, domain, queries, augment, **options)
    assert counted == again == (len(rows) if n is None else n)
    for query, ours, theirs in zip(queries, found, expected, strict=True):
        for name in theirs:
            assert ours[name].tolist() == theirs[name].tolist(), (type(query).__name__, name)
