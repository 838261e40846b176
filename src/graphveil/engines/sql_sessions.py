"""Connections to databases: read-only, one snapshot from the first statement to the last, and no data in messages.

What a database says about a failure may quote a value, so only its class is repeated: SQLSTATE, or the type of the
exception, in our words.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from graphveil.engines.sql_dialects import DIALECTS, Column, Dialect
from graphveil.engines.sql_statements import Statement
from graphveil.exceptions import SourceError
from graphveil.rows.sanitized_errors import call_sanitized

__all__ = ["RELATION", "DuckDBSession", "PostgresSession", "Session"]

T = TypeVar("T")
RELATION = "relation"  # what a query calls the relation that it is about


class Session(ABC):
    """A read-only transaction that sees the database as it was when it began."""

    dialect: Dialect

    @abstractmethod
    def fetch(self, statement: Statement) -> list[tuple[Any, ...]]:
        """All rows of the result."""

    @abstractmethod
    def describe(self, statement: Statement) -> list[Column]:
        """The columns of the result."""

    @abstractmethod
    def close(self) -> None:
        """End the transaction, and whatever was opened for it. Never raises."""


# ------------------------------------------------------------------ PostgreSQL
_POSTGRES_KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "float4": "float", "float8": "float",
    "numeric": "decimal", "bool": "boolean", "text": "text", "varchar": "text", "bpchar": "text", "bytea": "bytes",
}  # fmt: skip
_SQLSTATES = {
    "08": "the connection was lost",
    "22": "the query itself fails on a value that it computes with",
    "25": "the transaction is not in a state to go on",
    "26": "a statement was lost, as poolers do that share connections between transactions",
    "28": "the server did not accept the login",
    "40": "the transaction was rolled back by the server",
    "42501": "the role has no right to read a table, or to use a function",
    "42601": "the query is not valid SQL there",
    "42703": "the query names a column that does not exist",
    "42883": "the query names a function that does not exist",
    "42P01": "the query names a table that does not exist",
    "42": "the query does not fit the tables of the database",
    "53": "the server has no memory, disk or connection left",
    "54": "the statement is larger than the server allows: release fewer columns",
    "55": "a table is locked",
    "57014": "the statement was cancelled, or took longer than statement_timeout allows",
    "57": "the server is shutting down, or was restarted",
    "58": "the server failed to read a file",
    "XX": "the server found damage",
}


class PostgresSession(Session):
    """PostgreSQL, by a URL or an idle connection of psycopg; ``REPEATABLE READ READ ONLY``."""

    dialect = DIALECTS["postgres"]

    def __init__(self, target: Any) -> None:
        import psycopg

        self._psycopg, self._held = psycopg, ExitStack()
        connection = target
        if isinstance(target, str):
            connection = self._run(lambda: psycopg.connect(target, autocommit=True))
            self._held.callback(connection.close)
        elif connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            raise SourceError(
                "The connection is closed, or in the middle of a transaction: commit or roll back, or give the URL."
            )
        self._connection = connection
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        connection, level = self._connection, self._psycopg.IsolationLevel.REPEATABLE_READ
        before = connection.isolation_level, connection.read_only

        def set_back() -> None:
            connection.isolation_level, connection.read_only = before

        connection.isolation_level, connection.read_only = level, True
        self._held.callback(set_back)
        self._run(lambda: self._held.enter_context(connection.transaction(force_rollback=True)))
        # Compiling a statement of a megabyte takes longer than running it.
        self._run(lambda: connection.execute("SET LOCAL jit = off"))

    def fetch(self, statement: Statement) -> list[tuple[Any, ...]]:
        return self._run(lambda: self._execute(statement).fetchall())

    def describe(self, statement: Statement) -> list[Column]:
        fields = self._run(lambda: self._execute(statement).description)
        found = []
        for field in fields or ():
            known = self._connection.adapters.types.get(field.type_code)
            kind = known.name if known is not None else "of an extension"
            found.append(Column(field.name, _POSTGRES_KINDS.get(kind, ""), kind))
        return found

    def _execute(self, statement: Statement) -> Any:
        cursor = self._psycopg.RawCursor(self._connection)
        # Results in binary need the extended protocol, in which a text of two statements is an error.
        return cursor.execute(statement.text, statement.parameters, binary=True, prepare=False)

    def _run(self, action: Callable[[], T]) -> T:
        return _call(action, self._reason)

    def _reason(self, error: BaseException) -> str | None:
        if not isinstance(error, self._psycopg.Error):
            return None
        state = error.sqlstate or ("08006" if isinstance(error, self._psycopg.OperationalError) else "")
        known = next((_SQLSTATES[state[:n]] for n in (5, 2) if state[:n] in _SQLSTATES), "the statement failed")
        return f"{known} (SQLSTATE {state})" if error.sqlstate else known

    def close(self) -> None:
        with suppress(BaseException):
            self._held.close()


# ------------------------------------------------------------------ DuckDB
_DUCKDB_KINDS = {
    "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer", "BIGINT": "integer", "HUGEINT": "integer",
    "UTINYINT": "integer", "USMALLINT": "integer", "UINTEGER": "integer", "UBIGINT": "integer", "UHUGEINT": "integer",
    "FLOAT": "float", "DOUBLE": "float", "DECIMAL": "decimal", "BOOLEAN": "boolean", "VARCHAR": "text", "BLOB": "bytes",
    "ENUM": "text",
}  # fmt: skip
_DUCKDB_ERRORS = {
    "BinderException": "the query does not fit the tables of the database",
    "CatalogException": "the query names a table, a column or a function that does not exist",
    "ConnectionException": "the connection is closed",
    "ConversionException": "the query itself fails on a value that it computes with",
    "HTTPException": "a file could not be fetched",
    "InterruptException": "the statement was interrupted",
    "InvalidInputException": "the query itself fails on a value that it computes with",
    "IOException": "a file could not be opened or read",
    "OutOfMemoryException": "there is not enough memory",
    "OutOfRangeException": "the query itself fails on a value that it computes with",
    "ParserException": "the query is not valid SQL there",
    "PermissionException": "reading it is not allowed",
    "TransactionException": "the transaction is not in a state to go on",
}


class DuckDBSession(Session):
    """DuckDB, by the path of a database, a connection or a relation; one transaction, which reads only.

    Other connections may write meanwhile and are not seen. Files that a query reads are outside of its transactions.
    """

    dialect = DIALECTS["duckdb"]

    def __init__(self, target: Any) -> None:
        import duckdb

        self._duckdb, self._held = duckdb, ExitStack()
        self._relation = target if isinstance(target, duckdb.DuckDBPyRelation) else None
        if isinstance(target, duckdb.DuckDBPyConnection):
            self._connection = self._run(target.cursor)  # the same database, with a transaction of its own
        elif self._relation is None:
            self._connection = self._run(lambda: duckdb.connect(target, read_only=True))
        if self._relation is None:
            self._held.callback(self._connection.close)
        try:
            # To ask a relation, DuckDB makes a view of it, which an older one calls writing; what is asked only reads.
            begin = "BEGIN TRANSACTION READ ONLY" if self._relation is None else "BEGIN TRANSACTION"
            self._run(lambda: self._execute(Statement(begin)))
        except BaseException:
            self.close()
            raise
        self._held.callback(lambda: self._execute(Statement("ROLLBACK")))

    def fetch(self, statement: Statement) -> list[tuple[Any, ...]]:
        if statement.parameters and self._relation is not None:
            raise SourceError("A relation of DuckDB takes no parameters: give gv.sql its connection, and the query.")
        return self._run(lambda: list(self._execute(statement).fetchall()))

    def describe(self, statement: Statement) -> list[Column]:
        fields = self._run(lambda: [(field[0], str(field[1])) for field in self._execute(statement).description])
        # What stands in parentheses is not repeated: of an enumeration it may be values of the data.
        plain = [(name, kind.partition("(")[0]) for name, kind in fields]
        return [Column(name, _DUCKDB_KINDS.get(kind, ""), kind) for name, kind in plain]

    def _execute(self, statement: Statement) -> Any:
        if self._relation is None:
            return self._connection.execute(statement.text, list(statement.parameters))
        return self._relation.query(RELATION, statement.text)

    def _run(self, action: Callable[[], T]) -> T:
        return _call(action, self._reason)

    def _reason(self, error: BaseException) -> str | None:
        if not isinstance(error, self._duckdb.Error):
            return None
        if self._relation is not None and isinstance(error, self._duckdb.TransactionException):
            return "the connection of the relation is in the middle of a transaction: commit or roll back"
        return _DUCKDB_ERRORS.get(type(error).__name__, "the statement failed") + f" ({type(error).__name__})"

    def close(self) -> None:
        with suppress(BaseException):
            self._held.close()


def _call(action: Callable[[], T], reason: Callable[[BaseException], str | None]) -> T:
    """Run something of the database's; what it says about a failure stays here."""
    said: list[str | None] = []

    def watched() -> T:
        try:
            return action()
        except BaseException as error:
            said.append(reason(error))
            raise

    failure = None
    try:
        return call_sanitized(watched, "summed by the database, whose own log may say more")
    except SourceError as error:
        failure = error
    known = said[0] if said else None
    if known is None:
        raise failure
    raise SourceError(f"The database failed: {known}. What it said is not repeated: it may quote data.")
