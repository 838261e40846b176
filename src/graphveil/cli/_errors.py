"""How a command ends: what went wrong in one sentence, with an exit code."""

import signal
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from graphveil.cli._exit_codes import BROKEN, BUG, LATER, LOST, NO_BUDGET, REFUSED, SIGNALLED
from graphveil.cli._output import note, refuse
from graphveil.cli._signals import signal_heard
from graphveil.exceptions import (
    BudgetExceeded,
    GraphveilError,
    LedgerDamaged,
    LedgerFull,
    LedgerUnavailable,
    LedgerWarning,
    PrivacyWarning,
    SourceUnavailable,
    may_pass,
)

__all__ = ["CliError", "command", "explain_failure"]

_STOPPED = "Interrupted"


class CliError(GraphveilError):
    """A mistake that only the command line can see: a file that is missing, an ending that is not known."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn what goes wrong into one sentence and an exit code, and warnings into notes."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    function(*args, **options)
                finally:
                    ours = [w.message for w in heard if isinstance(w.message, PrivacyWarning | LedgerWarning)]
                    for text in dict.fromkeys(map(str, ours)):
                        note(text)
        except typer.Exit:
            raise
        except BaseException as error:
            raise typer.Exit(refuse(bool(options.get("as_json")), *explain_failure(error))) from None

    return wrapped


def explain_failure(error: BaseException, *, charged: bool = False) -> tuple[str, str, int]:
    """Kind, sentence and exit code of what went wrong; where a release was charged, or may have been, it is lost."""
    kind, message, code = _classify(error)
    if not charged:
        return kind, f"{message} Nothing was charged." if kind == _STOPPED else message, code
    lost = "The release was charged, or may have been, and is lost. Do not run it again before you have checked"
    return kind, f"{message} {lost} `graphveil ledger history`.", LOST


def _classify(error: BaseException) -> tuple[str, str, int]:
    kind, stopped = type(error).__name__, signal_heard()
    if stopped is not None or isinstance(error, KeyboardInterrupt):
        return _STOPPED, "Interrupted.", SIGNALLED + (stopped or signal.SIGINT)
    if isinstance(error, GraphveilError):
        return kind, str(error), _code(error)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return "OSError", f"{name}{error.strerror or 'input or output failed'}.", LATER if may_pass(error) else REFUSED
    if isinstance(error, MemoryError):
        return kind, "There is not enough memory for this.", REFUSED
    # The message of an unknown error may hold anything, data too: only its kind is shown.
    return kind, f"This is a bug in graphveil ({kind}). Please report the command you ran.", BUG


def _code(error: GraphveilError) -> int:
    if isinstance(error, BudgetExceeded):
        return NO_BUDGET
    if isinstance(error, LedgerDamaged):
        return BROKEN
    return LATER if isinstance(error, LedgerUnavailable | LedgerFull | SourceUnavailable) else REFUSED
