"""Two databases, one way to use them: durable transactions, tried again where that is safe, and plain errors.

*SQLite*: ``BEGIN IMMEDIATE`` takes the only write lock before anything is read. ``synchronous=EXTRA`` waits for the
disk, also for the directory entry of the deleted journal: with ``FULL`` a power cut right after a commit could bring
the journal back and undo the commit. *PostgreSQL*: the row of the data set is locked (``SELECT ... FOR UPDATE``) at
READ COMMITTED; a server or a session that does not wait for the disk is refused or overruled.

No connection outlives a transaction: a ledger may be forked, copied and pickled.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url

from graphveil.exceptions import InvalidParameter, LedgerDamaged, LedgerError
from graphveil.privacy.ledger.trouble import is_missing_table, is_passing, plain_error, plain_os_error

__all__ = ["SCHEMA_VERSION", "Store", "datasets", "events", "ledgers", "releases"]

T = TypeVar("T")

SCHEMA_VERSION = 1
_PATIENCE = 60  # seconds to wait for a lock
_OUTAGE = 20.0  # seconds to go on trying when the database is away
_SCHEMA_LOCK = 0x6772617068766569  # "graphvei": PostgreSQL's advisory lock while tables are made

_schema = sa.MetaData()
# One row: the version, and the head of the chain of data sets.
ledgers = sa.Table(
    "graphveil_ledger",
    _schema,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("datasets", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
)
# One row a data set: what it may spend, and the head of the chain of its events.
datasets = sa.Table(
    "graphveil_datasets",
    _schema,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False, unique=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("events", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
)
# Append only: no statement of graphveil changes or deletes an event.
events = sa.Table(
    "graphveil_events",
    _schema,
    sa.Column("dataset", sa.String(200), sa.ForeignKey(datasets.c.name), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("token", sa.String(32), nullable=False, unique=True),
    sa.Column("key", sa.String(200), nullable=True, unique=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
# Releases that can be asked for again by their key: public, noisy numbers.
releases = sa.Table(
    "graphveil_releases",
    _schema,
    sa.Column("key", sa.String(200), sa.ForeignKey(events.c.key), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)


class Store:
    """The database behind a URL.

    Parameters
    ----------
    url : str or path
        A path or ``sqlite:///path``: a file. ``postgresql://...``: a server.
    """

    def __init__(self, url: "str | os.PathLike[str]") -> None:
        self.url, self._path = _checked_url(url)

    @property
    def name(self) -> str:
        """What an error calls the database; never a password."""
        shown = make_url(self.url).set(drivername="postgresql")
        return str(self._path) if self._path is not None else shown.render_as_string(hide_password=True)

    def create(self) -> None:
        """Make an empty ledger where there is none."""
        if self._path is not None and _is_missing(self._path):
            _make_private_file(self._path)
        self.write(_make_tables, new=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a consistent picture of the ledger."""
        return self._retried(lambda: self._run(work, writes=False))

    def write(self, work: Callable[[Connection], T], *, new: bool = False) -> T:
        """Run ``work`` in one transaction and return once it is on disk.

        ``work`` may run several times, and also after a commit whose answer was lost on the way: it must recognise what
        it did before (``token``).
        """
        return self._retried(lambda: self._run(work, writes=True, new=new))

    def _run(self, work: Callable[[Connection], T], *, writes: bool, new: bool = False) -> T:
        if self._path is not None and _is_missing(self._path):
            raise _nothing_there(self.name)
        engine = _engine(self.url, self._path)
        with engine.connect() as connection:
            connection.execution_options(**_options(engine, writes))
            with connection.begin():
                if writes and engine.dialect.name == "postgresql":
                    _insist_on_the_disk(connection, self.name)
                if not new:
                    _check_schema(connection, self.name)
                return work(connection)

    def _retried(self, attempt: Callable[[], T]) -> T:
        deadline, pause = time.monotonic() + _OUTAGE, 0.05
        while True:
            try:
                return attempt()
            except sa.exc.DBAPIError as error:
                if not is_passing(error) or time.monotonic() + pause > deadline:
                    raise plain_error(error, self.name) from None
            time.sleep(pause)
            pause = min(2.0 * pause, 1.0)


def _checked_url(url: Any) -> tuple[str, Path | None]:
    """The URL in one form, and the path of a file."""
    rule = "a path, sqlite:///path or postgresql://user@host/database"
    if isinstance(url, os.PathLike):
        url = os.fspath(url)
    if not isinstance(url, str) or not url or "\0" in url:
        raise InvalidParameter.of("url", rule, url)
    if "://" not in url:
        path = url
    else:
        try:
            parsed = make_url(url)
        except (sa.exc.ArgumentError, ValueError):
            raise InvalidParameter(f"url must be {rule}.") from None  # not shown: it may hold a password
        if parsed.get_backend_name() in ("postgresql", "postgres"):
            return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False), None
        if parsed.get_backend_name() != "sqlite" or parsed.query or parsed.host:
            raise InvalidParameter(f"url must be {rule}, got one that begins with {parsed.drivername}:// .")
        path = parsed.database or ":memory:"
    if path == ":memory:" or path.startswith("file:"):
        raise InvalidParameter.of("url", f"{rule}: a ledger must outlive its process", path)
    absolute = Path(path).absolute()
    return URL.create("sqlite", database=str(absolute)).render_as_string(), absolute


@cache
def _engine(url: str, path: Path | None) -> Engine:
    # NullPool: a connection that a fork inherits would be used by two processes.
    options: dict[str, Any] = {"poolclass": sa.pool.NullPool, "hide_parameters": True}
    if path is None:
        try:
            return sa.create_engine(url, connect_args={"connect_timeout": 10}, **options)
        except ImportError:
            raise ImportError("a ledger in PostgreSQL needs psycopg: pip install 'graphveil[postgres]'") from None

    def connect() -> sqlite3.Connection:
        # mode=rw does not create a file; isolation_level=None leaves BEGIN to us.
        made = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None)
        made.execute("PRAGMA synchronous = EXTRA")
        made.execute("PRAGMA fullfsync = ON")  # where the system has it, fsync alone does not reach the disk
        made.execute("PRAGMA foreign_keys = ON")
        return made

    engine = sa.create_engine(url, creator=connect, **options)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _options(engine: Engine, writes: bool) -> dict[str, Any]:
    if engine.dialect.name == "sqlite":
        return {"writes": writes}
    return {"isolation_level": "READ COMMITTED"} if writes else {"isolation_level": "REPEATABLE READ"}


def _insist_on_the_disk(connection: Connection, name: str) -> None:
    """Refuse a server, and overrule a session, for which a commit is not yet on disk; do not wait for ever."""
    fsync = connection.exec_driver_sql(
        f"SELECT current_setting('fsync'), set_config('lock_timeout', '{_PATIENCE}s', true), set_config("
        "'synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true)"
    ).scalar_one()
    if fsync != "on":
        raise LedgerError(f"{name} runs with fsync=off: a power cut could forget what was spent. Switch it on.")


def _check_schema(connection: Connection, name: str) -> None:
    try:
        found = connection.execute(sa.select(ledgers.c.version)).scalars().all()
    except sa.exc.DBAPIError as error:
        if is_missing_table(error, ledgers.name):
            raise _nothing_there(name) from None
        raise
    if found != [SCHEMA_VERSION]:
        raise LedgerDamaged(
            f"{name} has ledger version {', '.join(map(str, found)) or 'none'}; this graphveil reads and writes "
            f"version {SCHEMA_VERSION}. Use the graphveil that wrote it; nothing was changed."
        )


def _make_tables(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")
    if not sa.inspect(connection).has_table(ledgers.name):
        _schema.create_all(connection)
        connection.execute(ledgers.insert().values(version=SCHEMA_VERSION, datasets=0, head=""))


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        pass  # opening it will say more
    return False


def _make_private_file(path: Path) -> None:
    """An empty file that only its owner may read; an empty file is an empty SQLite database."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return  # another process was faster
    except OSError as error:
        raise plain_os_error(error, f"The ledger {path} cannot be made") from None
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the name of the file, too, must survive a power cut
        finally:
            os.close(folder)


def _nothing_there(name: str) -> LedgerError:
    return LedgerError(
        f"There is no ledger in {name} yet. Make one: ledger.create(dataset, budget), or `graphveil ledger create`."
    )
