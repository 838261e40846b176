"""The meaning of a database's error: a retry, or one clear sentence."""

import errno
import sqlite3
from typing import TYPE_CHECKING

from graphveil.exceptions import LedgerDamaged, LedgerError, LedgerFull, LedgerReadOnly, LedgerUnavailable

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

__all__ = ["is_missing_table", "is_passing", "plain_error", "plain_os_error"]

# PostgreSQL's SQLSTATE, or the beginning of it.
_PASSING = ("40001", "40P01", "57P01", "57P02", "57P03", "08", "23505")  # 23505: a key that another just used
_KINDS_BY_STATE: dict[str, type[LedgerError]] = {
    "25006": LedgerReadOnly,
    "42501": LedgerReadOnly,
    "53100": LedgerFull,
    "22P05": LedgerError,  # a character that the server's encoding lacks
    "22001": LedgerError,  # a name that is too long in it
    "42P01": LedgerDamaged,
    "42703": LedgerDamaged,
    "22021": LedgerDamaged,  # what was kept is no text
    "XX001": LedgerDamaged,
    "XX002": LedgerDamaged,
}
# The beginning of SQLite's error names.
_KINDS_BY_NAME: dict[str, type[LedgerError]] = {
    "SQLITE_READONLY": LedgerReadOnly,
    "SQLITE_PERM": LedgerReadOnly,
    "SQLITE_AUTH": LedgerReadOnly,
    "SQLITE_CANTOPEN": LedgerReadOnly,
    "SQLITE_FULL": LedgerFull,
    "SQLITE_CORRUPT": LedgerDamaged,
    "SQLITE_NOTADB": LedgerDamaged,
    "SQLITE_ERROR": LedgerDamaged,  # a table or a column is missing: our own statements have no other errors
}
_ADVICE: dict[type[LedgerError], str] = {
    LedgerReadOnly: "cannot be written or opened by this user",
    LedgerFull: "has no space left; free some and try again",
    LedgerDamaged: "is damaged: it is not a ledger, or a part is missing. Restore it from a copy",
    LedgerUnavailable: "cannot be reached, or stays locked",
    LedgerError: "cannot store this name in its encoding. Create its database with ENCODING 'UTF8', or use a plain "
    "name",
}


def is_passing(error: "DBAPIError") -> bool:
    """Whether trying again may help: a conflict with another process, or a server that is away for a moment.

    Waiting for a lock is the database's own business; a lock that was not given in a minute is not tried again.
    """
    if isinstance(error.orig, sqlite3.Error):
        return False
    state = _state(error)
    return error.connection_invalidated or state.startswith(_PASSING) or (state == "" and _never_connected(error))


def is_missing_table(error: "DBAPIError", table: str) -> bool:
    """Whether there is no such table, as far as this user can see."""
    said = str(error.orig)
    return table in said and ("no such table" in said or _state(error) == "42P01")


def plain_error(error: "DBAPIError", name: str, secrets: tuple[str, ...]) -> LedgerError:
    """An error of graphveil with what happened and the driver's message, unless that contains a secret."""
    if isinstance(error.orig, sqlite3.Error):
        # Without a name it is the driver's own: text that is no text.
        code = getattr(error.orig, "sqlite_errorname", "SQLITE_CORRUPT")
        kind = next((kind for start, kind in _KINDS_BY_NAME.items() if code.startswith(start)), LedgerUnavailable)
    else:
        kind = _KINDS_BY_STATE.get(_state(error), LedgerUnavailable)
    said = str(error.orig)
    hidden = any(secret in said for secret in secrets)
    reason = "the driver's message contains the password" if hidden else " ".join(said.split())[:200].rstrip(".")
    return kind(f"The ledger in {name} {_ADVICE[kind]} ({reason}).")


def plain_os_error(error: OSError, what: str) -> LedgerError:
    """The same for a file that cannot be made."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        kind: type[LedgerError] = LedgerReadOnly
    else:
        kind = LedgerFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else LedgerUnavailable
    return kind(f"{what}: {error.strerror}.")


def _state(error: "DBAPIError") -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _never_connected(error: "DBAPIError") -> bool:
    """Nobody answered, or a server that starts, stops, recovers or is crowded. Other refusals are final.

    The driver has no state for a connection that was not made, only what the server said.
    """
    said = str(error.orig)
    passing = ("the database system is", "terminating connection", "connection slots", "clients")
    return "FATAL" not in said or any(words in said for words in passing)
