"""One interface to two databases: durable transactions, retried if that is safe, and clear errors.

*SQLite*: ``BEGIN IMMEDIATE`` takes the only write lock before anything is read. ``synchronous=EXTRA`` waits for the
disk, also for the directory entry of the deleted journal: with ``FULL`` a power cut right after a commit could bring
the journal back and undo the commit. ``file`` explains the role of the file's name and its witness.
*PostgreSQL*: the row of the data set is locked (``SELECT ... FOR UPDATE``) at READ COMMITTED; a server or a session
that does not wait for the disk is refused or overruled.

No connection outlives a transaction: a ledger may be forked, copied and pickled.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url

from graphveil.exceptions import InvalidParameter, LedgerDamaged, LedgerError, LedgerMissing, LedgerReadOnly
from graphveil.ledger.database_errors import is_missing_table, is_passing, plain_error
from graphveil.ledger.file import LedgerFile, is_cut_line
from graphveil.ledger.hash_chain import goes_on_from, heads_of
from graphveil.ledger.schema import SCHEMA_VERSION, ledgers, make_tables, versions_of
from graphveil.ledger.upgrade import upgrade

__all__ = ["Store"]

T = TypeVar("T")

_PATIENCE = 60  # seconds to wait for a lock
_OUTAGE = 20.0  # seconds to go on trying when the database is away


class _Older(Exception):
    """The ledger is of version 1."""


class Store:
    """The database behind a URL.

    Parameters
    ----------
    url : str or path
        A path or ``sqlite:///path``: a file. ``postgresql://...``: a server.
    """

    def __init__(self, url: "str | os.PathLike[str]") -> None:
        self.url, path = _check_url(url)
        self._file = None if path is None else LedgerFile(path)

    @property
    def name(self) -> str:
        """The name of the database in errors; never a password, which may also be among the options of a URL."""
        if self._file is not None:
            return str(self._file.path)
        return make_url(self.url).set(drivername="postgresql", query={}).render_as_string(hide_password=True)

    def create(self) -> None:
        """Create an empty ledger if there is none."""
        if self._file is not None and not self._file.exists():
            if self._file.seen_heads():
                raise _describe_loss(self._file)
            self._file.make()
        self.write(make_tables, new=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a consistent picture of the ledger."""
        return self._retry(lambda: self._run(work, writes=False))

    def write(self, work: Callable[[Connection], T], *, new: bool = False) -> T:
        """Run ``work`` in one transaction and return once it is on disk.

        ``work`` may run several times, and also after a commit whose answer was lost on the way: it must recognise what
        it did before (``token``).
        """
        return self._retry(lambda: self._run(work, writes=True, version=None if new else SCHEMA_VERSION))

    def _run(self, work: Callable[[Connection], T], *, writes: bool, version: int | None = SCHEMA_VERSION) -> T:
        """One transaction, on tables of the given version, or on none yet."""
        seen: Mapping[str, str] = {}
        if self._file is not None:
            if not self._file.exists():
                raise _nothing_there(self.name, self._file)
            self._file.check_one_name()  # before SQLite opens it: that may already undo what another name has charged
            seen = self._file.seen_heads()  # before the picture of the ledger, which must contain them
        engine = _engine(self.url, None if self._file is None else self._file.path)
        with engine.connect() as connection:
            connection.execution_options(**_options(engine, writes))
            with connection.begin():
                if self._file is not None:
                    self._file.check_one_name()  # under the lock, for which it may have waited a minute
                elif writes:
                    _insist_on_the_disk(connection, self.name)
                if version is not None:
                    _check_version(connection, version, self.name, self._file)
                    self._check_seen(connection, seen)
                result = work(connection)
                if version is None:
                    self._check_seen(connection, seen)
                heads = heads_of(connection) if writes and self._file is not None else {}
        if self._file is not None:
            self._file.add_heads(heads)  # before anybody builds on what was written
        return result

    def _check_seen(self, connection: Connection, seen: Mapping[str, str]) -> None:
        """Refuse a ledger that lacks what its witness has seen."""
        heads = heads_of(connection) if seen else {}
        for dataset, head in seen.items():
            if not head and any(is_cut_line(dataset, name) for name in heads):
                continue
            if not head:  # a line is begun when its account is on disk
                assert self._file is not None
                raise _describe_loss(self._file)
            if heads.get(dataset) != head and not goes_on_from(connection, dataset, head):
                assert self._file is not None
                raise LedgerDamaged(
                    f"The ledger in {self.name} has lost charges: {self._file.witness} has seen line "
                    f"{head.split(':')[0]} of {dataset!r}, which is missing or different. The file was replaced by "
                    f"an older copy, or a crash undid charges made under another name. Restore the newest copy; "
                    f"docs/ledger.md "
                    "says what to do if there is none."
                )

    def _retry(self, attempt: Callable[[], T]) -> T:
        deadline, pause = time.monotonic() + _OUTAGE, 0.05
        while True:
            try:
                return attempt()
            except _Older:
                self._upgrade()
                continue
            except sa.exc.DBAPIError as error:
                if not is_passing(error) or time.monotonic() + pause > deadline:
                    raise plain_error(error, self.name, self._secrets) from None
            time.sleep(pause)
            pause = min(2.0 * pause, 1.0)

    def _upgrade(self) -> None:
        """Bring a ledger of version 1 to the version of today."""
        try:
            self._retry(lambda: self._run(upgrade, writes=True, version=1))
        except LedgerReadOnly:
            raise LedgerReadOnly(
                f"{self.name} has ledger version 1. Its first use with this graphveil upgrades it to version "
                f"{SCHEMA_VERSION}, which this user is not allowed to do: ask its owner to run `graphveil ledger "
                "verify` once."
            ) from None

    @property
    def _secrets(self) -> tuple[str, ...]:
        """What no message may repeat."""
        if self._file is not None:
            return ()
        parsed = make_url(self.url)
        found = [parsed.password or ""]
        for name, value in parsed.query.items():
            if "pass" in name.lower():
                found += [value] if isinstance(value, str) else value
        return tuple(filter(None, found))


def _check_url(url: Any) -> tuple[str, Path | None]:
    """The URL in one form, and the path of a file."""
    rule = "a path, sqlite:///path or postgresql://user@host/database"
    if isinstance(url, os.PathLike):
        url = os.fspath(url)
    if not isinstance(url, str) or not url:
        raise InvalidParameter.of("url", rule, url)
    hidden = InvalidParameter(f"url must be {rule}; the given value is not shown, because it may contain a password.")
    if "\0" in url or (url.startswith("postgres") and ":" in url and "://" not in url):
        raise hidden
    if "://" not in url:
        path = url
    else:
        try:
            parsed = make_url(url)
        except (sa.exc.ArgumentError, ValueError):
            raise hidden from None
        if parsed.get_backend_name() in ("postgresql", "postgres"):
            return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False), None
        if parsed.get_backend_name() != "sqlite" or parsed.query or parsed.host:
            raise InvalidParameter(f"url must be {rule}, got one that begins with {parsed.drivername}:// .")
        path = parsed.database or ":memory:"
    if path == ":memory:" or path.startswith("file:"):
        raise InvalidParameter.of("url", f"{rule}: a ledger must outlive its process", path)
    absolute = (Path(path).expanduser() if path.startswith("~/") else Path(path)).absolute()
    return URL.create("sqlite", database=str(absolute)).render_as_string(), absolute


@cache
def _engine(url: str, path: Path | None) -> Engine:
    # NullPool: a connection that a fork inherits would be used by two processes.
    options: dict[str, Any] = {"poolclass": sa.pool.NullPool, "hide_parameters": True}
    if path is None:
        try:
            # In UTF-8 whatever the server's encoding is: names come back as the text that they were.
            return sa.create_engine(url, connect_args={"connect_timeout": 10, "client_encoding": "utf8"}, **options)
        except ImportError:
            raise ImportError("a ledger in PostgreSQL needs psycopg: pip install 'graphveil[postgres]'") from None

    def connect() -> sqlite3.Connection:
        # mode=rw does not create a file; isolation_level=None leaves BEGIN to us.
        made = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            made.execute("PRAGMA synchronous = EXTRA")
            made.execute("PRAGMA fullfsync = ON")  # where the system has it, fsync alone does not reach the disk
            made.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error:  # a damaged file; nobody else will close the connection
            made.close()
            raise
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
    found = connection.exec_driver_sql(
        "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, "
        f"set_config('lock_timeout', '{_PATIENCE}s', true), set_config("
        "'synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true)"
    ).one()
    for setting in ("fsync", "full_page_writes"):
        if getattr(found, setting) != "on":
            raise LedgerError(f"{name} runs with {setting}=off: a power cut could forget what was spent. Switch it on.")


def _check_version(connection: Connection, wanted: int, name: str, file: LedgerFile | None) -> None:
    try:
        found = versions_of(connection)
    except sa.exc.DBAPIError as error:
        if is_missing_table(error, ledgers.name):
            raise _nothing_there(name, file) from None
        raise
    if found == [1] and wanted > 1:
        raise _Older
    if len(found) != 1 or found[0] not in (wanted, SCHEMA_VERSION):
        raise LedgerDamaged(
            f"{name} has ledger version {', '.join(map(str, found)) or 'none'}; this graphveil reads and writes "
            f"version {SCHEMA_VERSION}. Use the graphveil that wrote it; nothing was changed."
        )


def _nothing_there(name: str, file: LedgerFile | None) -> LedgerError:
    if file is not None and file.seen_heads():
        return _describe_loss(file)
    where = (
        "look at the database and the search_path of the URL that it was used with"
        if file is None
        else "look in the folder where it was used (GRAPHVEIL_LEDGER names one file for all folders)"
    )
    return LedgerMissing(
        f"There is no ledger in {name}. If there was one, do not create another, which would start every budget "
        f"from zero: {where}, or restore a copy. If there never was one: ledger.create(dataset, budget), "
        "or "
        "`graphveil ledger create`."
    )


def _describe_loss(file: LedgerFile) -> LedgerError:
    names = [repr(name) for name, head in sorted(file.seen_heads().items()) if head]  # what was cut may be anything
    seen = ", ".join(names[:3]) or "it"
    return LedgerDamaged(
        f"There was a ledger in {file.path}: {file.witness} has seen {seen}. Restore it: a new one would start every "
        "budget from zero. If it was a trial that you have deleted, delete that file too."
    )
