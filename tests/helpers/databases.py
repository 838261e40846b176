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


def exact_answers(source, domain, queries, augment=None, *, adaptive=True):
    """What each query sums, in integers: of rows in a database or anywhere else."""
    opened = open_engine(source, domain, augment) or open_source(source, domain, augment)
    try:
        evaluator = Evaluator(opened, domain.resolve(opened.columns, opened.n_features), augment, adaptive=adaptive)
        found = evaluator.evaluate(queries)
        return evaluator.count(), [statistic.answer(query) for query, statistic in zip(queries, found, strict=True)]
    finally:
        opened.close()
