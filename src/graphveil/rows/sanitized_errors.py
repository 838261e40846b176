"""What may leave private code when it fails: no message of third-party code, and no frame in which records stand.

Argument: ``privacy/proofs/totality.md`` (theorem 7).
"""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from traceback import clear_frames
from typing import Any, ParamSpec, TypeVar

from graphveil.exceptions import SourceError, SourceUnavailable, may_pass

__all__ = ["call_sanitized", "iterate_sanitized", "leave_no_frames", "sanitized_message"]

P = ParamSpec("P")
T = TypeVar("T")
_END = object()


def leave_no_frames(function: Callable[P, T]) -> Callable[P, T]:
    """Make a door of private code: what is raised behind it leaves without the frames that it went through.

    Records, exact sums and noise stand in local variables of these frames, and debuggers and error reporters print
    them. So whatever ends the function, an error or an interruption, at whatever instruction: the variables of all its
    frames are deleted, those of its causes and of other threads that failed too, and the error itself is raised again
    from here. What it says, it says as before, unless the memory was full: the shape of what did not fit may be secret.

    Guarantee
    ---------
    No traceback leads to a variable behind the door. Argument: ``privacy/proofs/totality.md`` (theorem 7).
    """

    @wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        known = sys.exc_info()[1]  # what the caller is handling already is not ours
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # raised again below: outside of this block, so without a context
            _forget_frames(error, known)
            failure = MemoryError() if isinstance(error, MemoryError) else error
        raise failure

    return door


def _forget_frames(error: BaseException, known: BaseException | None) -> None:
    """Separate an error from where it was raised, and from the errors that led to it."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or one is known:
            continue
        waiting += one.__cause__, one.__context__, *getattr(one, "exceptions", ())
        clear_frames(one.__traceback__)
        one.__traceback__ = one.__cause__ = one.__context__ = None


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
