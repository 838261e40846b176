"""``gv.sql``: rows that stay in their database, which returns sums of integers."""

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

from graphveil.exceptions import InvalidParameter
from graphveil.spec.augmentation import Labels
from graphveil.spec.domain import Domain

if TYPE_CHECKING:
    from sqlglot import expressions as exp

    from graphveil.engines.sql_rows import SqlRows
    from graphveil.engines.sql_sessions import Session
    from graphveil.released.release import Release
    from graphveil.spec.kinds import Level

__all__ = ["SqlSource", "sql"]

_POSTGRES = ("postgresql://", "postgres://")
_CONNECTIONS = (
    'a URL ("postgresql://…"), the path of a DuckDB database, or a connection of psycopg or DuckDB, with a query; or a '
    "relation of DuckDB alone"
)


def sql(connection: Any, query: str | None = None) -> "SqlSource":
    """Rows of a query, to be summed inside the database.

    Give the result to :func:`graphveil.release`. The database clips, rounds and sums the rows; each pass returns about
    p² integers, and no row. The result is identical to that of any other source, to the last bit.

    Parameters
    ----------
    connection : str, path, connection or relation
        ``"postgresql://user@host/database"``, the path of a DuckDB database (opened for reading only), an idle
        connection of psycopg or DuckDB, or a DuckDB relation.
    query : str
        A ``SELECT`` that returns one row for each record, the same ones every time. Not with a relation, which is one.

    Returns
    -------
    SqlSource
        Connects when a release is made. Its method ``explain`` shows the statements.

    Examples
    --------
    >>> import duckdb, graphveil as gv
    >>> database = duckdb.connect()
    >>> _ = database.execute("create table visits as select i % 80 as age, 20 + i % 17 as bmi from range(5000) r(i)")
    >>> source = gv.sql(database, "select age, bmi from visits where age >= 18")
    >>> domain = gv.Domain(bounds={"age": (0, 110), "bmi": (10, 60)})
    >>> gv.release(source, domain=domain, budget=gv.Budget(1.0, 1e-6)).n_samples
    3866
    """
    return SqlSource(connection, query)


class SqlSource:
    """A query of a database; made by :func:`graphveil.sql`."""

    def __init__(self, connection: Any, query: str | None) -> None:
        _require_sqlglot()
        self._dialect = _dialect_of(connection)
        is_relation = type(connection).__name__ == "DuckDBPyRelation"
        if is_relation != (query is None) or not isinstance(query, str | None):
            raise InvalidParameter.of("query", "a SELECT, as text; None with a relation of DuckDB", query)
        self._connection = connection
        self._query = _parse("select * from relation" if query is None else query, self._dialect)

    def __repr__(self) -> str:
        return f"<gv.sql: {self._dialect}, {self._query.sql(dialect=self._dialect, comments=False)}>"

    def open(
        self, domain: Domain, labels: Labels | None, levels: "tuple[str, tuple[Level, ...]] | None" = None
    ) -> "SqlRows":
        """Connect, begin a transaction, and check the schema; ``levels`` are those of a column that makes groups."""
        from graphveil.engines.sql_rows import SqlRows

        session = self._connect()
        try:
            return SqlRows.of_query(session, self._query, domain, labels, levels)
        except BaseException:
            session.close()
            raise

    def explain(self, about: "Domain | Release", *, dialect: str | None = None) -> str:
        """The statements of a release, as they are sent. Reads no row and spends nothing.

        Parameters
        ----------
        about : Domain or Release
            For a release, the statements that were sent. For a domain, one statement of each kind that a release may
            send.
        dialect : {"postgres", "duckdb", "snowflake", "bigquery", "databricks"}, optional
            Another database to write them for. No test runs those of the last three.
        """
        from graphveil.engines.sql_dialects import dialect_named
        from graphveil.engines.sql_explain import explain_domain, explain_release
        from graphveil.released.release import Release
        from graphveil.spec.grouping import GroupEvent

        written_for = dialect_named(dialect or self._dialect)
        domain = about.domain if isinstance(about, Release) else about
        if not isinstance(domain, Domain):
            raise InvalidParameter.of("about", "a gv.Domain or a gv.Release", type(about).__name__)
        labels = about.augment if isinstance(about, Release) and isinstance(about.augment, Labels) else None
        event = about.event if isinstance(about, Release) else None
        levels = (event.group[0], event.group[1:]) if isinstance(event, GroupEvent) else None
        with closing(self.open(domain, labels, levels)) as rows:
            if isinstance(about, Release):
                asked = rows.group(0) if isinstance(event, GroupEvent) else rows
                return explain_release(about, asked.table, written_for)
            return explain_domain(rows.domain, rows.table, written_for)

    def _connect(self) -> "Session":
        from graphveil.engines.sql_sessions import DuckDBSession, PostgresSession

        return PostgresSession(self._connection) if self._dialect == "postgres" else DuckDBSession(self._connection)


def _dialect_of(connection: Any) -> str:
    """By the type of a connection alone; drivers are imported when they are used."""
    if isinstance(connection, str) and connection.startswith(_POSTGRES):
        return "postgres"
    package = type(connection).__module__.partition(".")[0]
    if package == "psycopg" and hasattr(connection, "pgconn") and not hasattr(connection, "__await__"):
        return "postgres"
    if package in ("duckdb", "_duckdb") or isinstance(connection, os.PathLike):
        return "duckdb"
    if isinstance(connection, str) and "://" not in connection:
        return "duckdb"
    raise InvalidParameter.of("connection", _CONNECTIONS, type(connection).__name__)


def _parse(query: str, dialect: str) -> "exp.Query":
    """One SELECT that reads, and returns the same rows every time as far as its text tells."""
    import sqlglot
    from sqlglot import expressions as exp

    try:
        trees = sqlglot.parse(query, read=dialect)
    except Exception:
        raise InvalidParameter.of("query", f"a SELECT that sqlglot can parse as SQL of {dialect}", query) from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query):
        raise InvalidParameter.of("query", "a single SELECT", query)
    for kind, rule in (
        ((exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock), "a SELECT that only reads"),
        ((exp.Parameter, exp.Placeholder), "a SELECT without parameters"),
        ((exp.Rand, exp.TableSample), "a SELECT that returns the same rows every time"),
    ):
        found = next((node for node in tree.find_all(*kind) if not isinstance(node, exp.Query)), None)
        if found is not None:
            raise InvalidParameter.of("query", rule, query)
    for select in tree.find_all(exp.Query):
        if (select.args.get("limit") or select.args.get("offset")) and not select.args.get("order"):
            raise InvalidParameter.of(
                "query", "a SELECT whose LIMIT has an ORDER BY, so that it always is the same", query
            )
    return tree


def _require_sqlglot() -> None:
    try:
        import sqlglot  # noqa: F401
    except ImportError:
        raise ImportError("gv.sql needs sqlglot and a driver: pip install 'graphveil[sql]'.") from None
