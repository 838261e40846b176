"""Errors of third-party code, which may quote data, are re-raised here without their message.

Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from graphveil.exceptions import SourceError, SourceUnavailable, may_pass

__all__ = ["call_sanitized", "iterate_sanitized", "sanitized_message"]

T = TypeVar("T")
_END = object()


def call_sanitized(action: Callable[[], T], doing: str) -> T:
    """Run foreign code; whatever it raises keeps its type and loses its message, its cause and its context.

    An interruption or exit stays one, without arguments. Everything else, also what is not an ``Exception`` (a panic of
    polars is none), becomes a :class:`SourceError`;
    where the operating system says that it may pass, a :class:`SourceUnavailable`.
    """
    try:
        return action()
    except BaseException as error:  # raised again below: outside of this block, so without its context
        failure = _bare(error, doing)
    raise failure


def iterate_sanitized(items: Iterable[Any], file: str | None = None) -> Iterator[Any]:
    """Iterate over a foreign object, every step shielded; close its iterator in the end."""
    where = "" if file is None else f", file {file!r}"
    iterator = call_sanitized(lambda: iter(items), f"opened{where}")
    try:
        while (item := call_sanitized(lambda: next(iterator, _END), f"read{where}")) is not _END:
            yield item
    finally:
        with suppress(BaseException):  # a failure to close changes nothing that was read, and might quote data
            getattr(iterator, "close", lambda: None)()


def _bare(error: BaseException, doing: str) -> BaseException:
    cause: BaseException | None = error
    while cause is not None:  # an engine that is interrupted may fail in another way while it cleans up
        if isinstance(cause, KeyboardInterrupt):
            return KeyboardInterrupt()
        cause = cause.__context__
    if isinstance(error, SystemExit):
        return SystemExit(1)
    kind = SourceUnavailable if isinstance(error, OSError) and may_pass(error) else SourceError
    return kind(sanitized_message(error, doing))


def sanitized_message(error: BaseException, doing: str) -> str:
    """What may be said of a foreign error: its type, and what the operating system calls it."""
    reason = type(error).__name__
    if isinstance(error, OSError) and type(error.errno) is int and error.errno in errno.errorcode:
        reason += f": {os.strerror(error.errno)}"
    return f"The source failed while it was {doing} ({reason}). What it said is not repeated: it may quote data."
