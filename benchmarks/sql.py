"""Sums made inside a database against fetching the rows through Arrow and summing them here; saved line by line.

    python benchmarks/sql.py                          PostgreSQL and DuckDB, 20,000 and 200,000 rows
    python benchmarks/sql.py --rows 10000000 -p 10    one size, once

Writes benchmarks/results/sql.csv. Both ways make the same release, seeded, which must have the same bits. The server of
PostgreSQL is on this machine, so that fetching costs no network: `bandwidth` is what a network would have to carry, in
MB/s, for fetching to be as fast (nothing where fetching is slower even so).
"""

import argparse
import csv
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa

import graphveil as gv

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers.postgres_server import Server

RESULTS = Path(__file__).parent / "results" / "sql.csv"
FIELDS = ["database", "rows", "columns", "rounds", "inside", "fetch", "here", "ratio", "low", "high", "bandwidth"]
FIELDS += ["repeats"]
SIZES = [(20_000, 5), (20_000, 20), (20_000, 50), (200_000, 5), (200_000, 20)]
BUDGET, QUERY = gv.Budget(1.0, 1e-9), "select * from visits"


def fill(execute, series, n, p):
    """A table of p columns that correlate, made where it will lie."""
    cells = ", ".join(f"common + random() + random() + random() - 1.5 as c{j}" for j in range(p))
    execute("drop table if exists visits")
    execute(f"create table visits as select {cells} from (select random() - 0.5 as common from {series}) t")


@contextmanager
def duckdb_table(n, p):
    """A source, and what fetches its rows."""
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/visits.duckdb") as connection:
            fill(connection.execute, f"range({n})", n, p)
        with duckdb.connect(f"{folder}/visits.duckdb", read_only=True) as connection:
            yield gv.sql(connection, QUERY), lambda: connection.sql(QUERY).to_arrow_table()


def postgres_table(server):
    """The same of a server."""

    @contextmanager
    def table(n, p):
        fill(server.execute, f"generate_series(1, {n})", n, p)
        server.execute("vacuum (analyze) visits")
        yield gv.sql(server.url(), QUERY), lambda: fetch_postgres(server.url())
        server.execute("drop table visits")

    return table


def fetch_postgres(url):
    """Through ADBC, which reads binary results straight into Arrow."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(QUERY)
        return cursor.fetch_arrow_table()


def timed(action):
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def measure(source, fetch, domain, repeats, *, adaptive):
    """Seconds of each way, in turns: inside, to fetch, here."""
    options = {"domain": domain, "budget": BUDGET, "adaptive": adaptive, "random_state": 0}
    for _ in range(repeats):
        inside, seconds = timed(lambda: gv.release(source, **options))
        rows, fetching = timed(fetch)
        here, summing = timed(lambda: gv.release(rows, **options))  # noqa: B023 - called at once
        assert inside == here, "not the same bits"
        yield seconds, fetching, summing, rows.nbytes


def compare(database, table, sizes, repeats):
    """A line for each size, with several rounds and with one."""
    with table(1000, 3) as (source, fetch):  # loads and compiles what is needed
        list(measure(source, fetch, gv.Domain(bounds=(-3, 3)), 1, adaptive=True))
    for n, p in sizes:
        domain = gv.Domain(columns=[f"c{j}" for j in range(p)], bounds=(-3, 3))
        with table(n, p) as (source, fetch):
            for adaptive in (False, True):
                found = list(measure(source, fetch, domain, repeats, adaptive=adaptive))
                ratios = [inside / (fetching + here) for inside, fetching, here, _ in found]
                inside, fetching, here = (statistics.median(column) for column in list(zip(*found, strict=True))[:3])
                saved = inside - here
                line = {
                    "database": database, "rows": n, "columns": p, "rounds": "adaptive" if adaptive else "one",
                    "inside": inside, "fetch": fetching, "here": here, "ratio": statistics.median(ratios),
                    "low": min(ratios), "high": max(ratios),
                    "bandwidth": found[0][3] / saved / 1e6 if saved > 0 else None, "repeats": repeats,
                }  # fmt: skip
                record(line)


def record(line):
    """Append it at once: an interrupted run keeps what it has."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()})
    print(*(f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}" for key, value in line.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, help="one size instead of all")
    parser.add_argument("-p", type=int, default=10, help="its columns")
    parser.add_argument("--repeats", type=int, help="3 of all sizes, 1 of one")
    parser.add_argument("--only", choices=["duckdb", "postgres"])
    arguments = parser.parse_args()
    sizes = SIZES if arguments.rows is None else [(arguments.rows, arguments.p)]
    repeats = arguments.repeats or (3 if arguments.rows is None else 1)
    print("duckdb", duckdb.__version__, "psycopg", psycopg.__version__, "pyarrow", pa.__version__)
    if arguments.only != "postgres":
        compare("DuckDB", duckdb_table, sizes, repeats)
    if arguments.only != "duckdb":
        server = Server()
        try:
            compare("PostgreSQL", postgres_table(server), sizes, repeats)
        finally:
            server.close()


if __name__ == "__main__":
    main()
