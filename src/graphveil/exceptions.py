"""The error tree.

Every message names the parameter, the rule, the offending *parameter* value and what to do next. None contains a value
of the data, or a number computed from it: an error counts as published once it is raised.

::

    GraphveilError
    ├── InvalidParameter (ValueError)   an argument breaks its rule
    ├── SourceError (ValueError)        the rows cannot be read: schema, shape or I/O
    │   └── SourceUnavailable           storage or a network failed in a way that may pass: try again later
    ├── GuaranteeError (ValueError)     the requested guarantee has no proof, or cannot be kept
    ├── ReleaseFileError (ValueError)   a release file is damaged, foreign or from another version
    ├── LedgerError (RuntimeError)      the ledger does not know, or does not allow, the request
    │   ├── BudgetExceeded              the release does not fit into what is left
    │   ├── KeyRefused                  the key was used for another request, or its release was lost
    │   ├── LedgerMissing               there is no ledger in this place
    │   ├── LedgerReadOnly              the ledger may not be written
    │   ├── LedgerFull                  there is no room to write
    │   ├── LedgerUnavailable           the database cannot be reached, or stays locked
    │   └── LedgerDamaged               content is corrupt, changed, missing or of another version
    └── SolverError (ArithmeticError)
        ├── NotConverged                the tolerance could not be certified within the work allowed
        └── UnboundedProblem            no minimiser exists; the certificate comes along

    PrivacyWarning (UserWarning)        the guarantee holds, but says less than it may seem
    LedgerWarning (UserWarning)         a release was made and charged, but could not be kept under its key
"""

import errno
import sys
import warnings
from types import FrameType
from typing import Any

__all__ = [
    "BudgetExceeded",
    "GraphveilError",
    "GuaranteeError",
    "InvalidParameter",
    "KeyRefused",
    "LedgerDamaged",
    "LedgerError",
    "LedgerFull",
    "LedgerMissing",
    "LedgerReadOnly",
    "LedgerUnavailable",
    "LedgerWarning",
    "NotConverged",
    "PrivacyWarning",
    "ReleaseFileError",
    "SolverError",
    "SourceError",
    "SourceUnavailable",
    "UnboundedProblem",
    "may_pass",
    "shorten",
    "warn_caller",
]

# Of the operating system; not every one has every name.
_PASSING = {
    getattr(errno, name, None)
    for name in (
        *("EIO", "EREMOTEIO", "ESTALE", "EBUSY", "EAGAIN"),  # a device, or a folder on another machine
        *("EMFILE", "ENFILE", "ENOBUFS"),  # too much is open at the moment
        *("ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH", "ENOTCONN", "ESHUTDOWN"),
    )
} - {None}


class GraphveilError(Exception):
    """Root of everything that graphveil raises on purpose."""


class InvalidParameter(GraphveilError, ValueError):
    """An argument breaks its rule."""

    @classmethod
    def of(cls, name: str, rule: str, value: Any, advice: str = "") -> "InvalidParameter":
        """Build the one sentence that every refused parameter gets.

        A single number or short word is shown. Anything larger is named by its type: arguments get mixed up, and
        what was meant as a parameter may be data.
        """
        return cls(f"{name} must be {rule}, got {_show(value)}." + (f" {advice}" if advice else ""))


def _show(value: Any) -> str:
    """``value`` if it is short and plain, else its type."""
    if isinstance(value, tuple) and len(value) <= 2:
        return "(" + ", ".join(map(_show, value)) + ")"
    plain = value is None or isinstance(value, bool | int | float | str)
    text = repr(value) if plain else ""
    return text if plain and len(text) <= 60 else f"a {type(value).__name__}"


def shorten(text: str) -> str:
    """``text`` for a message: a name in a file may have any length."""
    return text if len(text) <= 80 else f"{text[:79]}…"


class SourceError(GraphveilError, ValueError):
    """The rows cannot be read: the schema, the shape or the storage is not what was declared."""


class SourceUnavailable(SourceError):
    """The rows cannot be read now: storage or a network failed in a way that may pass."""


def may_pass(error: OSError) -> bool:
    """Whether trying again later can help: a connection, a timeout, a device or a limit, not a missing file."""
    return isinstance(error, ConnectionError | TimeoutError) or error.errno in _PASSING


class GuaranteeError(GraphveilError, ValueError):
    """The request has no proof, or cannot be guaranteed in exact arithmetic."""


class ReleaseFileError(GraphveilError, ValueError):
    """A file is damaged, is not a release, or has an unknown version."""


class LedgerError(GraphveilError, RuntimeError):
    """The ledger does not know or does not allow the request. No noise was drawn."""


class BudgetExceeded(LedgerError):
    """The release does not fit into what is left; nothing was charged."""


class KeyRefused(LedgerError):
    """The key was used for another request, or was charged and its release is lost: noise is never drawn again."""


class LedgerMissing(LedgerError):
    """There is no ledger in this place; no trace of an earlier one either, where it would leave one."""


class LedgerReadOnly(LedgerError):
    """The ledger cannot be written: permissions, or read-only storage."""


class LedgerFull(LedgerError):
    """There is no room to write."""


class LedgerUnavailable(LedgerError):
    """The database cannot be reached, its storage fails, or another process keeps it locked."""


class LedgerDamaged(LedgerError):
    """The content is corrupt, was changed or deleted, or is of another version."""


class SolverError(GraphveilError, ArithmeticError):
    """A solver cannot give the requested answer."""


class NotConverged(SolverError):
    """The tolerance could not be certified within the work allowed."""


class UnboundedProblem(SolverError):
    """The objective has no minimiser; the message names an ``alpha`` for which there is one.

    Attributes
    ----------
    certificate : array
        A direction along which the objective falls without bound: positive semidefinite, of trace 1.
    recession : float
        How fast it falls: at most 0.
    safe_alpha : float, array or None
        An ``alpha`` for which a minimiser exists.
    """

    certificate: Any
    recession: float
    safe_alpha: Any


class PrivacyWarning(UserWarning):
    """The guarantee holds, but means less than it may seem."""


class LedgerWarning(UserWarning):
    """A release was made and charged, but could not be kept under its key: save it now."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that called graphveil, however deep we are."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("graphveil."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
